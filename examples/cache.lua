--- A cache in ZooKeeper for a slow result. Many processes read the cache together; one computes the
-- result.
--
-- Shows session:rwlock. A reader that finds nothing releases, and comes back as a writer. The
-- writer looks again, because another writer may have been quicker. lease:downgrade lets the
-- readers in while the writer goes on as a reader.
--
--     lua5.4 examples/cache.lua                     with a server inside the process
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/cache.lua

local zklock = require "zklock"

local PATH, VALUE = "/examples/locks/price", "/examples/price"

local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts))
local lock = session:rwlock(PATH)
local computed = 0


local function compute()
    computed = computed + 1
    zklock.sleep(0.1) -- a report over a large database
    return "42"
end


local function value()
    local _, found = assert(lock:read():with(20, function() return (session:get(VALUE)) end))
    if found then return found end
    return select(2, assert(lock:write():with(20, function(lease)
        local again = session:get(VALUE)
        if again then return again end
        local new = compute()
        assert(lease:guard{ { "create", VALUE, new } })
        assert(lease:downgrade())
        return new
    end)))
end


local function read()
    assert(value() == "42")
end

zklock.run(read, read, read, read, read)
print(("five readers, computed %d times"):format(computed))
assert(lock:write():with(20, function(lease)
    if session:get(VALUE) then assert(lease:guard{ { "delete", VALUE } }) end
end))
session:close()
