--- A short life with all that allocates, for valgrind: run by make test-valgrind.

local zklock = require "zklock"

local hosts = os.getenv("ZK_HOSTS")

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
    zklock.run((table.unpack or unpack)(tasks))
    local kept = assert(lock:acquire(10)) -- closed with a lease out
    session:close()
    assert(kept:state() == "released")
end

local never, _, code = zklock.connect("127.0.0.1:1", { connect_timeout = 0.2 })
assert(never == nil and code == "connection")
local nowhere = zklock.connect("no.such.host.invalid", { connect_timeout = 0.2 })
assert(nowhere == nil)
