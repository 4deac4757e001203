--- The next step of a world. Time goes on when no coroutine can run.

local ipairs, pairs, unpack = ipairs, pairs, table.unpack or unpack
local huge, max, min = math.huge, math.max, math.min
local concat, sort = table.concat, table.sort

local ROUNDED = 2e-9 -- seconds, the error of a time in nanoseconds

local QUIET = 2 -- session timeouts without an event until a look for a deadlock
local STILL = 10000 -- turns of one coroutine, or of world:at(), while time stands still


local function waits_text(self)
    local waits = {}
    for run in pairs(self.runs) do
        for _, waiter in pairs(run.paused) do waits[#waits + 1] = waiter end
    end
    sort(waits, function(a, b) return a.number < b.number end)
    local texts = {}
    for _, waiter in ipairs(waits) do
        local process, request = waiter.run.root.process, waiter.request
        if not process.over and not waiter.woken then
            texts[#texts + 1] = ("%s waits for %s"):format(process.name,
                request and (request.path or "an answer") or "others")
        end
    end
    return concat(texts, ", ")
end


-- There is no sleep, deadline, event, fault or end of a hold to come.
local function is_quiet(self)
    local sleeper = self.sleepers:first()
    if sleeper and sleeper.due < huge or self.events:first() or self.faults:due() < huge
        or self.core:ends_at() then
        return false
    end
    for run in pairs(self.runs) do
        for _, waiter in pairs(run.paused) do
            if waiter.due and waiter.due < huge then return false end
        end
    end
    return true
end


local function process_of(self, entry)
    local run = entry.run or self.run_of[entry.thread]
    return run.root.process
end


-- Counts a turn. Returns false if the coroutine got too many turns while time stood still.
local function count_turn(self, thread, now)
    if now ~= self.turn_time then
        self.turn_time, self.first_thread, self.turns = now, thread, nil
        return true
    end
    local turns = self.turns or { [self.first_thread] = 1 }
    turns[thread], self.turns = (turns[thread] or 0) + 1, turns
    return turns[thread] < STILL
end


local function stands_still(self, process)
    self:fail(("%s makes no progress: %d turns while time stands still"):format(
        process and process.name or "world:at()", STILL), process)
end


local function take_turn(self, index)
    local ready = self.ready
    local entry = ready[index]
    ready[index] = ready[#ready]
    ready[#ready] = nil
    if not entry.thread then return end -- its wait was closed
    local process = process_of(self, entry)
    if process.over then return end
    if not process.stopped then self.faults:strike_before_turn(process) end
    if process.over then return end
    if process.stopped then
        process.delayed[#process.delayed + 1] = entry
        return
    end
    local now = self:now()
    if not count_turn(self, entry.thread, now) then return stands_still(self, process) end
    self.turn_count = self.turn_count + 1
    if self.turn_count > self.limit.steps then
        return self:fail(("it is not over after %d steps"):format(self.limit.steps))
    end
    local arguments = entry.arguments
    entry.woken = true
    if arguments then process:resume(now, entry.thread, unpack(arguments, 1, arguments.n))
    else process:resume(now, entry.thread) end
end


local function carry_out_due(self)
    local now, events = self:now() + ROUNDED, self.events
    self.active_at = self:now()
    self:wake_sleepers(now)
    local event = events:first()
    while event and event.due <= now do
        events:shift()
        self.chain_length = event.chain_length + 1
        if self.chain_length > STILL then return stands_still(self) end
        event.fn()
        event = events:first()
    end
    self.chain_length = 0
    self.faults:strike_due(now)
end


local function next_due(self)
    local sleeper, event = self.sleepers:first(), self.events:first()
    local due = min(sleeper and sleeper.due or huge, event and event.due or huge)
    return min(due, self.faults:due(), self.limit.seconds)
end


-- Nothing can happen any more, which is wrong unless only dead coroutines waited.
local function give_up(self)
    self:bury()
    if not self.ready[1] and self.live > 0 then
        self:fail("nothing more can happen: " .. waits_text(self))
    end
end


local function patience_of(self)
    return QUIET * self.longest_timeout + self.slack
end


-- True if two looks found that for long no server has changed anything. At the first look a client
-- may have been about to ask a server. Also sets the time of the next look.
local function find_deadlock(self, now)
    local last, patience = max(self.core:changed(), self.active_at), patience_of(self)
    if last + patience > now + ROUNDED or not is_quiet(self) then
        self.doubted_at, self.look_at = nil, now + patience
    elseif self.doubted_at ~= last then
        self.doubted_at, self.look_at = last, now + patience
    end
    return self.look_at <= now + ROUNDED
end


local function advance(self, most_steps)
    local now, due, limit = self:now(), next_due(self), self.limit.seconds
    if self:bury_closed() and self.ready[1] then return end
    local look_at = self.active_at + patience_of(self)
    if look_at <= now + ROUNDED then
        if find_deadlock(self, now) then return give_up(self) end
        look_at = self.look_at
    end
    local number = self.core:advance(min(due, look_at), most_steps)
    now = self:now()
    if number ~= 0 then
        local session = self.sessions[number]
        if session then session.runtime:hear(session, now) end
    elseif now + ROUNDED >= limit then
        self:fail(("it is not over after %g s"):format(limit))
    elseif now + ROUNDED >= due then carry_out_due(self)
    end
end


local function finish(self)
    if not self.processes[1] then return self:fail("there was no process") end
    self.over, self.finished = true, true
    for _, fn in ipairs(self.finals) do fn() end
end


-- Takes a step. A turn goes to the ready coroutine at `index`, which by default the seed chooses.
local function go_on(self, index, most_steps)
    if self.ready[1] then take_turn(self, index or self.core:draw("order", #self.ready))
    elseif self.live > 0 or self.events:first() then advance(self, most_steps)
    else finish(self) end
end


return { advance = advance, go_on = go_on, next_due = next_due, process_of = process_of }
