--- The process of a relay (zklock.throwaway.relay). It says "ready PORT CONTROL-PORT", takes
-- clients at the first port and commands at the second, and ends with the command connection. Its
-- sends block. While a receiver takes its bytes, which are few, all else waits.

local dependency = require "zklock.system.dependency"

local socket = dependency.load "socket"


local CHUNK = 8192


---@class zklock.throwaway.RelayProcess
---@field door table       where clients come
---@field control table    where commands come
---@field host string?     where it leads; nil: nowhere
---@field port string?
---@field peers table      each connection's other side
local Relay = {}
Relay.__index = Relay


local function forget(self, side)
    self.peers[side] = nil
    side:close()
end


local function part(self, side)
    forget(self, self.peers[side])
    forget(self, side)
end


local function part_all(self)
    while next(self.peers) do part(self, (next(self.peers))) end
end


local function join(self)
    local client = assert(self.door:accept())
    local server = self.host and socket.connect(self.host, self.port)
    if not server then
        client:close()
        return
    end
    for _, side in ipairs{ client, server } do side:setoption("tcp-nodelay", true) end
    self.peers[client], self.peers[server] = server, client
end


local function pass(self, from)
    from:settimeout(0)
    local bytes, problem, rest = from:receive(CHUNK)
    bytes = bytes or rest
    local to = self.peers[from]
    to:settimeout(nil)
    if bytes ~= "" and not to:send(bytes) or problem == "closed" then part(self, from) end
end


local commands = {}

function commands.cut(self)
    self.host, self.port = nil, nil
    part_all(self)
end

function commands.lead(self, address)
    commands.cut(self)
    self.host, self.port = address:match "^(.*):(%d+)$"
end


-- False if the connection for commands has ended.
local function obey(self)
    local line = self.control:receive "*l"
    if not line then return false end
    local verb, about = line:match "^(%l+) ?(.*)$"
    commands[verb](self, about)
    self.control:send "done\n"
    return true
end


local function serve(self)
    while true do
        local sources = { self.control, self.door }
        for side in pairs(self.peers) do sources[#sources + 1] = side end
        local ready = socket.select(sources)
        if ready[self.control] and not obey(self) then return end
        if ready[self.door] then join(self) end
        for _, side in ipairs(ready) do
            if self.peers[side] then pass(self, side) end
        end
    end
end


local function port_of(listener)
    local _, port = listener:getsockname()
    return port
end


local door, controls = assert(socket.bind("127.0.0.1", 0)), assert(socket.bind("127.0.0.1", 0))
io.stdout:setvbuf "line"
print(("ready %d %d"):format(port_of(door), port_of(controls)))
serve(setmetatable({ door = door, control = assert(controls:accept()), peers = {} }, Relay))
