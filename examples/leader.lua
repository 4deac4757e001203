--- One of several processes leads, and says where it is to be found; the others stand by.
--
-- Shows: an election; `data` for those who look for the leader; a leader that works only while the
-- lease is certain, and stands in line again when it is lost; one that is done gives way.
--
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-a:80
--     ZK_HOSTS=127.0.0.1:2181 lua5.4 examples/leader.lua host-b:80
--
-- Without ZK_HOSTS each process has a server of its own, in memory: then both lead.

local zklock = require "zklock"

local address = arg[1] or "host-a:80"
local hosts = os.getenv "ZK_HOSTS" or "memory:examples"
local session = assert(zklock.connect(hosts, { timeout = 4 }))
local election = session:election("/examples/leader", { data = address })


local function say(format, ...)
    print(format:format(...))
    io.stdout:flush()
end


assert(election:on_change(function(_, leader)
    if leader and leader ~= address then say("%s leads", leader) end
end))

assert(election:lead(function(lease)
    say("%s leads, by token %s", address, lease:token_string())
    local done = 0
    while done < 10 do
        local state = lease:state()
        if state == "lost" or state == "released" then return say("%s has lost it", address) end
        if lease:held() then done = done + 1 end -- the work: a store is shown the token first
        zklock.sleep(0.05)
    end
    return true -- done: without it, it would stand in line again
end))

say("%s gives way", address)
session:close()
