--- A lock that waiters poll, like many locks in Redis or in a table. After each vain try a buyer
--- sleeps twice as long as before, and asks again. The lock's server is a table that all servers of
--- a simulated sale share.

local now = require("zklock.waiting.runtime").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local FIRST, LONGEST = 0.05, 1 -- seconds of a sleep

local holds = {} -- by the lock's name


local PolledLock = { simulated = true }
PolledLock.__index = PolledLock


function PolledLock.prepare() holds = {} end


function PolledLock.open(server) return setmetatable({ timeout = server.timeout }, PolledLock) end


function PolledLock:enter(name, buyer, wish)
    local due, pause = now() + (wish and wish.timeout or self.timeout), FIRST
    while holds[name] do
        if now() > due then return nil, "waited too long", "timeout" end
        buyer:note(("asked in vain, sleeps %g s"):format(pause))
        zklock.sleep(pause)
        pause = math.min(2 * pause, LONGEST)
    end
    holds[name] = { name = name }
    return holds[name]
end


function PolledLock.leave(_, hold) holds[hold.name] = nil end


return PolledLock
