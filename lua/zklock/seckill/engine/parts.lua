--- Leases of several locks that are held as one.

local failure = require "zklock.seckill.engine.failure"
local scope = require "zklock.waiting.scope"


local OVER = { lost = true, released = true } -- codes of a lease that ended before its release

-- Leases released here; weak. A release that got no answer can be repeated with all the leases.
local given_back = setmetatable({}, { __mode = "k" })

local parts = {}


local function release_one(lease)
    if given_back[lease] then return true end
    local ok, message, code = lease:release()
    given_back[lease] = ok
    return ok, message, code
end


--- Releases all leases in reverse order. Afterwards it raises the failure of a release that got no
--- answer, unless a lease was lost before.
---@param leases table[]
---@return boolean all_held  false if any lease was lost before
function parts.release(leases)
    local lost, problem = false, nil
    for i = #leases, 1, -1 do
        local ok, message, code = release_one(leases[i])
        lost = lost or OVER[code] ~= nil
        if not ok and not OVER[code] then problem = { code, message } end
    end
    if problem and not lost then failure.raise(problem[1], problem[2]) end
    return not lost
end


-- Settled once the leases are released, or returned to the caller.
local Gathering = {}
Gathering.__index = Gathering

function Gathering:close()
    if not self.settled then failure.catch("the leases", parts.release, self.leases) end
    self.settled = true
end

Gathering.__close = Gathering.close


local function gather(self, take, ...)
    self.settled = take(self.leases, ...)
    return self.settled and self.leases or nil
end


--- Calls take(leases, ...), which appends leases and returns true if none is missing. Otherwise,
--- and after an error, the leases are released.
---@param take fun(leases: table[], ...): boolean
---@return table[]? leases
function parts.gather(take, ...)
    local self = setmetatable({ leases = {}, settled = false }, Gathering)
    return scope(self, gather, self, take, ...)
end


--- Calls the method on each lease until a lease is lost; raises any other failure.
---@param leases table[]
---@param method "check"|"renew"
---@return boolean all_held  false if any lease is lost
function parts.ask_each(leases, method)
    for _, lease in ipairs(leases) do
        local ok, message, code = lease[method](lease)
        if not ok and code ~= "lost" then failure.raise(code, message) end
        if not ok then return false end
    end
    return true
end


return parts
