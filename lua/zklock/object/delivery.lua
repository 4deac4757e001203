--- Delivers the events of a session's inbox to requests, leases, watchers and callbacks.

local Watcher = require "zklock.object.watcher"
local metrics = require "zklock.object.metrics"
local sessions = require "zklock.waiting.sessions"
local sorted_names = require "zklock.value.sorted_names"
local wait = require "zklock.waiting.wait"

local error, ipairs, pairs, pcall = error, ipairs, pairs, pcall
local sort = table.sort

-- The most states and events that queue up while the user's function is called.
local STATES, EVENTS = 16, 1000


local deliver = {}

function deliver.request(self, id)
    local request = self.requests[id]
    if not request then return end
    if request.told then self.requests[id] = nil end -- its callback raised, and is called once more
    request.told = true
    if request.callback then request.callback(request) end
    if self.requests[id] == request then self.requests[id] = nil end
end

function deliver.queued(self, id, position)
    local request = self.requests[id]
    if request and request.on_queued then self:call(request, request.on_queued, position) end
end

-- Copies the lists, because a callback may change them.
local function tell_leases(lists)
    local leases = {}
    for _, list in pairs(lists) do
        for _, lease in pairs(list) do leases[#leases + 1] = lease end
    end
    sort(leases, function(a, b) return a.number < b.number end)
    for _, lease in ipairs(leases) do lease:tell() end
end

function deliver.lease(self, id)
    tell_leases{ self.leases[id] }
end

-- watcher:tell() looks for the news when it runs, perhaps later.
function deliver.watcher(self, id)
    local watcher = self.watchers[id]
    if watcher then wait.call(self, watcher, watcher.tell, watcher) end
end

deliver.member, deliver.roster = deliver.watcher, deliver.watcher

function deliver.state(self, state)
    self.told_state = state
    if self.on_state then self.state_caller:tell_next(self, self.on_state, STATES, state) end
end


---@alias zklock.EventKind
---| "queued"
---| "granted"
---| "suspect"
---| "held"         again, after "suspect"
---| "lost"
---| "released"
---| "revoked"
---| "expired"      of the session
---| "reconnected"  of the session
---| "no_containers" of the session
---| "mixed_tokens" of the path

---@class zklock.Event
---@field event zklock.EventKind
---@field time number seconds since 1970
---@field path? string
---@field owner? string
---@field token? integer
---@field position? integer of "queued"
---@field waited? number seconds, of "granted"
---@field held? number seconds, of "lost" and "released"

-- A `step` is C's name for an event for on_event. It comes only to sessions with on_event, or in a
-- world that keeps a story.
function deliver.step(self, event)
    self.runtime:note_event(event)
    if not self.on_event then return end
    if self.event_caller:tell_next(self, self.on_event, EVENTS, event) then return end
    self.untold_events = self.untold_events + 1
    metrics.count_untold_event()
end


-- Looks at all objects, because an error may have lost an event after it left the inbox.
local function deliver_again(self)
    for _, id in ipairs(sorted_names(self.requests)) do
        local request = self.requests[id]
        if request and request:done() then deliver.request(self, id) end
    end
    tell_leases(self.leases)
    for _, watcher in ipairs(Watcher.all(self)) do deliver.watcher(self, watcher.id) end
    local state = self.handle:state()
    if state ~= self.told_state then deliver.state(self, state) end
end


-- Delivers the events that zklock.object.token_uses made, which are not in the inbox.
local function deliver_mixed_token_events(self)
    local events = self.mixed_token_events
    self.mixed_token_events = nil
    for _, event in ipairs(events) do deliver.step(self, event) end
end


local function deliver_each(self)
    local count, handle = 0, self.handle
    if self.cut_short then
        self.cut_short = false
        deliver_again(self)
    end
    if self.mixed_token_events then deliver_mixed_token_events(self) end
    while true do
        local kind, subject, more, position = handle:next()
        if not kind then return count end
        count = count + 1
        deliver[kind](self, subject, position)
        if not more then return count end
    end
end


-- Runs in the thread that opened the session.
local function deliver_all(self)
    local ok, result = pcall(deliver_each, self)
    if ok then return result end
    sessions.mark_unfinished(self)
    self.cut_short = true -- by an interrupt, or an error of request:on_done()'s function
    error(result, 0)
end

sessions.set_deliver(deliver_all)


return deliver_all
