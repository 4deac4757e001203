--- Several processes elect a leader, which publishes its address. The other processes stand by.
--
-- Shows an election, with `data` for processes that look for the leader. The leader works only
-- while the lease is certain, and queues again when the lease is lost. When done, it gives way.
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-a:80
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-b:80
--
-- Without ZK_HOSTS each process has its own server in memory, so both lead.

local zklock = require "zklock"

local address = arg[1] or "host-a:80"
local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts, { timeout = 4 }))
local election = session:election("/examples/leader", { data = address })


local function say(format, ...)
    print(format:format(...))
    io.stdout:flush()
end


assert(election:on_change(function(identity, leader) -- nil, message, code: the read failed
    if identity and leader and leader ~= address then say("%s leads", leader) end
end))

assert(election:lead(function(lease)
    say("%s leads, by token %s", address, lease:token_string())
    local done = 0
    while done < 10 do
        local state = lease:state()
        if state == "lost" or state == "released" then return say("%s has lost it", address) end
        if lease:held() then done = done + 1 end -- the work; first, show the token to the store
        zklock.sleep(0.05)
    end
    return true -- done; otherwise it would queue again
end))

say("%s gives way", address)
session:close()
