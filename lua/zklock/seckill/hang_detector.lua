--- The hang detector of a server. It gives up a buyer whose call to the strategy or the store takes
--- too long. The buyer is told "hung", and a note names the call. The server ends when only hung
--- buyers are left.
---
--- The detector also adds a byte (a beat) to a file at regular intervals. From these beats the
--- parent process (zklock.seckill.play) notices a server in an endless loop.

local barrier = require "zklock.seckill.barrier"
local core = require "zklock.core"
local zklock = require "zklock"

local max, min = math.max, math.min
local unpack = table.unpack or unpack -- luacheck: std max


-- Seconds beyond the buyer's timeout or the session timeout, if that is longer.
local GRACE = 5    -- for a call
local BLOCKED = 10 -- for a server without beats

local TICK = 0.05 -- seconds between checks of calls
local BEAT = 0.25 -- seconds between beats


---@class zklock.seckill.HangDetector
---@field server zklock.seckill.Server
---@field awake_seconds number  since the start, without stops and blocking calls
---@field calls table       by buyer: { what =, limit =, due = }
---@field given_up table    set of buyers
---@field hung_count integer  number of buyers given up
local HangDetector = {}
HangDetector.__index = HangDetector


local hang_detector = {}


local ONLY_HUNG_LEFT = setmetatable({}, { __tostring = function() return "the others hang" end })


local function beats_path(folder, number) return ("%s/beats-%d"):format(folder, number) end


function hang_detector.new(server)
    return setmetatable({
        server = server, awake_seconds = 0, calls = {}, given_up = {}, hung_count = 0,
    }, HangDetector)
end


---@param buyer zklock.seckill.Buyer
---@param what string      the call's name for the note
---@param seconds number?  longest wait in the call; the sale's timeout by default
function HangDetector:begin_call(buyer, what, seconds)
    local plan = self.server.plan
    local limit = max(seconds or plan.timeout, plan.session) + GRACE
    self.calls[buyer] = { what = what, limit = limit, due = self.awake_seconds + limit }
end


---@param buyer zklock.seckill.Buyer
---@return any ...  the arguments, unchanged
function HangDetector:end_call(buyer, ...)
    self.calls[buyer] = nil
    return ...
end


function HangDetector:note_served(buyer)
    self.calls[buyer] = nil
    if self.given_up[buyer] then self.hung_count = self.hung_count - 1 end
    self.given_up[buyer] = nil
end


local function give_up(self, buyer, call)
    self.calls[buyer], self.given_up[buyer] = nil, true
    self.hung_count = self.hung_count + 1
    buyer:note(("error: %s has not come back after %g s"):format(call.what, call.limit))
    buyer:tell "hung"
end


local function give_up_late_calls(self)
    local late = {}
    for buyer, call in pairs(self.calls) do
        if self.awake_seconds > call.due then late[buyer] = call end
    end
    for buyer, call in pairs(late) do give_up(self, buyer, call) end
end


-- Adds beats and checks calls, in a task beside the buyers. Raises ONLY_HUNG_LEFT.
local function watch(self, count)
    local server, last, next_beat = self.server, core.now(), 0
    while server.served < count do
        if self.awake_seconds >= next_beat then
            barrier.come(beats_path(server.folder, server.number))
            next_beat = self.awake_seconds + BEAT
        end
        zklock.sleep(TICK)
        local now = core.now()
        self.awake_seconds, last = self.awake_seconds + min(now - last, 2 * TICK), now
        give_up_late_calls(self)
        if self.hung_count > 0 and server.served + self.hung_count >= count then
            error(ONLY_HUNG_LEFT, 0)
        end
    end
end


--- Runs the functions, which serve `count` buyers, until they end or only hung buyers are left.
function HangDetector:carry_out(count, functions)
    local ok, problem = pcall(zklock.run, function() watch(self, count) end, unpack(functions))
    if not ok and problem ~= ONLY_HUNG_LEFT then error(problem, 0) end
end


-- in the parent process -------------------------------------------------------------------------

---@class zklock.seckill.Pulse
---@field path string
---@field beats integer      at the last check
---@field quiet_seconds number  since the last beat
---@field last_check number  time of the last check
---@field limit number       longest quiet time in seconds
local Pulse = {}
Pulse.__index = Pulse


function hang_detector.pulse(plan, folder, number)
    return setmetatable({
        path = beats_path(folder, number), beats = 0, quiet_seconds = 0, last_check = core.now(),
        limit = max(plan.timeout, plan.session) + BLOCKED,
    }, Pulse)
end


--- Reads the beats. Returns the seconds since the last beat if they exceed the limit. A server that
--- does not serve yet has no beats, and is never too quiet.
---@param stopped boolean?  a fault has stopped the server
---@return number? seconds
function Pulse:quiet_too_long(stopped)
    local now = core.now()
    local passed = min(now - self.last_check, BEAT)
    if passed < BEAT then return nil end
    local beats = barrier.count_arrivals(self.path)
    self.last_check = now
    local is_alive = stopped or beats == 0 or beats > self.beats
    self.quiet_seconds = is_alive and 0 or self.quiet_seconds + passed
    self.beats = beats
    return self.quiet_seconds > self.limit and self.quiet_seconds or nil
end


return hang_detector
