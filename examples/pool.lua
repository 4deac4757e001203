--- A pool. Six exports want to run, but over all processes at most three may run at once.
--
-- Shows session:semaphore, with the same limit in every process; a big export that takes two
-- permits or none; and tasks of one process, which wait side by side in zklock.run.
--
--     lua5.4 examples/pool.lua                      with a server inside the process
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/pool.lua

local zklock = require "zklock"

local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts))
local pool = session:semaphore("/examples/exports", 3)
local running, most = 0, 0


local function export(name, permits)
    local ok, message = pool:with({ permits = permits, timeout = 20 }, function()
        running = running + permits
        most = math.max(most, running)
        zklock.sleep(0.05) -- the work
        running = running - permits
    end)
    print(ok and "exported " .. name or message)
end


local exports = {}
for n = 1, 5 do
    exports[n] = function() export("small " .. n, 1) end
end
exports[6] = function() export("big", 2) end

zklock.run((table.unpack or unpack)(exports))
print(("at most %d of 3 permits were in use"):format(most))
session:close()
