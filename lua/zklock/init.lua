--- zklock: distributed locks on ZooKeeper.
-- The reference is docs/reference.md.

local memory = require "zklock.memory"
local metrics = require "zklock.metrics"
local options = require "zklock.options"
local Session = require "zklock.session"
local wait = require "zklock.wait"

---@class zklock
local _M = { _NAME = "zklock", _VERSION = "1.0.0" }


--- Opens a session with a ZooKeeper ensemble and waits until it is usable.
---@param hosts string "host:port,host:port/chroot", or "memory:name/chroot" in a test
---@param opts? table see docs/reference.md
---@return zklock.Session? session
---@return string? message
---@return string? code "connection", "auth" or "no_node"
function _M.connect(hosts, opts)
    return Session.connect(options.hosts(hosts), options.connect(opts))
end


--- The server of that name inside this process: zklock.connect("memory:name"). For tests.
---@type fun(name: string): zklock.Memory
_M.memory = memory

--- What all sessions of the process have counted, as text for Prometheus.
_M.metrics = metrics.text

--- Runs functions as coroutines at once, and drives every wait in them.
_M.run = wait.run

--- Sleeps; in zklock.run the other coroutines go on meanwhile.
_M.sleep = wait.sleep

--- Chooses how this process waits: a name, a table with `wait`, or nil to choose by itself.
_M.driver = wait.use


return _M
