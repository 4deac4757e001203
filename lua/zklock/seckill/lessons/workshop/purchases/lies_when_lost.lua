--- A purchase that tells "failed" when it has lost its lock, though the store has the order.

local zklock = require "zklock"

return function(store, lock)
    local answer
    local kept = lock:with(60, function(lease)
        local left = store:read(lease.token)
        answer = left == 0 and "sold out" or "failed"
        if left == 0 then return end
        zklock.sleep(0.5)
        if store:write(left - 1, lease.token) then answer = "sold" end
    end)
    return kept and answer or "failed"
end
