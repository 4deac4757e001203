--- Exercise 3: break. Two servers sell one bun. A lock is held from the read to the write. It ends
-- by itself after a second, so that a dead server does not keep it (purchases/under_ttl_lock.lua).
-- The buyer of server 1 comes first, that of server 2 comes 0.1 s later.
--
-- Find a fault with which both buyers are told "sold". These can help:
--
--     world:stop("server 1", 0.2)     it does nothing for 0.2 s, and goes on
--     world:cut("server 1", 0.2)      it does not reach ZooKeeper for 0.2 s
--     world:kill("server 1")          it is dead

return function(world)
    world:at(0, function() -- seconds after the beginning
        world:stop("server 1", 0)
    end)
end
