--- limit.lua - at most so many requests a second on all hosts together. Each host lets its share
-- through, but at least one request, and counts in `lua_shared_dict limit 1m`.

local zklock = require "zklock"

local FOLDER = "/members/gateway"

local limit = { total = 0, hosts = 1 }
local session

-- "10.0.0.7:8080-4711" is a worker of 10.0.0.7:8080.
local function count_hosts(list)
    local seen, count = {}, 0
    for _, member in ipairs(list) do
        local host = member.name:match "^(.*)%-%d+$"
        if host and not seen[host] then seen[host], count = true, count + 1 end
    end
    return count
end

local function follow(list)
    if list then limit.hosts = math.max(1, count_hosts(list)) end -- else as it was
end

-- The member; or nil, message.
local function join(zookeeper, name)
    if not session then
        local message
        session, message = zklock.connect(zookeeper)
        if not session then return nil, message end
        assert(session:members(FOLDER, follow))
    end
    return session:join(FOLDER, { name = name })
end

local function run(premature, zookeeper, name)
    if premature then return end
    local member, message = join(zookeeper, name)
    if member then return end
    ngx.log(ngx.WARN, message)
    ngx.timer.at(1, run, zookeeper, name)
end

--- In init_worker_by_lua: where ZooKeeper is, the name of this host, and the limit of all hosts.
function limit.start(zookeeper, host, total)
    limit.total = total
    ngx.timer.at(0, run, zookeeper, ("%s-%d"):format(host, ngx.worker.pid()))
end

--- In access_by_lua.
function limit.check()
    local second = math.floor(ngx.now())
    local count = ngx.shared.limit:incr(second, 1, 0, 2)
    local share = math.max(1, limit.total / limit.hosts)
    if count and count > share then return ngx.exit(429) end
end

return limit
