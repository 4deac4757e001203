--- A barrier: so many wait here for each other, and go on together (the seed's latch). It is a
--- file; each adds a byte to it when it comes, and all wait until it is long enough. In a simulated
--- sale it is a number.

local here = require "zklock.here"

local open = io.open


local POLL = 0.002


local barrier = {}


--- Comes, and does not wait.
---@param path string
function barrier.come(path)
    local file = assert(open(path, "a"))
    file:write "x"
    file:close()
end


local function arrived(path)
    local file = open(path)
    if not file then return 0 end
    local length = file:seek "end"
    file:close()
    return length
end


--- How many have come.
---@param path string
---@return integer
barrier.arrived = arrived


-- Waits until that many have come.
local function wait(come_to, place, count, limit, sleep)
    local due = here.now() + limit
    while come_to(place) < count do
        if here.now() > due then
            return nil, ("only %d of %d came to %s"):format(come_to(place), count,
                place:match "[^/]*$")
        end
        sleep(POLL)
    end
    return true
end


--- Waits for the others.
---@param path string
---@param count integer   how many there are
---@param limit number    seconds
---@param sleep fun(seconds: number)
---@return boolean? all   nil: they did not all come
---@return string? message
function barrier.wait(path, count, limit, sleep) return wait(arrived, path, count, limit, sleep) end


--- The barriers of a sale, by their names.
---@class zklock.seckill.Places
---@field come fun(self, name: string)
---@field wait fun(self, name: string, count: integer, limit: number, sleep: function): boolean?

local InFolder = {}
InFolder.__index = InFolder

function InFolder:come(name) barrier.come(self.folder .. "/" .. name) end

function InFolder:wait(name, count, limit, sleep)
    return barrier.wait(self.folder .. "/" .. name, count, limit, sleep)
end


--- Those of a folder, for several processes.
---@param folder string
---@return zklock.seckill.Places
function barrier.in_folder(folder) return setmetatable({ folder = folder }, InFolder) end


local InMemory = {}
InMemory.__index = InMemory

function InMemory:come(name) self.counts[name] = (self.counts[name] or 0) + 1 end

function InMemory:wait(name, count, limit, sleep)
    return wait(function() return self.counts[name] or 0 end, name, count, limit, sleep)
end


--- Those of one process.
---@return zklock.seckill.Places
function barrier.in_memory() return setmetatable({ counts = {} }, InMemory) end


return barrier
