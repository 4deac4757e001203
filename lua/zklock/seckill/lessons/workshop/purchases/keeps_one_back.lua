--- A purchase that tells "sold out" when one bun is left.

local zklock = require "zklock"

return function(store, lock)
    local answer = "failed"
    lock:with(60, function(lease)
        local left = store:read(lease.token)
        if left <= 1 then
            answer = "sold out"
            return
        end
        zklock.sleep(0.5)
        if store:write(left - 1, lease.token) then answer = "sold" end
    end)
    return answer
end
