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


--- The barriers of a sale's buyers, by their names.
---@class zklock.seckill.Barriers
---@field come fun(self, name: string)
---@field wait fun(self, name: string, count: integer, limit: number, sleep: function): boolean?

local Barriers = {}
Barriers.__index = Barriers

-- No other file of the sale's folder has such a name.
local function path_of(self, name)
    return self.folder .. "/place-" .. tostring(name):gsub("[^%w]", function(c)
        return ("%%%02x"):format(c:byte())
    end)
end

function Barriers:come(name) barrier.come(path_of(self, name)) end

function Barriers:count(name) return count_arrivals(path_of(self, name)) end

function Barriers:wait(name, count, limit, sleep)
    if barrier.wait(path_of(self, name), count, limit, sleep) then return true end
    return nil, ("only %d of %d came to %s"):format(self:count(name), count, name)
end


function barrier.of_folder(folder) return setmetatable({ folder = folder }, Barriers) end


return barrier
