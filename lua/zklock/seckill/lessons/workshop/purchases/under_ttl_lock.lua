--- The purchase of plain.lua under a lock that ends by itself after a second, like the lock that
-- `SET bun me NX PX 1000` makes in Redis.

local TtlLock = require "zklock.seckill.lessons.ttl_lock"
local plain = dofile "lua/zklock/seckill/lessons/workshop/purchases/plain.lua"

TtlLock.prepare() -- each schedule begins without locks
local lock = TtlLock.open{ parameters = { ttl = 1 }, timeout = 60 }

return function(store)
    local hold = lock:enter "bun"
    local answer = plain(store)
    lock:leave(hold)
    return answer
end
