--- Callbacks in nginx, each in a light thread of its own in a timer. nginx drops a timer when it
-- runs lua_max_running_timers, and refuses one when lua_max_pending_timers wait. So a call stays
-- here until its light thread begins. The dispatcher begins overdue calls in its own timer.

local core = require "zklock.core"
local keys_of = require "zklock.value.keys"

local ipairs, setmetatable = ipairs, setmetatable
local remove, select, unpack = table.remove, select, unpack
local now = core.now
local spawn, timer_at = ngx.thread.spawn, ngx.timer.at

local LATE = 0.3 -- seconds; a timer that has not begun by then was dropped
local CHAIN = 100 -- calls of one key that may follow one another in one timer

---@class zklock.NgxCall
---@field key table|false calls of one key run one after the other, unless it `overtakes`
---@field fn function

---@class zklock.NgxCalls
---@field unsent zklock.NgxCall[] in order
---@field latest table<any, zklock.NgxCall> key -> its call that has not begun
---@field running table<any, table> key -> a token on the stack of the running call; weak, so that
-- the token of a killed light thread is collected
---@field asked_at? number when a timer was asked for
---@field unbegun_since? number when a timer was first asked for since begin()
---@field starts table<table, true> functions that wait for timers of their own
local Calls = {}
Calls.__index = Calls


function Calls:is_busy(key)
    return key and self.running[key] ~= nil
end


local function fill(call, fn, ...)
    call.fn, call.n = fn, select("#", ...)
    for i = 1, call.n do call[i] = (select(i, ...)) end
    return call
end


--- Adds a call of fn(...), or replaces the call of that key that has not begun.
function Calls:add(key, fn, ...)
    local call = key and self.latest[key]
    if call then return fill(call, fn, ...) end
    call = fill({ key = key }, fn, ...)
    if key then self.latest[key] = call end
    self.unsent[#self.unsent + 1] = call
    self:ask_for_timer()
end


local function carry_out(self, call)
    local key, token = call.key, {}
    local in_turn = key and not key.overtakes
    if in_turn then self.running[key] = token end
    call.fn(unpack(call, 1, call.n))
    if in_turn then self.running[key] = nil end
    return token
end


-- The light thread of a call, the `place`-th of a chain. The next call of its key may have waited
-- for its end.
local function run(self, call, place)
    carry_out(self, call)
    if not (call.key and self.latest[call.key]) then return end
    if place < CHAIN then self:begin(place + 1) else self:ask_for_timer() end
end


--- Begins all calls that can begin. Each leaves `unsent` only as it begins, because a call may end
-- the timer. nginx keeps some memory of each light thread until its timer ends.
---@param place? integer of the calls in their chains, default: 1
function Calls:begin(place)
    self.asked_at, self.unbegun_since = nil, nil
    local at, unsent = 1, self.unsent
    while unsent[at] do
        local call = unsent[at]
        if self:is_busy(call.key) then
            at = at + 1
        else
            remove(unsent, at)
            if call.key then self.latest[call.key] = nil end
            spawn(run, self, call, place or 1)
        end
    end
end


local function on_timer(_, self)
    self:begin()
end


local function on_start(_, self, start)
    if not self.starts[start] then return end
    self.starts[start] = nil
    start.fn()
end


--- Calls fn() in a timer of its own, or on_dropped() if nginx drops that. False if nginx refuses a
-- timer.
function Calls:start(fn, on_dropped)
    local start = { fn = fn, on_dropped = on_dropped, late_at = now() + LATE }
    self.starts[start] = true
    local pends = timer_at(0, on_start, self, start)
    if not pends then self.starts[start] = nil end
    return pends ~= nil
end


function Calls:drop_late()
    for _, start in ipairs(keys_of(self.starts)) do
        if self.starts[start] and now() > start.late_at then
            self.starts[start] = nil
            start.on_dropped()
        end
    end
end


function Calls:ask_for_timer()
    self.unbegun_since = self.unbegun_since or now()
    if self.asked_at and now() < self.asked_at + LATE then return end
    self.asked_at = timer_at(0, on_timer, self) and now()
end


--- True if a call can begin whose timer was dropped.
---@return boolean
function Calls:any_overdue()
    if self.unbegun_since and now() < self.unbegun_since + LATE then return false end
    for _, call in ipairs(self.unsent) do
        if not self:is_busy(call.key) then return true end
    end
    return false
end


---@return integer
function Calls:count()
    return #self.unsent
end


return function()
    return setmetatable({
        unsent = {},
        starts = {},
        latest = {},
        running = setmetatable({}, { __mode = "v" }),
    }, Calls)
end
