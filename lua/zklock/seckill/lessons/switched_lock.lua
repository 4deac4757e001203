--- A lock in one of two engines, A and B, each of which is right, and a switch from A to B. Each
--- server hears of the switch at a moment of its own. With `safe` the server then needs the locks
--- of both, until all servers have heard and nobody holds a lock of A alone any more.

local now = require("zklock.waiting.runtime").now -- seconds, of the sale's own clock
local zklock = require "zklock"

local A, B, BOTH = { "A" }, { "B" }, { "A", "B" }

local holds -- by engine and by the lock's name


local SwitchedLock = { simulated = true }
SwitchedLock.__index = SwitchedLock


function SwitchedLock.prepare() holds = { A = {}, B = {} } end


function SwitchedLock.open(server)
    local given, last = server.parameters, 0
    for _, hears_at in ipairs(given.hears) do last = math.max(last, hears_at) end
    return setmetatable({
        hears_at = given.hears[server.number], all_hear_at = last,
        safe = given.safe, timeout = server.timeout,
    }, SwitchedLock)
end


-- True if somebody holds a lock of A alone, or may still ask for one.
local function is_alone_in_use(self)
    if now() < self.all_hear_at then return true end
    for _, hold in pairs(holds.A) do
        if hold.engines == A then return true end
    end
    return false
end


-- The engines whose locks this server needs now.
local function engines_of(self)
    if now() < self.hears_at then return A end
    return self.safe and is_alone_in_use(self) and BOTH or B
end


local function is_free(name, engines)
    for _, engine in ipairs(engines) do
        if holds[engine][name] then return false end
    end
    return true
end


function SwitchedLock:enter(name, buyer, wish)
    local due = now() + (wish and wish.timeout or self.timeout)
    while not is_free(name, engines_of(self)) do
        if now() > due then return nil, "waited too long", "timeout" end
        zklock.sleep(0.01)
    end
    local hold = { name = name, engines = engines_of(self) }
    for _, engine in ipairs(hold.engines) do holds[engine][name] = hold end
    buyer:note("engines " .. table.concat(hold.engines, " "))
    return hold
end


function SwitchedLock.leave(_, hold)
    for _, engine in ipairs(hold.engines) do holds[engine][hold.name] = nil end
end


return SwitchedLock
