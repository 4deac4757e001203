--- The lock is held from the read to the write, and the store is shown the token at both.

local zklock = require "zklock"

return function(store, lock)
    local lease = lock:acquire(60)
    if not lease then return "failed" end
    local left, answer = store:read(lease.token), "sold out"
    if left > 0 then
        zklock.sleep(0.5) -- the customer pays
        answer = store:write(left - 1, lease.token) and "sold" or "failed"
    end
    lease:release()
    return answer
end
