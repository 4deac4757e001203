--- What comes next in a world: a coroutine that can run goes on; else time does.

local ipairs, pairs, unpack = ipairs, pairs, table.unpack or unpack
local huge, min = math.huge, math.min
local concat, sort = table.concat, table.sort

local WHO = 0 -- of the world's random numbers: who runs next

local ROUNDED = 2e-9 -- seconds that a number of nanoseconds may lack

local QUIET = 2 -- session timeouts without a transaction, until nothing can be expected any more


-- What each process waits for that has not ended.
local function who_waits(self)
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


-- Nothing is to come: no sleep, no deadline, no event, no fault.
local function is_quiet(self)
    if self.sleepers:first() or self.events:first() or self.faults:due() < huge then
        return false
    end
    for run in pairs(self.runs) do
        for _, waiter in pairs(run.paused) do
            if waiter.due and waiter.due < huge then return false end
        end
    end
    return true
end


-- Whose coroutine it is that is ready.
local function process_of(entry, self)
    local run = entry.run or self.run_of[entry.thread]
    return run.root.process
end


-- Goes on with that one of the coroutines that are ready.
local function turn(self, place)
    local ready = self.ready
    local entry = ready[place]
    ready[place] = ready[#ready]
    ready[#ready] = nil
    if not entry.thread then return end -- its wait has ended otherwise
    local process = process_of(entry, self)
    if process.over then return end
    if not process.stopped then self.faults:before(process) end
    if process.over then return end
    if process.stopped then
        process.held[#process.held + 1] = entry
        return
    end
    local arguments = entry.arguments
    entry.woken = true
    if arguments then process:resume(entry.thread, unpack(arguments, 1, arguments.n))
    else process:resume(entry.thread) end
end


-- What is due by now.
local function look(self)
    local now, events = self:now() + ROUNDED, self.events
    self:wake_sleepers(now)
    local event = events:first()
    while event and event.due <= now do
        events:shift()
        event.fn()
        event = events:first()
    end
    self.faults:look(now)
end


-- The moment at which something is due here, or at which it is to be seen whether anything is.
local function next_moment(self)
    local sleeper, event = self.sleepers:first(), self.events:first()
    local due = min(sleeper and sleeper.due or huge, event and event.due or huge)
    return min(due, self.faults:due(), self.limit.seconds)
end


-- Time goes on.
local function advance(self, most)
    local due, limit = next_moment(self), self.limit.seconds
    if self:bury_when_due(self:now()) and self.ready[1] then return end
    local patience = QUIET * self.longest
    local number = self.core:advance(min(due, self:now() + patience), most)
    local now = self:now()
    if number ~= 0 then
        local session = self.sessions[number]
        if session then session.process:hear(session) end
    elseif now + ROUNDED >= limit then
        self:fail(("it is not over after %g s"):format(limit))
    elseif now + ROUNDED >= due then look(self)
    elseif not most and now - self.core:changed() >= patience and is_quiet(self) then
        self:bury()
        if not self.ready[1] and self.live > 0 then
            self:fail("nothing more can happen: " .. who_waits(self))
        end
    end
end


local function finish(self)
    self.over = true
    for _, fn in ipairs(self.finals) do fn() end
end


-- One thing: with `place` that coroutine of those that are ready, else as the seed chooses.
local function go_on(self, place, most)
    self.steps = self.steps + 1
    if self.steps > self.limit.steps then
        self:fail(("it is not over after %d steps"):format(self.limit.steps))
    elseif self.ready[1] then turn(self, place or self.core:draw(WHO, #self.ready))
    elseif self.live > 0 or self.events:first() then advance(self, most)
    else finish(self) end
end


return { advance = advance, go_on = go_on, process_of = process_of }
