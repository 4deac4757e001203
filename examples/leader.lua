--- One of several processes leads, and says where it is to be found; the others stand by.
--
-- Shows: a mutex that is held for long, with `data` for those who look for the leader
-- (lock:queue); a standby that asks again when its session expired; a leader that stops its work
-- as soon as the lease is no longer certain, and gives way by ending.
--
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-a:80
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-b:80

local zklock = require "zklock"

local address = arg[1] or "host-a:80"
local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts, { timeout = 4 }))
local lock = session:mutex("/examples/leader", { data = address })


local function say(format, ...)
    print(format:format(...))
    io.stdout:flush()
end


local function show_leader()
    local line = assert(lock:queue())
    if line[1] then say("%s leads", line[1].data) end
end


local function stand_by()
    while true do
        local lease, message, code = lock:acquire{ on_queued = show_leader }
        if lease then return lease end
        if code ~= "expired" then error(message) end
    end
end


local function lead(lease)
    say("%s leads, by token %s", address, lease:token_string())
    for _ = 1, 10 do
        if not lease:held() then return say("%s may have lost it: it stops", address) end
        zklock.sleep(0.05) -- the leader's work; writes go with the token
    end
end


local lease = stand_by()
lead(lease)
lease:release{ wait = 5 }
say("%s gives way", address)
session:close()
