--- A world is a server, a proxy before it, and a crowd of each client, with the figures of all
-- rounds.

local clients = require "bench.harness.clients"
local crowd = require "bench.harness.crowd"
local process = require "bench.process"
local rig = require "spec.rig"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local HEAP = 1024 -- megabytes, most of a Curator process, in which each waiter holds a list

local world = {}

local World = {}
World.__index = World


--- Starts a server, or three. Their logs are on the disk of the tree, because folders for temporary
-- files may be in memory.
function world.start_server(options, count)
    local folder = rig.shell("realpath %s", BUILD):match("[^\n]+")
    local heap = options.heap and ("JVMFLAGS='-Xmx%dm'"):format(options.heap) or ""
    return rig.server{ fsync = not options.no_fsync, n = count,
                       environment = ("TMPDIR='%s' %s"):format(folder, heap) }
end


-- The address for all clients. In an ensemble it is a follower's.
local function address_of(server, count)
    local leader = count == 3 and server:leader()
    return server:host(leader == 1 and 2 or 1)
end


--- Options: processes (of each client), batch (grants of a turn), no_fsync, heap (megabytes of a
-- server), clients (for all rows). `servers` is 1, the default, or 3.
function world.start(options, servers)
    local self = setmetatable({ options = options, servers = servers or 1, notes = {}, crowds = {},
                                versions = {} }, World)
    self.server = world.start_server(options, self.servers)
    self.address = address_of(self.server, self.servers)
    self.proxy = rig.proxy(self.address)
    return self
end


--- A text with the server's fsync, the log's file system, and the clients' versions.
function World:describe()
    local fsync = process.command(self.server:pid()):find("forceSync=yes", 1, true)
    local versions = {}
    for name, version in pairs(self.versions) do
        versions[#versions + 1] = clients[name].label .. ": " .. version
    end
    table.sort(versions)
    return ("fsync %s, the log on %s; %s"):format(fsync and "on" or "off",
        rig.shell("df --output=fstype '%s' | tail -n 1", self.server.dir):match("%S+"),
        table.concat(versions, "; "))
end


function World:count_ephemerals()
    return tonumber(self.server:ask("mntr"):match("zk_ephemerals_count%s+(%d+)"))
end


--- Seconds of processor time of all servers.
function World:server_cpu()
    local sum = 0
    for n = 1, self.servers do sum = sum + process.cpu(self.server:pid(n)) end
    return sum
end


--- Starts another crowd of a client, with `count` processes; flags and heap are for Java.
function World:start_crowd(name, count, flags, heap)
    local client = clients[name]
    local started = crowd.start(client, client.program(heap or HEAP, flags), count, {
        nodes = function(path) return #self.server:nodes(path) end,
        hosts = { proxy = self.proxy.hosts, server = self.address },
        batch = self.options.batch,
    })
    self.versions[name] = started.version
    return started
end


--- The contenders of a row, without crowds. They are the clients of the options, or of the row,
-- that can do the row's work and are installed.
function World:able_clients(row)
    local list = {}
    for _, name in ipairs(self.options.clients or row.clients) do
        local client = clients[name]
        if client.can[row.can] and not client.missing() then list[#list + 1] = { name = name } end
    end
    return list
end


--- The contenders of a row, each with its crowd, which all rows share.
function World:contenders(row)
    local list = self:able_clients(row)
    for _, each in ipairs(list) do
        local name = each.name
        self.crowds[name] = self.crowds[name] or self:start_crowd(name, self.options.processes or 1)
        each.crowd = self.crowds[name]
    end
    return list
end


--- Notes the figures of a row, as rounds.run returns them. Returns { row, names of the contenders
-- in order, figures by name }.
function World:note_result(row, list, figures)
    local result = { row = row, names = {}, figures = {} }
    for i, contender in ipairs(list) do
        result.names[i], result.figures[contender.name] = contender.name, figures[i]
        self.notes[#self.notes + 1] = { name = row.label, client = contender.name,
                                        measure = row.measure, rounds = figures[i] }
    end
    return result
end


function World:stop()
    for _, each in pairs(self.crowds) do each:stop() end
    self.proxy:stop()
    self.server:stop()
end


return world
