--- Several locks as one, acquired in the order of the list. If a lock times out, all are released,
--- and the multi-lock begins anew.

local core = require "zklock.core"
local failure = require "zklock.seckill.engine.failure"
local parts = require "zklock.seckill.engine.parts"


local PART_TIMEOUT = 1.5  -- seconds for each lock until all are released (Redisson's)
local LONGEST_PAUSE = 0.01 -- seconds until the next try


local multi = {}


local function take(leases, lock, request)
    local due = core.now() + PART_TIMEOUT * #lock.parts
    if request.due then due = math.min(due, request.due) end
    for i, part in ipairs(lock.parts) do
        local lease, message, code = part:acquire{
            timeout = math.max(due - core.now(), 0), owner = request.given.owner,
        }
        if not lease and code ~= "timeout" and code ~= "busy" then
            failure.raise(code, message)
        end
        if not lease then return false end
        leases[i] = lease
    end
    return true
end


function multi.try(lock, _, request)
    local leases = parts.gather(take, lock, request)
    if leases then return { parts = leases } end
    return nil, LONGEST_PAUSE * math.random()
end


function multi.check(lease) return parts.ask_each(lease.parts, "check") end
function multi.renew(lease) return parts.ask_each(lease.parts, "renew") end
function multi.release(lease) return parts.release(lease.parts) end


return multi
