--- A relay forwards an address of 127.0.0.1 to a TCP server, then perhaps to another or to none. It
-- stands for an address that moves to a new master, and can cut off a replica.

local dependency = require "zklock.system.dependency"
local interpreter = require "zklock.system.interpreter"
local process = require "zklock.system.process"


local ANSWER = 10 -- seconds


local PROGRAM = debug.getinfo(1, "S").source:match "^@(.*)relay%.lua$" .. "relay_process.lua"


---@class zklock.throwaway.Relay
---@field address string  "127.0.0.1:PORT"
---@field process zklock.system.Process
---@field control table   a socket
local Relay = {}
Relay.__index = Relay


local relay = {}


---@param reaper zklock.system.Reaper
---@param address string  "HOST:PORT"
---@return zklock.throwaway.Relay
function relay.start(reaper, address)
    local running = process.start("relay", interpreter.words(nil, PROGRAM), nil, reaper)
    local port, control_port = running:expect "ready":match "^(%d+) (%d+)$"
    local control = assert(dependency.load "socket".connect("127.0.0.1", control_port))
    control:settimeout(ANSWER)
    local self = setmetatable({
        address = "127.0.0.1:" .. port, process = running, control = control,
    }, Relay)
    self:lead_to(address)
    return self
end


local function command(self, line)
    assert(self.control:send(line .. "\n"))
    assert(assert(self.control:receive "*l") == "done")
end


--- Leads to this server from now on. Present connections end.
---@param address string  "HOST:PORT"
function Relay:lead_to(address) command(self, "lead " .. address) end


function Relay:cut() command(self, "cut") end


function Relay:close()
    self.process:kill()
    self.control:close()
end


return relay
