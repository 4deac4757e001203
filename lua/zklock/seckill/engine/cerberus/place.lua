--- The place of the switch is a path in ZooKeeper, with these nodes for all processes of a service.
---
---     cerberus_engine   the switch; anybody may set it, also by hand (CFG-17)
---     epoch             the engines that grant locks now; see rules.lua
---     members           processes with their epochs, a line each; see members.lua
---     desk              a mutex for changing these nodes
---     epoch-NUMBER      a read-write lock, read-locked by processes in that epoch
---
--- A missing answer of ZooKeeper raises a failure for failure.catch.

local clock = require "zklock.waiting.runtime"
local failure = require "zklock.seckill.engine.failure"
local rules = require "zklock.seckill.engine.cerberus.rules"
local scope = require "zklock.waiting.scope"
local zklock = require "zklock"


local NODES = { "cerberus_engine", "epoch", "members" }

local LEAST_TIMEOUT = 1 -- seconds to wait for an answer, even after the deadline


---@class zklock.engine.Place
---@field session zklock.Session
---@field root string
---@field first_engine string  of the first epoch
---@field desk zklock.Lock
---@field session_timeout number  seconds
local Place = {}
Place.__index = Place


local place = {}


local function raise(message) failure.raise("connection", message) end


---@param due number?  deadline by runtime.now
---@return number seconds  to wait for an answer
function place.answer_timeout(due)
    return due and math.max(due - clock.now(), LEAST_TIMEOUT) or LEAST_TIMEOUT
end


local function path_of(self, node) return self.root .. "/" .. node end


-- The function `write` of Place:change().
local function writer(self, lease, due)
    return function(node, text, version, wish)
        local written, problem, code = lease:guard{
            { "set", path_of(self, node), text, version },
            wish and { "check", path_of(self, "cerberus_engine"), wish.version } or nil,
            timeout = place.answer_timeout(due),
        }
        if not written and code ~= "conflict" then raise(problem) end
        return written == true
    end
end


-- Calls fn(lease, ...) with the lease of the desk. An abandoned coroutine holds the desk no longer
-- than a dead process would.
local function at_desk(self, due, fn, ...)
    local lease, message = self.desk:acquire{
        timeout = place.answer_timeout(due), owner = {}, max_hold = self.session_timeout,
    }
    if not lease then raise(message) end
    return scope(lease, fn, lease, ...)
end


--- Changes nodes under the desk. fn(write) calls write(node, text, version, wish) for each change,
--- which is a transaction that needs the lease of the desk. write returns false if the version of
--- the node, or of the switch (`wish`), has changed; the switch may be set without the desk.
---@param due number?
---@param fn fun(write: fun(node: string, text: string, version: integer?, wish: table?): boolean)
function Place:change(due, fn)
    at_desk(self, due, function(lease) fn(writer(self, lease, due)) end)
end


---@param node string
---@param fn fun(text: string, version: integer): string
---@param due number?
function Place:edit(node, fn, due)
    self:change(due, function(write)
        local text, version = self:read(node, due)
        if not write(node, fn(text, version), version) then
            raise(("%s is changed by others"):format(path_of(self, node)))
        end
    end)
end


local function nodes_exist(self, due)
    local text, message, code = self.session:get(path_of(self, "epoch"), place.answer_timeout(due))
    if not text and code ~= "no_node" then raise(message) end
    return text ~= nil
end


local function make_nodes(lease, self, due)
    local epoch = { number = 1, engines = { self.first_engine }, wish_version = 0 }
    local made, problem, code = lease:guard{
        { "create", path_of(self, "cerberus_engine"), self.first_engine },
        { "create", path_of(self, "epoch"), rules.text(epoch) },
        { "create", path_of(self, "members"), "" },
        timeout = place.answer_timeout(due),
    }
    if not made and code ~= "conflict" then raise(problem) end
end


function Place:ensure_nodes(due)
    if not nodes_exist(self, due) then at_desk(self, due, make_nodes, self, due) end
end


function Place:read(node, due)
    local text, version = self.session:get(path_of(self, node), place.answer_timeout(due))
    if not text then raise(version) end
    return text, version
end


function Place:epoch(due)
    local text, version = self:read("epoch", due)
    local epoch = rules.parse(text)
    if not epoch then raise(("%s/epoch says %q, which is no epoch"):format(self.root, text)) end
    epoch.version = version
    return epoch
end


---@return zklock.engine.Wish
function Place:wish(due)
    local text, version = self:read("cerberus_engine", due)
    return { text = text, version = version }
end


--- The read lock of an epoch, held by each process that acts by it.
---@param number integer
---@param id string  of the registration, stored in the lock's node
---@return zklock.Lock
function Place:lock(number, id)
    return self.session:rwlock(path_of(self, "epoch-" .. number), { data = id }):read()
end


--- Calls fn(text, version) with the node's state when it is first read, and at each change.
function Place:watch(node, fn)
    return assert(self.session:watch(path_of(self, node), function(text, version)
        if text then fn(text, version) end
    end))
end


function Place:close() self.session:close() end


---@param options { zookeeper: string, root: string, session: number }
---@param first_engine string  of the first epoch, if there is no epoch yet
---@return zklock.engine.Place
function place.open(options, first_engine)
    local session, message = zklock.connect(options.zookeeper, { timeout = options.session })
    if not session then raise(message) end
    local self = setmetatable({
        session = session, root = options.root, first_engine = first_engine,
        session_timeout = options.session, desk = session:mutex(options.root .. "/desk"),
    }, Place)
    local ok, problem = pcall(self.ensure_nodes, self, clock.now() + options.session)
    if not ok then
        session:close()
        error(problem, 0)
    end
    return self
end


--- Removes the nodes, which must be out of use. Nodes of locks vanish by themselves.
---@param zookeeper string  addresses
---@param root string
function place.remove(zookeeper, root)
    local session = assert(zklock.connect(zookeeper))
    assert(session:mutex(root .. "/desk"):with(session:timeout(), function(lease)
        for _, node in ipairs(NODES) do
            local done, message, code = lease:guard{ { "delete", root .. "/" .. node } }
            assert(done or code == "no_node", message)
        end
    end))
    session:close()
end


return place
