--- A barrier (a latch in the seed articles) is a file. Each arrival adds a byte, and waiters go on
--- when the file is long enough.

local core = require "zklock.core"

local open = io.open


local POLL = 0.002 -- seconds


local barrier = {}


function barrier.come(path)
    local file = assert(open(path, "a"))
    file:write "x"
    file:close()
end


local function count_arrivals(path)
    local file = open(path)
    if not file then return 0 end
    local length = file:seek "end"
    file:close()
    return length
end


barrier.count_arrivals = count_arrivals


---@param path string
---@param count integer   arrivals
---@param limit number    seconds
---@param sleep fun(seconds: number)
---@return true? all_came  nil if some did not come in time
---@return string? message
function barrier.wait(path, count, limit, sleep)
    local due = core.now() + limit
    while count_arrivals(path) < count do
        if core.now() > due then
            return nil, ("only %d of %d came to %s"):format(count_arrivals(path), count,
                path:match "[^/]*$")
        end
        sleep(POLL)
    end
    return true
end


--- The barriers of a sale, by their names.
---@class zklock.seckill.Barriers
---@field come fun(self, name: string)
---@field wait fun(self, name: string, count: integer, limit: number, sleep: function): boolean?

local Barriers = {}
Barriers.__index = Barriers

function Barriers:come(name) barrier.come(self.folder .. "/" .. name) end

function Barriers:wait(name, count, limit, sleep)
    return barrier.wait(self.folder .. "/" .. name, count, limit, sleep)
end


function barrier.of_folder(folder) return setmetatable({ folder = folder }, Barriers) end


return barrier
