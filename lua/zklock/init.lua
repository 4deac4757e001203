--- zklock: distributed locks on ZooKeeper.
-- The reference is docs/reference.

local core = require "zklock.core"
local failure = require "zklock.value.failure"
local hosts_of = require "zklock.value.hosts"
local memory = require "zklock.object.memory"
local metrics = require "zklock.object.metrics"
local options = require "zklock.value.options"
local Session = require "zklock.object.session"
local drivers = require "zklock.waiting.drivers"
local wait = require "zklock.waiting.wait"

local ngx, ipairs = ngx, ipairs

---@class zklock
local _M = { _NAME = "zklock", _VERSION = "1.0.0" }


--- Opens a session with a ZooKeeper ensemble and waits until it is usable.
---@param hosts string "host:port,host:port/chroot", or "memory:name/chroot" in a test
---@param opts? table see docs/reference
---@return zklock.Session? session
---@return string? message
---@return string? code "connection", "auth", "no_node" or "unsupported"
function _M.connect(hosts, opts)
    return Session.connect(hosts_of.split(hosts), options.connect(opts))
end


--- From now on each of these signals first closes all sessions of the process, within a second,
-- and has its usual effect then.
---@param ... "TERM"|"INT"|"HUP"|"QUIT"|"USR1"|"USR2"
---@return true?
---@return string? message
---@return string? code "unsupported": in nginx; "too_many": no thread or descriptor is free
function _M.close_on_signal(...)
    local numbers = options.signals(...)
    if ngx then
        return failure("unsupported", "zklock.close_on_signal", "nginx has signals of its own: " ..
                       "a worker that ends closes its sessions by itself")
    end
    for _, number in ipairs(numbers) do
        local reason = core.close_on_signal(number)
        if reason then return failure("too_many", "zklock.close_on_signal", reason) end
    end
    return true
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
_M.driver = drivers.use


--- Runs a program of the user's under many schedules, in virtual time.
function _M.simulate(...)
    return require "zklock.world.simulate"(...)
end


--- A world of virtual time, to go on with by hand.
function _M.world(...)
    return require "zklock.world".world(...)
end


return _M
