--- Where clients contend: a server, a proxy before it, a crowd of each client; and the figures of
-- all rounds.

local crowd = require "bench.contended.crowd"
local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local HEAP = 1024 -- megabytes, of Curator's processes at most: each of its waiters has a list
local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"

local world = {}

local World = {}
World.__index = World


-- The server's log is on the disk of the tree: folders for temporary files may be in memory.
local function start_server(fsync)
    local folder = rig.shell("realpath %s", BUILD):match("[^\n]+")
    return rig.server{ fsync = fsync, environment = ("TMPDIR='%s'"):format(folder) }
end


-- Is fsync on, by what the server was started with? And on what kind of file system?
local function describe_disk(server)
    local file = assert(io.open(("/proc/%d/cmdline"):format(server:pid())))
    local command = file:read("*a")
    file:close()
    return {
        fsync = command:find("forceSync=yes", 1, true) ~= nil,
        filesystem = rig.shell("df --output=fstype '%s' | tail -n 1", server.dir):match("%S+"),
    }
end


local function start_crowds(self)
    local options, hosts = self.options, self.proxy.hosts
    local zklock = ("%s bench/contended/crowd_zklock.lua %s %d"):format(LUA, hosts, options.batch)
    local crowds = { crowd.start("zklock", zklock, options.processes) }
    if not options.alone then
        local curator = ("%s %s %s"):format(neighbour.java("bench", "CrowdCurator", HEAP),
                                            hosts, self.server.hosts)
        crowds[2] = crowd.start("Curator", curator, options.processes)
    end
    for _, each in ipairs(crowds) do each:await() end
    return crowds
end


function world.start(options)
    local self = setmetatable({ options = options, rows = {} }, World)
    self.server = start_server(not options.no_fsync)
    self.disk = describe_disk(self.server)
    self.proxy = rig.proxy(self.server.hosts)
    self.crowds = start_crowds(self)
    return self
end


--- What is compared: { crowd, kind of lock } of zklock and, if it is here, of Curator, which has
-- no turns: a mutex stands against them.
function World:contenders(kind)
    local zklock, curator = self.crowds[1], self.crowds[2]
    local list = { { crowd = zklock, kind = kind } }
    if curator then list[2] = { crowd = curator, kind = kind == "turns" and "mutex" or kind } end
    return list
end


--- Keeps the figures of a row, as rounds.run gives them.
function World:note(part, list, shape, delay, figures)
    for i, contender in ipairs(list) do
        self.rows[#self.rows + 1] = {
            part = part, client = contender.crowd.name, lock = contender.kind, delay_ms = delay,
            sessions = shape.sessions, waiters = shape.waiters, laps = shape.laps,
            rounds = figures[i],
        }
    end
end


function World:write_json(path)
    local file = assert(io.open(path, "w"))
    local content = { options = self.options, disk = self.disk, rows = self.rows }
    file:write(require("dkjson").encode(content, { indent = true }), "\n")
    file:close()
end


function World:stop()
    for _, each in ipairs(self.crowds) do each:stop() end
    self.proxy:stop()
    self.server:stop()
end


return world
