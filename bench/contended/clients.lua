--- The clients that are measured, by name: how each is started, what it can, whether it is here.
--
--   label     in tables
--   program   the command that starts one process, without the addresses
--   can       what it can be asked: a kind of cycle (crowd.lua), "many" of them at the same time,
--             "line", "keep", "wait"
--   kinds     what it calls a kind of cycle, if not as the others do
--   missing   what is not installed, unpacked or built; nil if all is here
--
-- The packages of other languages' clients are in PEERS (bench/peers/peers.mk).

local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local PEERS = BUILD .. "/debian/peers"
local PACKAGES = PEERS .. "/packages" -- their list
local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local ALL = { "free", "many", "try", "reentry", "read", "line", "keep", "wait", "kept",
              "turns", "combined" }

local clients = {}


local function set_of(words)
    local set = {}
    for _, word in ipairs(words) do set[word] = true end
    return set
end


local function succeeds(command)
    return rig.shell("%s >/dev/null 2>&1 && echo yes", command) ~= ""
end


local function add(name, label, can, program, missing)
    clients[name] = { name = name, label = label, can = set_of(can), program = program,
                      missing = missing or function() end }
end


-- A function that gives the first of these files that is not there.
local function unless(...)
    local paths = { ... }
    return function()
        for _, path in ipairs(paths) do
            if not succeeds("test -e " .. path) then return path end
        end
    end
end


add("zklock", "zklock, Lua 5.4", ALL, function()
    return LUA .. " bench/contended/crowd_zklock.lua"
end)

add("LuaJIT", "zklock, LuaJIT", ALL, function()
    return ("env LUA_CPATH='%s/5.1/?.so;;' luajit bench/contended/crowd_zklock.lua"):format(BUILD)
end, function()
    return not succeeds("command -v luajit") and "luajit"
        or unless(BUILD .. "/5.1/zklock/core.so")()
end)

add("Curator", "Curator", ALL, function(heap, flags)
    return neighbour.java(PEERS, BUILD .. "/bench", "CrowdCurator", heap, flags)
end, unless(PACKAGES, BUILD .. "/bench/CrowdCurator.class"))
clients.Curator.kinds = { kept = "free", turns = "one", combined = "one" }

add("kazoo", "kazoo", { "free", "many", "try", "read", "line", "keep", "wait" }, function()
    return ("env PYTHONPATH=%s/usr/lib/python3/dist-packages /usr/bin/python3 " ..
            "bench/peers/kazoo_crowd.py"):format(PEERS)
end, unless(PACKAGES, "/usr/bin/python3"))

add("go-zookeeper", "go-zookeeper", { "free", "many", "line", "keep" }, function()
    return BUILD .. "/bench/gozk_crowd"
end, unless(PACKAGES, BUILD .. "/bench/gozk_crowd"))

for kind, can in pairs{ serial = { "free" }, pipelined = { "free", "many" } } do
    add(kind, "bare, " .. kind, can, function() return BUILD .. "/rig/bare" end)
    clients[kind].kinds = { free = kind }
end


return clients
