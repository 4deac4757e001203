--- Makes a model of a history, with claims, nodes, faults, and the times in which each process did
-- not run. The rules of the checker read the model, not the events.
--
-- claims   in the order in which they were invoked; each has
--   id path kind process place (where its process ran) inside (re-entry: the outer claim)
--   invoked, queued, granted, failed, held_until, noticed, over   moments
--   token (number), state (right after the grant), code
--   second         it is a second handle on the grant of the outer claim
--   batch, count   in turns, the grants of a batch, and the number of earlier grants of its turn
--   keep, count    of a kept lock, how long its node may stay, and the number of earlier grants
--   trying         it is a try
--   is_shared      it reads, or wants permits
--   reads    of a reader, { at, element, certain (it held then) }
--   downgrading, downgraded (moments), answer   of a writer that went on to read only
--     reads_only   since when it acts as a reader; a reader always (0), others never (huge)
--     alone_until  until then it excluded everybody
--     held_until  last moment at which the lease was certain; nil if it never was
--     noticed     first notice after held_until that the lease is not certain
--     over        when the claim no longer used the lock, because it released, noticed, failed, was
--                 closed with its session or killed
--   after    the claim whose hold it ended to wait in a condition
--   nodes    its nodes on the server, oldest first; `node` is the node of its grant, which in turns
--            another claim may have made
-- nodes    { path, name, kind, claim, session, zxid, created, deleted, cause, by (session),
--          turn (when no node ahead excluded it any more, nor, in a multi-lock, any other part) };
--          also in made[czxid][path], because one transaction makes several. A writer's node that
--          became a reader's is still the same, with another name and kind; it has shared (when)
--          and was (its name before). `marked` is when its data said that it is held
-- writes   { claim, at, element, accepted }
-- faults   { name, scope, path, session, from, to }
-- permits, limit   of a claim or node of a semaphore
-- sessions[id]   its process
--
-- Intervals:
--   lost_writes[path]   when changes of its nodes that the servers lost (truth.pl) may still be
--   seen;
--                       after a lost delete, until the node is deleted
--   any_trouble         of all places
--   faulty[place]       as trouble, but only while a fault lasts
--   harm[place]         in which a session may expire; no changed address
--   stops[process], trouble[place], meddling[path], expiring[session]

local intervals = require "spec.torture.intervals"

local huge, max, min = math.huge, math.max, math.min

local GRANTS = 1024 -- a token in turns counts up to this many grants of its node
local LOST = 3 -- session timeouts until all sessions know which writes the servers lost
local ROUNDED = 0.001 -- seconds: ZooKeeper rounds its times down to that

-- Seconds between the clocks of servers and clients. Both are this machine's, but the servers'
-- times are in milliseconds.
local SKEW = 0.005

local model = { SKEW = SKEW }

local Model = {}
Model.__index = Model


local function place_of(process)
    return process:match("^[^.]+")
end


local KINDS = { __READ__ = "read", __rlock__ = "read", __WRIT__ = "write", __lock__ = "write" }

local CONDITION = "%-condition%-" -- in the path of a folder without contenders

local PERMIT = "permit%-(%d+)%-of%-(%d+)%-%-?%d+$"

local function kind_of(name)
    if name:find(PERMIT) then return "permit" end
    return KINDS[name:match("(__%a+__)%-?%d+$")] or "mutex"
end


-- --- the events -----------------------------------------------------------------------

function model.put(lists, key, value)
    lists[key] = lists[key] or {}
    table.insert(lists[key], value)
end

local put = model.put


local take = {
    -- events of clients
    invoked = function(self, event)
        local claim = {
            id = event.claim, path = event.path, kind = event.kind, trying = event.way == "try",
            process = event.process, place = event.place, invoked = event.at,
            permits = tonumber(event.permits), batch = tonumber(event.batch),
            keep = tonumber(event.keep), inside = event.inside, after = event.after,
            is_shared = event.kind == "read" or event.kind == "permit",
            notices = {}, reads = {}, nodes = {},
        }
        table.insert(self.claims, claim)
        self.claim[claim.id] = claim
        if claim.after then self.claim[claim.after].next_hold = claim end
    end,
    queued = function(_, event, claim) claim.queued = claim.queued or event.at end,
    granted = function(_, event, claim)
        claim.granted, claim.token, claim.state = event.at, tonumber(event.token), event.state
    end,
    failed = function(_, event, claim) claim.failed, claim.code = event.at, event.code end,
    wrote = function(self, event, claim)
        table.insert(self.writes, { claim = claim, at = event.at, element = event.element,
                                    accepted = event.accepted == "true" })
    end,
    read = function(_, event, claim)
        local certain = (tonumber(event.held) or -huge) >= event.at
        table.insert(claim.reads, { at = event.at, element = event.element, certain = certain })
    end,
    downgrading = function(_, event, claim) claim.downgrading = event.at end,
    downgraded = function(_, event, claim)
        claim.downgraded, claim.answer = event.at, event.result
    end,
    released = function(_, event, claim) claim.released = tonumber(event.begun) end,
    connected = function(self, event)
        self.sessions[event.session] = event.process
        self.timeout = max(self.timeout or 0, tonumber(event.timeout))
        event.state = "connected"
    end,
    stalled = function(self, event)
        table.insert(self.stalls, { process = event.process, name = "stall", to = event.at,
                                    from = event.at - tonumber(event.seconds) })
    end,
    closing = function(self, event) put(self.closings, event.process, event.at) end,
    ended = function(self, event) self.ended[event.process] = event.at end,
    -- events of the nemesis and the store
    fault = function(self, event)
        local fault = { name = event.name, scope = event.scope, path = event.path,
                        session = event.session, from = event.at, to = huge }
        table.insert(self.faults, fault)
        self.fault[event.id] = fault
        if fault.name == "kill" then self.killed[event.victim] = event.at end
    end,
    healed = function(self, event) self.fault[event.id].to = event.at end,
    residue = function(self, event) self.residue = event end,
    stored = function(self, event)
        put(self.journal, event.path,
            { element = event.element, read = event.read, token = tonumber(event.token) })
    end,
}

-- Lists of events that later steps read.
local LISTS = {
    connected = "states", state = "states", error = "errors", lost = "lost",
    created = "node_events", deleted = "node_events", became = "node_events",
    marked = "node_events",
}


local function take_event(self, event)
    local claim, held, list = self.claim[event.claim], tonumber(event.held), LISTS[event.event]
    event.place = place_of(event.process)
    if event.place:find("^c%d") then
        self.last[event.process], self.places[event.place] = event.at, true
    end
    if event.begun and event.limit then table.insert(self.calls, event) end
    if claim and held then claim.held_until = max(claim.held_until or held, held) end
    local noticed = event.event == "granted" or event.event == "noticed"
    if noticed and event.state ~= "held" then table.insert(claim.notices, event.at) end
    if take[event.event] then take[event.event](self, event, claim) end
    if list then table.insert(self[list], event) end
end


-- --- conclusions from them ------------------------------------------------------------

local happen = {} -- to the nodes; `living` are the path's, by name


-- The data names the first claim; after a wait in a condition a new claim made the node again.
local function claim_of(self, event)
    local claim = self.claim[event.claim]
    while claim and claim.next_hold and claim.next_hold.invoked <= event.at + ROUNDED do
        claim = claim.next_hold
    end
    return claim
end


function happen.created(self, event, line, living)
    local permits, limit = event.name:match(PERMIT)
    local node = { path = event.path, name = event.name, kind = kind_of(event.name),
                   session = event.session, zxid = tonumber(event.zxid), created = event.at,
                   claim = claim_of(self, event), permits = tonumber(permits),
                   limit = tonumber(limit) }
    self.made[node.zxid] = self.made[node.zxid] or {}
    self.made[node.zxid][node.path] = node
    living[node.name] = node
    table.insert(self.nodes, node)
    table.insert(line, node)
    if node.claim then table.insert(node.claim.nodes, node) end
end


-- A session whose unfair lock's node a stranger deleted may delete the next node, which has the
-- same name, before it learns of the theft. Each theft excuses one such delete.
local function note_robbed(self, node)
    if node.name ~= "lock" or node.cause ~= "delete" or node.by == node.session then return end
    local robbed = self.robbed[node.path] or {}
    self.robbed[node.path] = robbed
    node.misled = (robbed[node.by] or 0) > 0
    if node.misled then robbed[node.by] = robbed[node.by] - 1 end
    robbed[node.session] = (robbed[node.session] or 0) + 1
end


function happen.deleted(self, event, _, living)
    local node = living[event.name]
    node.deleted, node.cause, node.by = event.at, event.cause, event.session
    note_robbed(self, node)
end


function happen.marked(_, event, _, living)
    local node = living[event.name]
    node.marked = node.marked or event.at
end


function happen.became(_, event, _, living)
    local node = living[event.was]
    living[event.was], living[event.name] = nil, node
    node.name, node.kind = event.name, kind_of(event.name)
    node.shared, node.was = event.at, event.was
end


-- Gives the turn to the readers ahead of the first writer or mutex, and to the latter when nobody
-- lives ahead of it. Neither index ever goes back, because no reader becomes a writer.
local function take_turns(line, at)
    while line[line.head] and line[line.head].deleted do line.head = line.head + 1 end
    local node = line[line.barred]
    while node and (node.deleted or node.kind == "read") do
        if not node.deleted then node.turn = node.turn or at end
        line.barred = line.barred + 1
        node = line[line.barred]
    end
    if node and line.barred == line.head then node.turn = node.turn or at end
end


-- Gives the turn to nodes of a semaphore whose permits, with those of all ahead, are free.
local function take_permits(line, at)
    local taken = 0
    while line[line.head] and line[line.head].deleted do line.head = line.head + 1 end
    for i = line.head, #line do
        local node = line[i]
        if not node.deleted then
            taken = taken + (node.permits or huge)
            if taken <= (node.limit or 0) then node.turn = node.turn or at end
        end
    end
end


-- A multi-lock's turn begins with the last of its parts' turns.
local function join_turns(self)
    for _, made in pairs(self.made) do
        local turn = 0
        for _, node in pairs(made) do turn = max(turn, node.turn or huge) end
        for _, node in pairs(made) do node.turn = turn < huge and turn or nil end
    end
end


--- Finds whose turn it is on each path, and since when, in ZooKeeper's order.
local function stand_in_line(self)
    table.sort(self.node_events, function(a, b)
        local x, y = tonumber(a.zxid), tonumber(b.zxid)
        if x ~= y then return x < y end
        return a.order < b.order
    end)
    local lines, living = {}, {}
    for _, event in ipairs(self.node_events) do
        local path = event.path
        lines[path] = lines[path] or { head = 1, barred = 1 }
        living[path] = living[path] or {}
        happen[event.event](self, event, lines[path], living[path])
        local take_turn = kind_of(event.name) == "permit" and take_permits or take_turns
        if not path:find(CONDITION) then take_turn(lines[path], event.at) end
    end
    join_turns(self)
end


local function first_behind(moments, moment)
    for _, each in ipairs(moments or {}) do
        if each >= moment then return each end
    end
end


local function find_node(self, claim)
    if not claim.token then return end
    local czxid = claim.token
    if claim.batch or claim.keep then
        czxid, claim.count = math.floor(claim.token / GRANTS), claim.token % GRANTS
    end
    local made = self.made[czxid] or {}
    claim.node = made[claim.path] or select(2, next(made))
end


--- Finds until when a claim used the lock.
local function end_claim(self, claim)
    local certain = claim.held_until or claim.granted
    if certain then claim.noticed = first_behind(claim.notices, certain) end
    find_node(self, claim)
    local killed = self.killed[claim.process]
    if killed then killed = max(killed, self.last[claim.process]) end
    local closed = first_behind(self.closings[claim.process], claim.granted or claim.invoked)
    claim.given_up = min(claim.failed or huge, claim.released or huge, closed or huge,
                         killed or huge)
    claim.over = min(claim.given_up, claim.noticed or huge)
    local outer = claim.inside and self.claim[claim.inside]
    claim.second = outer ~= nil and claim.granted ~= nil and claim.token == outer.token
    -- A writer that asked to be a reader acts as a reader, unless it was refused.
    local reads = claim.answer ~= "unsupported" and claim.downgrading
    claim.reads_only = claim.kind == "read" and 0 or reads or huge
    claim.alone_until = min(claim.over, claim.reads_only)
end


-- Adds a fault, or something like it, which may last for some seconds more.
local function add(lists, key, fault, more)
    put(lists, key, { from = fault.from, to = fault.to + (more or 0), what = fault.name })
end


local function finish(lists)
    local result, none = {}, intervals.new{}
    for key, list in pairs(lists) do result[key] = intervals.new(list) end
    return setmetatable(result, { __index = function() return none end })
end


--- Finds when a process did not run, because of a stop or by its own clock.
local function find_stops(self)
    local lists = {}
    for _, stall in ipairs(self.stalls) do add(lists, stall.process, stall) end
    for _, fault in ipairs(self.faults) do
        local stops = fault.name:find("^stop") or fault.name:find("^holder stopped")
        for process in pairs(stops and self.last or {}) do
            if place_of(process) == fault.scope then add(lists, process, fault) end
        end
    end
    self.stops = finish(lists)
end


-- Returns the spans of each place in which it had a fault, unless its name matches `except`, or its
-- process did not run.
local function faults_of(self, more, except)
    local lists = {}
    for _, fault in ipairs(self.faults) do
        for place in pairs(self.places) do
            local here = fault.scope == "all" or fault.scope == place
            if here and not (except and fault.name:find(except)) then
                add(lists, place, fault, more)
            end
        end
    end
    for _, stall in ipairs(self.stalls) do add(lists, place_of(stall.process), stall) end
    return lists
end


-- Returns when each place had a fault (for `more` seconds longer), did not run, or was not
-- connected.
local function trouble_of(self, more)
    local lists, suspended = faults_of(self, more), {}
    for _, event in ipairs(self.states) do
        local since = suspended[event.process]
        if event.state ~= "connected" then
            suspended[event.process] = since or event.at
        elseif since then
            add(lists, event.place, { from = since, to = event.at, name = "no connection" })
            suspended[event.process] = nil
        end
    end
    return lists
end


--- Nothing is expected of a place in trouble, with a bad connection or not running, nor for a
-- session timeout after.
local function find_trouble(self)
    local lists, all = trouble_of(self, self.timeout), {}
    for _, list in pairs(lists) do
        for _, span in ipairs(list) do all[#all + 1] = span end
    end
    self.any_trouble = intervals.new(all)
    self.trouble, self.faulty = finish(lists), finish(trouble_of(self, 0))
    self.harm = finish(faults_of(self, self.timeout, "^address"))
end


local function find_meddling(self)
    local paths, sessions = {}, {}
    for _, fault in ipairs(self.faults) do
        if fault.scope == "path" then add(paths, fault.path, fault) end
        if fault.session then add(sessions, fault.session, fault) end
    end
    self.meddling, self.expiring = finish(paths), finish(sessions)
end


-- A node whose delete was lost stays until it is deleted once more.
local function find_lost(self)
    local paths, named = {}, {}
    for _, node in ipairs(self.nodes) do named[node.path .. "/" .. node.name] = node end
    for _, event in ipairs(self.lost) do
        local node = named[event.path .. "/" .. event.name]
        local over = max(tonumber(event.over) or huge, node and node.deleted or 0)
        add(paths, event.path:gsub(CONDITION .. ".*", ""), { name = "", from = event.at - SKEW,
            to = min(over, self.finished) + LOST * self.timeout })
    end
    self.lost_writes = finish(paths)
end


--- Whether the servers lost a change of nodes on a claim's paths in its time.
function Model:has_lost(claim, at)
    local node, from = claim.node, min(at, claim.invoked)
    local till = min(max(at, claim.over, node and node.deleted or 0), self.finished)
    if self.lost_writes[claim.path]:overlapping(from, till) then return true end
    for path in pairs(node and self.made[node.zxid] or {}) do
        if self.lost_writes[path]:overlapping(from, till) then return true end
    end
    return false
end


--- Returns the name of the fault that took a node from its owner, or nil.
function Model:taken(node)
    if not node or not node.deleted then return nil end
    if node.misled then return "the delete of another node of the name" end
    local spans
    if node.cause == "close" then
        spans = self.expiring[node.session]
    elseif node.by ~= node.session then
        spans = self.meddling[node.path]
    end
    local span = spans and spans:overlapping(node.deleted - SKEW, node.deleted + SKEW)
    return span and span.what
end


--- Returns the name of the fault that took another part of a multi-lock, if the owner therefore
-- deleted this node, or nil.
function Model:taken_part(node)
    if not node or not node.deleted or node.by ~= node.session then return nil end
    for _, part in pairs(self.made[node.zxid]) do
        local why = part ~= node and (part.deleted or huge) <= node.deleted and self:taken(part)
        if why then return why end
    end
end


function model.build(events)
    local self = setmetatable({
        claims = {}, claim = {}, nodes = {}, made = {}, node_events = {}, robbed = {},
        faults = {}, fault = {}, sessions = {}, killed = {}, ended = {}, last = {}, places = {},
        closings = {}, stalls = {}, states = {}, errors = {}, journal = {}, calls = {}, lost = {},
        writes = {},
        began = events[1] and events[1].at or 0,
        finished = events[#events] and events[#events].at or 0,
    }, Model)
    for order, event in ipairs(events) do
        event.order = order
        take_event(self, event)
    end
    self.timeout = self.timeout or 2
    for _, fault in ipairs(self.faults) do fault.to = min(fault.to, self.finished) end
    stand_in_line(self)
    for _, claim in ipairs(self.claims) do end_claim(self, claim) end
    for _, find in ipairs{ find_stops, find_trouble, find_meddling, find_lost } do find(self) end
    return self
end


return model
