--- A player of a fault's scene, the holder or a waiter. It obeys commands, one a line, and answers
-- "ok …" or "error: …":
--
--   take LIMIT      tries to acquire the lock until that time, if necessary with new connections;
--                   answers with the time of the grant, or with "never"
--   keep UNTIL      stays in the critical section until that time, or until it knows that the lock
--                   is lost; then it releases. Answers with the time at which it was out
--   release         releases the lock, if it holds it
--   quit
--
--   player.lua ENGINE LOCK NAME=VALUE …
--
-- It greets with its process id. Times are seconds of CLOCK_BOOTTIME.

local core = require "zklock.core"
local engine = require "zklock.engine"
local obey = require "bench.obey"
local rig = require "spec.rig"
local zklock = require "zklock"

local now = core.now

local LOOK = 0.005 -- seconds between looks at the lease
local AGAIN = 0.02 -- seconds until the next connection

local client, lock, lease


local function options_of(first)
    local options = {}
    for i = first, #arg do
        local key, value = arg[i]:match("^([%w_]+)=(.*)$")
        options[key] = tonumber(value) or value
    end
    return options
end

local OPTIONS = options_of(3)


-- Without an answer of the server, `lock` is nil.
local function open()
    if client then pcall(client.close, client) end
    client = engine.open(arg[1], OPTIONS)
    lock = client and client:mutex(arg[2])
end


local commands = {}


function commands.take(limit)
    limit = tonumber(limit)
    repeat
        lease = lock and lock:acquire(math.max(limit - now(), 0))
        if lease then return ("%.6f"):format(now()) end
        zklock.sleep(AGAIN)
        open()
    until now() >= limit
    return "never"
end


function commands.keep(limit)
    limit = tonumber(limit)
    while lease:state() ~= "lost" and now() < limit do zklock.sleep(LOOK) end
    local out = ("%.6f"):format(now())
    lease:release()
    return out
end


function commands.release()
    if lease then lease:release() end
end


zklock.run(function()
    math.randomseed(rig.pid)
    open()
    obey(commands, rig.pid)
    if client then pcall(client.close, client) end
    print "ok"
end)
