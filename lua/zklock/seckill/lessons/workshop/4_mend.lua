--- Exercise 4: mend. Two servers sell three buns to four buyers. Nothing may go wrong, whichever
-- server is stopped, killed or cut off. You can use:
--
--     lock:acquire(60)            waits at most 60 s; a lease, or nil, message, code
--     lease:release()
--     lease.token                 a number, larger than in all earlier leases of the lock
--     store:read(token)           the buns that are left; the store keeps the greatest token
--     store:write(left, token)    true; or false, if the store was shown a greater token
--
-- The purchase returns "sold", "sold out" or "failed", and the buyer is told that.

local zklock = require "zklock"

return function(store, _) -- the second argument is the lock
    local left = store:read()
    if left == 0 then return "sold out" end
    zklock.sleep(0.5) -- the customer pays
    store:write(left - 1)
    return "sold"
end
