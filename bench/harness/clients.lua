--- The clients that are measured, by name.
--
--   label     in tables
--   program   a function that returns the command to start a process; its arguments, a heap in
--             megabytes and more flags, are for Java
--   can       words for kinds of cycles (peers.lua), and "many" (cycles at the same time), "line",
--             "keep", "wait"
--   kinds     its own names for kinds of locks
--   kind      its name for other kinds; nil if they have the same name
--   tells     true if it knows when its waiters are in line; else the server's nodes are counted
--   missing   a function that returns the first file that the client lacks, or nil

local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local PEERS = BUILD .. "/debian/peers" -- packages of other languages' clients
local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local ALL = "free many try reentry read kept turns combined line keep wait"

local clients = {}


local function add(client)
    clients[client.name] = client
    local can = {}
    for word in client.can:gmatch("%S+") do can[word] = true end
    client.can, client.kinds = can, client.kinds or {}
    function client.missing()
        for _, path in ipairs(client.files) do
            if rig.shell("test -e %s && echo yes", path) == "" then return path end
        end
    end
end


local function add_zklock(name, label, lua, files, kinds)
    local command = lua .. " bench/harness/zklock.lua"
    add{ name = name, label = label, can = ALL, files = files, kinds = kinds, tells = true,
         program = function() return command end }
end


-- `file` is what is built for it, below PEERS.
local function add_peer(name, can, file, kind, kinds)
    add{ name = name, label = name, can = can, kind = kind, kinds = kinds,
         files = { PEERS .. "/packages", file and PEERS .. file },
         program = function(...) return neighbour.program(name, PEERS, ...) end }
end


local function add_bare(name, can)
    local command = BUILD .. "/rig/bare"
    add{ name = name, label = "bare, " .. name, can = can, kind = name, files = {},
         program = function() return command end }
end


local jit = ("env LUA_CPATH='%s/5.1/?.so;;' luajit"):format(BUILD)

add_zklock("zklock", "zklock, Lua 5.4", LUA, {})
add_zklock("LuaJIT", "zklock, LuaJIT", jit, { "$(command -v luajit || echo luajit)",
                                              BUILD .. "/5.1/zklock/core.so" })
add_zklock("turns", "zklock, in turns", LUA, {}, { mutex = "batches" })

-- Curator has no turns, kept locks or combining; a mutex takes their place.
add_peer("Curator", ALL, "/neighbours/Curator.class", "mutex",
         { read = "read", write = "write", semaphore = "semaphore", reentry = "reentry" })
add_peer("kazoo", "free many try read line keep wait", nil, "stock", { read = "stock-read" })
add_peer("go-zookeeper", "free many line keep", "/neighbours/gozk", "mutex")

add_bare("serial", "free")
add_bare("pipelined", "free many")


return clients
