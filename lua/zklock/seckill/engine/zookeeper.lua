--- Engine "zookeeper", zklock behind the interface of engines, for comparison. Its locks and
--- leases are zklock's own (docs/reference).

local CHECK_LOCK = require "zklock.seckill.engine.checked"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local strict_methods = require "zklock.value.strict_methods"
local zklock = require "zklock"


---@class zklock.engine.ZooKeeper
---@field session zklock.Session
local ZooKeeper = { __name = "zklock.engine" }
ZooKeeper.__index = ZooKeeper


local way = {
    has = {
        fair = true, reentrant = true, rwlock = true, condition = true, multi = true, wakes = true,
        owned = true, token = true,
    },
    fields = { zookeeper = options.text, session = options.seconds(0.1), root = options.text },
    defaults = { session = 10, root = "/locks" },
}


function way.validate(given)
    if not given.zookeeper then
        misuse.refuse("the engine zookeeper needs zookeeper = \"HOST:PORT\"")
    end
end


function way.open(engine)
    local session, message, code = zklock.connect(engine.options.zookeeper, {
        timeout = engine.options.session,
    })
    if not session then return nil, message, code end
    return setmetatable({
        name = engine.name, has = engine.has, options = engine.options, session = session,
    }, ZooKeeper)
end


local function path_of(self, name)
    options.text(name, "the name of a lock")
    return self.options.root .. "/" .. name:gsub("[^%w%-_]", function(c)
        return ("%%%02X"):format(c:byte())
    end)
end


local MUTEX = { fair = options.flag, lease = options.seconds(0.001) }
local RWLOCK = { lease = options.seconds(0.001) }


local function lease_time_unsupported(self)
    return failure.of("unsupported", self.name, "a lock lasts as long as its session")
end


--- A lock that is granted in order of arrival, or without order if `fair = false`.
function ZooKeeper:mutex(name, given)
    given = options.complete(given, MUTEX, {}, "the options of mutex")
    if given.lease then return lease_time_unsupported(self) end
    return self.session:mutex(path_of(self, name),
        { order = given.fair == false and "none" or "fifo" })
end


function ZooKeeper:rwlock(name, given)
    given = options.complete(given, RWLOCK, {}, "the options of rwlock")
    if given.lease then return lease_time_unsupported(self) end
    return self.session:rwlock(path_of(self, name))
end


function ZooKeeper:check()
    local lease, message, code = self:mutex(CHECK_LOCK):acquire(0)
    if lease then lease:release() end
    if lease or code == "busy" then return true end
    return nil, message, code == "timeout" and "connection" or code
end


function ZooKeeper:switch() return failure.of("unsupported", self.name, "it has no switch") end
function ZooKeeper:interrupt(owner) return self.session:interrupt(owner) end
function ZooKeeper:multi(locks) return self.session:multi(locks) end
function ZooKeeper:close() self.session:close() end


function ZooKeeper.__tostring() return "zklock.engine (zookeeper)" end


strict_methods(ZooKeeper, ZooKeeper, "engine")


return way
