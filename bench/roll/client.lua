--- The client of bench/roll.lua that uses zklock. It holds one lock for SECONDS, and acquires and
-- releases a second lock again and again. Then it prints the longest time without a grant of the
-- second lock, the number of its grants, whether the first lock is still held, and whether the
-- session is still the same.
--
--   client.lua HOSTS TIMEOUT SECONDS

local core = require "zklock.core"
local zklock = require "zklock"

local TRY = 1      -- seconds, of an acquire
local PAUSE = 0.05 -- seconds

local session = assert(zklock.connect(arg[1], { timeout = tonumber(arg[2]) }))
local lease = assert(session:mutex("/roll/zklock-held"):acquire(20))
local second, id = session:mutex("/roll/zklock"), session:id()
print("ready")
io.stdout:flush()

local last, gap, count = core.now(), 0, 0
local over = last + tonumber(arg[3])
while core.now() < over do
    local second_lease = second:acquire(TRY)
    gap = math.max(gap, core.now() - last)
    if second_lease then
        second_lease:release()
        count, last = count + 1, core.now()
    end
    zklock.sleep(PAUSE)
end
print(("%.2f %d %s %s"):format(gap, count, lease:check(5) and "held" or "lost",
    session:id() == id and "same" or "another"))
