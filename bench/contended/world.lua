--- Where clients contend: a server, a proxy before it, a crowd of each client; and the figures of
-- all rounds.

local clients = require "bench.contended.clients"
local crowd = require "bench.contended.crowd"
local rig = require "spec.rig"
local say = require "bench.contended.say"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local HEAP = 1024 -- megabytes, of Curator's processes at most: each of its waiters has a list

local world = {}

local World = {}
World.__index = World


--- Starts a server. Its log is on the disk of the tree: folders for temporary files may be in
-- memory.
function world.start_server(options)
    local folder = rig.shell("realpath %s", BUILD):match("[^\n]+")
    local heap = options.heap and ("JVMFLAGS='-Xmx%dm'"):format(options.heap) or ""
    return rig.server{ fsync = not options.no_fsync, n = options.servers,
                       environment = ("TMPDIR='%s' %s"):format(folder, heap) }
end


-- The server that clients are connected to. Of an ensemble it is one that follows.
local function address_of(server, count)
    local leader = count == 3 and server:leader()
    return server:host(leader == 1 and 2 or 1)
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


--- Starts processes of a client: their number; flags and heap of Java's. See crowd.start.
function World:start_crowd(name, count, flags, heap)
    local client = clients[name]
    local started = crowd.start(client, ("%s %s %s %d"):format(client.program(heap or HEAP, flags),
                                self.proxy.hosts, self.address, self.options.batch or 0), count)
    self.started[name] = started
    return started
end


local function start_crowds(self)
    local crowds = {}
    for i, name in ipairs(self.options.clients) do
        crowds[i] = self:start_crowd(name, clients[name].kinds and 1 or self.options.processes)
    end
    for _, each in ipairs(crowds) do each:await() end
    return crowds
end


--- Options: clients (names), processes (of each), batch (grants of a turn), no_fsync; servers (1 or
-- 3), heap (megabytes, of a server).
function world.start(options)
    local self = setmetatable({ options = options, rows = {}, started = {} }, World)
    self.server = world.start_server(options)
    self.disk = describe_disk(self.server)
    self.address = address_of(self.server, options.servers)
    self.proxy = rig.proxy(self.address)
    self.crowds = start_crowds(self)
    return self
end


--- Says the version of each client that was started, as its program says it.
function World:say_versions()
    local versions = {}
    for _, each in pairs(self.started) do
        versions[#versions + 1] = each.client.label .. ": " .. each.version
    end
    table.sort(versions)
    if versions[1] then say.line("%s", table.concat(versions, "; ")) end
end


--- What is compared: { crowd, kind of lock } of zklock and, if it is here, of Curator, which has
-- no turns: a mutex stands against them.
function World:contenders(kind)
    local zklock, curator = self.crowds[1], self.crowds[2]
    local list = { { crowd = zklock, kind = kind } }
    if curator then list[2] = { crowd = curator, kind = kind == "turns" and "mutex" or kind } end
    return list
end


--- All that can do this; see clients.lua.
function World:able(what)
    local list = {}
    for _, each in ipairs(self.crowds) do
        if each.client.can[what] then list[#list + 1] = { crowd = each, kind = "mutex" } end
    end
    return list
end


--- Keeps the figures of a row, as rounds.run gives them.
function World:note(part, list, shape, delay, figures)
    for i, contender in ipairs(list) do
        self.rows[#self.rows + 1] = {
            part = part, name = shape.label,
            client = contender.crowd.name, lock = contender.kind, delay_ms = delay,
            sessions = shape.sessions, waiters = shape.waiters, laps = shape.laps,
            rounds = figures[i],
        }
    end
end


--- Keeps them too, of a row of bench/peers: gives what its tables are made of.
function World:result(row, part, list, figures)
    self:note(part, list, row, row.delay, figures)
    local result = { row = row, part = part, figures = {} }
    for i, contender in ipairs(list) do result.figures[contender.crowd.name] = figures[i] end
    return result
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
