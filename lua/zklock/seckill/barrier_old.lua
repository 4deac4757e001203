--- The start barrier: processes that took different times to start wait here, and
--- go on at one moment (the seed's latch). It is a file with the moment in it.

local clock = require "zklock.seckill.clock"

local open = io.open
local rename = os.rename


-- Long enough for every process that waits to see the file.
local NOTICE = 0.05
local POLL = 0.005


local barrier = {}


--- Lets all go.
---@param path string
function barrier.open(path)
    local file = assert(open(path .. ".new", "w"))
    file:write(("%.3f\n"):format(clock.now() + NOTICE))
    file:close()
    assert(rename(path .. ".new", path)) -- whoever finds the file finds it whole
end


--- Waits until the barrier is open. The process's own limit ends a wait for a
--- barrier that never opens.
---@param path string
---@param sleep fun(seconds: number)
function barrier.wait(path, sleep)
    local file = open(path)
    while not file do
        sleep(POLL)
        file = open(path)
    end
    local moment = tonumber(file:read "*l")
    file:close()
    local wait = moment - clock.now()
    if wait > 0 then sleep(wait) end
end


return barrier
