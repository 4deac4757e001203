--- The clients that are measured, by name.
--
--   label     in tables
--   program   a function that returns the command to start a process, without the addresses; its
--             arguments, a heap in megabytes and more flags, are for Java
--   can       kinds of cycles (crowd.lua), and "many" (cycles at the same time), "line", "keep",
--             "wait"
--   kinds     its own names for kinds, where they differ
--   tells     true if it knows when its waiters are in line; else the server's nodes are counted
--   missing   a function that returns the first file that the client lacks, or nil
--
-- The packages of other languages' clients are in PEERS (bench/peers.mk).

local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local PEERS = BUILD .. "/debian/peers"
local PACKAGES = PEERS .. "/packages" -- their list
local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local ALL = "free many try reentry read kept turns combined line keep wait"

local clients = {}


local function add(name, label, can, program, files)
    local client = { name = name, label = label, can = {}, kinds = {} }
    for word in can:gmatch("%S+") do client.can[word] = true end
    client.program = type(program) == "function" and program or function() return program end
    function client.missing()
        for _, path in ipairs(files) do
            if rig.shell("test -e %s && echo yes", path) == "" then return path end
        end
    end
    clients[name] = client
    return client
end


local function add_zklock(name, label, program, files)
    local client = add(name, label, ALL, program .. " bench/crowds/zklock.lua", files)
    client.tells = true
    return client
end


local jit = ("env LUA_CPATH='%s/5.1/?.so;;' luajit"):format(BUILD)

add_zklock("zklock", "zklock, Lua 5.4", LUA, {})
add_zklock("LuaJIT", "zklock, LuaJIT", jit, { "$(command -v luajit || echo luajit)",
                                              BUILD .. "/5.1/zklock/core.so" })
add_zklock("turns", "zklock, in turns", LUA, {}).kinds.mutex = "turns"

add("Curator", "Curator", ALL, function(heap, flags)
    return neighbour.java(PEERS, BUILD .. "/bench", "CrowdCurator", heap, flags)
end, { PACKAGES, BUILD .. "/bench/CrowdCurator.class" })

add("kazoo", "kazoo", "free many try read line keep wait",
    ("env PYTHONPATH=%s/usr/lib/python3/dist-packages /usr/bin/python3 bench/crowds/kazoo_crowd.py")
    :format(PEERS), { PACKAGES, "/usr/bin/python3" })

add("go-zookeeper", "go-zookeeper", "free many line keep", BUILD .. "/bench/gozk_crowd",
    { PACKAGES, BUILD .. "/bench/gozk_crowd" })

add("serial", "bare, serial", "free", BUILD .. "/rig/bare", {}).kinds.free = "serial"
add("pipelined", "bare, pipelined", "free many", BUILD .. "/rig/bare", {}).kinds.free = "pipelined"


return clients
