--- Calls all that allocates memory, for valgrind (make test-valgrind).

local zklock = require "zklock"

local hosts = os.getenv("ZK_HOSTS")
local unpack = table.unpack or unpack -- luacheck: globals unpack


-- Lets several owners wait for one lock, and one give up.
local function contend(lock)
    local tasks = {}
    for i = 1, 5 do
        tasks[i] = function()
            lock:with({ owner = i, timeout = i == 3 and 0.01 or nil }, function()
                zklock.sleep(0.005)
            end)
        end
    end
    zklock.run(unpack(tasks))
end


local function wait_and_signal(lock)
    local condition, waits = lock:condition("c"), false
    zklock.run(function()
        local lease = assert(lock:acquire{ owner = "waiter" })
        waits = true
        assert(condition:wait(lease, 30))
        lease:release()
    end, function()
        local woken
        repeat
            zklock.sleep(0.005)
            local lease = waits and lock:acquire{ owner = "signaller" }
            woken = lease and condition:signal(lease) or 0
            if lease then lease:release() end
        until woken > 0
    end)
    local lease = assert(lock:acquire(10))
    assert(not condition:wait(lease, 0.05))
end


-- Watches existing and missing nodes; one is changed, and its watch stopped.
local function watch_nodes(session)
    local calls, last = 0, nil
    local function hear(data)
        calls, last = calls + 1, data
    end
    assert(session:watch("/valgrind-none-such", hear))
    local stop = assert(session:watch("/valgrind-a", hear))
    repeat zklock.sleep(0.01) until calls == 2
    session:locked("/valgrind-", 1, function() end)("a")
    session:mutex("/valgrind-b"):with(10, function(lease)
        assert(lease:guard{ { "set", "/valgrind-a", "changed" } })
    end)
    repeat zklock.sleep(0.01) until last == "changed"
    stop()
    assert(session:watch("/", hear)) -- until the session closes
end


local function use_other_locks(session)
    local rw, fifo = session:rwlock("/valgrind-rw"), session:mutex("/valgrind-a")
    for _, lock in ipairs{ session:mutex("/valgrind-none", { order = "none", jitter = 0.001 }),
                           session:mutex("/valgrind-turns", { order = "turns", batch = 2 }),
                           session:semaphore("/valgrind-permits", 2), rw:read(), rw:write(),
                           session:multi{ fifo, rw:write() } } do
        contend(lock)
    end
    local writes = assert(rw:write():acquire(10))
    assert(writes:downgrade())
    writes:release()
    wait_and_signal(fifo)
    local lease = assert(fifo:acquire(10))
    lease:on_revoke(function() end)
    assert(fifo:revoke() == 1)
    assert(lease:guard{ { "check", "/valgrind-a" } })
    assert(session:get("/valgrind-a"))
    lease:release()
    watch_nodes(session)
end


for _ = 1, 2 do
    local session = assert(zklock.connect(hosts, { timeout = 10, connect_timeout = 30 }))
    local lock = session:mutex("/valgrind", { data = "a test" })
    for _ = 1, 20 do lock:acquire():release() end
    local lease = assert(lock:acquire(10))
    assert(not lock:acquire{ timeout = 0, owner = "another" })
    assert(not lock:acquire{ timeout = 0.2, owner = "another", on_queued = function() end })
    assert(#lock:queue() == 1)
    assert(lease:check())
    lease:on_lost(function() end)
    local tasks = {}
    for i = 1, 20 do
        tasks[i] = function() lock:with(function() zklock.sleep(0) end) end
    end
    lease:release{ wait = 10 }
    zklock.run(unpack(tasks))
    use_other_locks(session)
    local kept = assert(lock:acquire(10)) -- so that close() ends a lease
    session:close()
    assert(kept:state() == "released")
end

local never, _, code = zklock.connect("127.0.0.1:1", { connect_timeout = 0.2 })
assert(never == nil and code == "connection")
local nowhere = zklock.connect("no.such.host.invalid", { connect_timeout = 0.2 })
assert(nowhere == nil)
