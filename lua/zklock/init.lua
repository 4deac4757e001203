--- The module zklock, distributed locks on ZooKeeper. docs/reference describes the API.

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
---@field public _NAME string
---@field public _VERSION string by semver
local _M = { _NAME = "zklock", _VERSION = "1.0.0" }


--- Opens a session with a ZooKeeper ensemble and waits until it is usable.
---@param hosts string "host:port,host:port/chroot", or "memory:name/chroot" in a test
---@param opts? zklock.ConnectOptions
---@return zklock.Session? session
---@return string? message
---@return zklock.Code? code "connection", "auth", "no_node" or "unsupported"
function _M.connect(hosts, opts)
    return Session.connect(hosts_of.split(hosts), options.connect(opts))
end


--- Makes each of these signals close all sessions of the process, within a second, before its usual
-- effect.
---@param ... "TERM"|"INT"|"HUP"|"QUIT"|"USR1"|"USR2"
---@return true? ok
---@return string? message
---@return zklock.Code? code "unsupported": in nginx; "too_many": no thread or descriptor is free
function _M.close_on_signal(...)
    local numbers = options.signals(...)
    if ngx then
        return failure("unsupported", "zklock.close_on_signal", "nginx has signals of its own; " ..
                       "a worker that ends closes its sessions by itself")
    end
    for _, number in ipairs(numbers) do
        local reason = core.close_on_signal(number)
        if reason then
            return failure("too_many", "zklock.close_on_signal", reason,
                           "no thread or descriptor is free")
        end
    end
    return true
end


--- The server in memory of that name, for tests. zklock.connect("memory:name") opens a session.
---@param name string
---@return zklock.Memory
_M.memory = memory

--- The counters of all sessions of the process, in Prometheus' text format.
---@param labels? table<string, string|number> in each sample
---@return string
_M.metrics = metrics.text

--- Runs each function as a coroutine, until all have ended. If any argument after fn is not a
-- function, all of them are arguments of fn. An error in one ends all, and is raised here
-- unchanged.
---@param fn fun(...): ...
---@param ... any
---@return any ... fn's results
_M.run = wait.run

--- Sleeps; callbacks are called meanwhile, and in zklock.run other coroutines go on.
---@param seconds number
---@return true? ok
---@return string? message
---@return zklock.Code? code "interrupted": the nginx worker is told to exit; "context"
_M.sleep = wait.sleep

--- Chooses how this process waits. With nil zklock chooses.
---@param driver? "block"|"ngx"|"cqueues"|"luv"|"copas"|zklock.Driver
---@return true? ok
---@return string? message
---@return zklock.Code? code "unsupported", "context"
_M.driver = drivers.use


--- Runs a program under many schedules, in virtual time (docs/testing-your-code.md).
---@param fn fun(world: zklock.World) called anew for each schedule
---@param opts? zklock.SimulateOptions
---@return zklock.Simulation? result
---@return string? message
---@return zklock.Code? code "context", "unsupported"
function _M.simulate(fn, opts)
    return require "zklock.world.simulate"(fn, opts)
end


--- A world of virtual time, which the caller moves on by hand.
---@param fn fun(world: zklock.World)
---@param opts? zklock.WorldOptions
---@return zklock.World? world
---@return string? message
---@return zklock.Code? code "context", "unsupported"
function _M.world(fn, opts)
    return require "zklock.world".world(fn, opts)
end


return _M
