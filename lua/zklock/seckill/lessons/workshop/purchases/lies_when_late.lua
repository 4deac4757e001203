--- A purchase that tells "sold" when the store has refused its write.

local zklock = require "zklock"

return function(store, lock)
    local answer = "failed"
    lock:with(60, function(lease)
        local left = store:read(lease.token)
        answer = left == 0 and "sold out" or "sold"
        if left == 0 then return end
        zklock.sleep(0.5)
        store:write(left - 1, lease.token)
    end)
    return answer
end
