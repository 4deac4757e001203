--- How the shop sells a bun without a lock.

local zklock = require "zklock"

return function(store)
    local left = store:read()
    if left == 0 then return "sold out" end
    zklock.sleep(0.5) -- the customer pays
    store:write(left - 1)
    return "sold"
end
