--- The purchase of plain.lua under zklock's lock; the store is shown no token.

local plain = dofile "lua/zklock/seckill/lessons/workshop/purchases/plain.lua"

return function(store, lock)
    local answer = "failed"
    lock:with(60, function() answer = plain(store) end)
    return answer
end
