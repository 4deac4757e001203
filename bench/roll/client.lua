--- A client of bench/roll.lua, in a process of its own. Its program (harness/clients.lua) holds one
-- lock, and acquires and releases a second lock again and again for SECONDS. Then this answers with
-- the longest time without a grant of the second lock, the number of its grants, and whether the
-- session is still the same. It ends when it is told to quit.
--
--   client.lua NAME HOSTS TIMEOUT SECONDS

local clients = require "bench.harness.clients"
local core = require "zklock.core"
local crowds = require "bench.harness.crowd"
local zklock = require "zklock"

local TRY = 1      -- seconds, of an acquire
local PAUSE = 0.05 -- seconds

local name, hosts, timeout, seconds = table.unpack(arg)
local crowd = crowds.start(clients[name], clients[name].program(), 1, {})
local process, kind = crowd.processes[1], crowd:kind_of("mutex")
process:command("connect 0 %s %s", hosts, timeout)
crowd:hold(kind, "/roll/" .. name .. "-held")
local session = process:command("session 0")
print("ready")
io.stdout:flush()

local last, gap, count = core.now(), 0, 0
local over = last + tonumber(seconds)
while core.now() < over do
    process:tell("start 0 %s /roll/%s 1 1 %.6f\nfinish", kind, name, core.now() + TRY)
    process:answer()
    local grants = crowds.figures(process).grants
    gap = math.max(gap, core.now() - last)
    if grants > 0 then count, last = count + 1, core.now() end
    zklock.sleep(PAUSE)
end
print(("ok %.2f %d %s"):format(gap, count,
    process:command("session 0") == session and "same" or "another"))
io.stdout:flush()
io.read("*l")
crowd:stop()
print("ok")
