--- Several locks as one: they are asked for in the order of the list. If one is not had in time,
--- all are released, and it begins anew.

local core = require "zklock.core"
local failure = require "zklock.engine.failure"


local PART = 1.5  -- seconds for each part of the list, until all are released (Redisson's)
local PAUSE = 0.01


local multi = {}


-- In the opposite order.
local function release_all(leases)
    local had = true
    for i = #leases, 1, -1 do had = leases[i]:release() and had end
    return had
end


function multi.try(lock, _, request)
    local due, leases = core.now() + PART * #lock.parts, {}
    if request.due then due = math.min(due, request.due) end
    for i, part in ipairs(lock.parts) do
        local lease, message, code = part:acquire{
            timeout = math.max(due - core.now(), 0), owner = request.given.owner,
        }
        if not lease then
            release_all(leases)
            if code ~= "timeout" then failure.raise(code, message) end
            return nil, PAUSE * math.random()
        end
        leases[i] = lease
    end
    return { parts = leases }
end


local function each(leases, method)
    for _, lease in ipairs(leases) do
        local ok, message, code = lease[method](lease)
        if not ok and code ~= "lost" then failure.raise(code, message) end
        if not ok then return false end
    end
    return true
end


function multi.check(lease) return each(lease.parts, "check") end
function multi.renew(lease) return each(lease.parts, "renew") end
function multi.release(lease) return release_all(lease.parts) end


return multi
