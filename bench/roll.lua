--- A rolling restart, as Kubernetes makes it. Three servers are restarted one after the other, and
-- each comes back with its name and another address, that of a new proxy. zklock and kazoo are
-- clients at the same time.
--
--   make bench WHAT=roll BENCH="ROUNDS [TIMEOUT]"

local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local ROUNDS = tonumber(arg[1]) or 3
local TIMEOUT = tonumber(arg[2]) or 10 -- seconds, of the sessions
local BEFORE, BETWEEN, AFTER = 2, 5, 12 -- seconds before, between and after the restarts
local LIBRARY = os.getenv("ZKLOCK_BUILD") .. "/rig/names.so"
local NAMES = { "zk1", "zk2", "zk3" }

local CLIENTS = { "zklock", "kazoo" }


local function start(client, folder, seconds)
    local hosts = table.concat(NAMES, ".test,") .. ".test"
    local servant = rig.servant(("env NAMES=%s LD_PRELOAD=%s %s bench/roll/client.lua %s %s %g %g")
        :format(folder, LIBRARY, os.getenv("ZKLOCK_LUA"), client, hosts, TIMEOUT, seconds))
    assert(servant:greet() == "ready", client .. " did not start")
    return servant
end


-- The node of the lock that the client holds, or nil.
local function held_node(server, client) return server:nodes("/roll/" .. client .. "-held")[1] end


local function set_address(folder, name, proxy)
    local path = folder .. "/" .. name
    files.replace(path, proxy.hosts .. "\n")
end


local function restart_elsewhere(server, n, folder, proxies)
    local next_proxy = rig.proxy(server:host(n))
    server:kill(n)
    set_address(folder, NAMES[n], next_proxy)
    proxies[n]:command("refuse")
    proxies[n]:command("cut")
    server:restart(n)
    proxies[#proxies + 1] = next_proxy
end


local function round()
    local server, proxies, servants, nodes = rig.server{ n = 3 }, {}, {}, {}
    local folder = rig.shell("mktemp -d"):match("%S+")
    for n, name in ipairs(NAMES) do
        proxies[n] = rig.proxy(server:host(n))
        set_address(folder, name, proxies[n])
    end
    local seconds = BEFORE + #NAMES * BETWEEN + AFTER
    for i, client in ipairs(CLIENTS) do
        servants[i] = start(client, folder, seconds)
        nodes[i] = held_node(server, client)
    end
    zklock.sleep(BEFORE)
    for n = 1, #NAMES do
        restart_elsewhere(server, n, folder, proxies)
        zklock.sleep(BETWEEN)
    end
    for i, client in ipairs(CLIENTS) do
        local ok, figures = pcall(servants[i].answer, servants[i])
        local lease = held_node(server, client) == nodes[i] and "held" or "lost"
        print(("%-7s %s"):format(client, figures:gsub("(%S+) (%d+) (%S+)",
            "%1 s at most without a lock, %2 locks; lease " .. lease .. ", session %3")))
        if ok then servants[i]:stop() end
    end
    for _, proxy in ipairs(proxies) do proxy:stop() end
    server:stop()
    rig.shell("rm -r %s", folder)
end


print(("three servers, session timeout %g s, one restarted each %g s"):format(TIMEOUT, BETWEEN))
for _ = 1, ROUNDS do round() end
