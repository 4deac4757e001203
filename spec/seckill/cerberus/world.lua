--- A small world for the engine `cerberus`: a ZooKeeper, three engines, and processes whose every
--- request is carried out when a test says so. The engine's own files run in it as they ship; only
--- what they stand on is replaced: zklock (connect, sleep), the clock, and three ways to lock.
---
--- A process has two sessions of ZooKeeper's: one for the switch, one for the locks of the engine
--- `zookeeper`. A session without its connection knows nothing of its leases but that they may be
--- held: they are suspect. They are held again when it is back, and lost when it has expired.
---
--- A task is a coroutine; it stops before each request. world:choices() are what may happen next,
--- world:take(choice) lets it happen.

local LIFE = 10 -- seconds of a lock of either engine
local TICK = 5  -- seconds by which time goes on
local SESSIONS = { "switch", "locks" } -- of each process
local AGES = 100     -- seconds after which no lock of a dead process lives
local SETTLED = 1000 -- rounds in which all must have ended

local snapshot = require "spec.seckill.cerberus.snapshot"

local world -- the present one


---@class zklock.spec.World
---@field time number
---@field nodes table<string, { text: string, version: integer }>
---@field held table<string, table>        path -> the holder of a mutex
---@field readers table<string, table[]>   path -> those of a read lock
---@field engines table<string, table<string, table>>  kind -> name of a lock -> its grant
---@field dead table<string, boolean>      kind -> it does not answer
---@field processes table[]
---@field log string[]
local World = {}
World.__index = World


-- requests ---------------------------------------------------------------------------------------

-- Stops the task until the request may be carried out, and is.
local function request(name, is_possible)
    return coroutine.yield{ name = name, is_possible = is_possible }
end


-- The same, but for a world in large steps, where it is carried out together with the one before.
local function step(name, is_possible)
    if world.large_steps and (not is_possible or is_possible()) then return end
    return request(name, is_possible)
end


-- Of these nothing depends on in between: who reads them reads the epoch before.
local READ_ALONG = { members = true, cerberus_engine = true }


-- Text that nobody else has, the same whatever other processes do.
local function unique()
    local process = world.running.process
    process.ids = process.ids + 1
    return ("id%d-%d"):format(process.number, process.ids)
end


local function changed(path)
    world.change = {}
    for _, process in ipairs(world.processes) do
        for _, watch in ipairs(process.watches) do
            if watch.path == path then watch.news = true end
        end
    end
end


-- ZooKeeper --------------------------------------------------------------------------------------

-- What ZooKeeper says when the session has no connection to it.
local function no_answer() return nil, "timeout: no connection", "timeout" end


local Lease = {}
Lease.__index = Lease

function Lease:state()
    if self.released then return "released" end
    if self.session.number ~= self.number or self.ends <= world.time then return "lost" end
    return self.session.is_cut and "suspect" or "held"
end

function Lease:held() return self:state() == "held" end
function Lease:remaining() return self:held() and LIFE or 0 end

function Lease:check()
    step "check"
    local state = self:state()
    if state == "held" then return true end
    if state == "suspect" then return no_answer() end
    return nil, state, state
end

function Lease:release()
    if self.released then return nil, "released", "released" end
    self.released = true
    world.change = {}
    self.give_up()
    return true
end

function Lease:close()
    if not self.released then self:release() end
end

Lease.__close = Lease.close

-- A write is { kind, path, text, version }, a check { kind, path, version }.
local function is_allowed(write)
    local kind, node = write[1], world.nodes[write[2]]
    if kind == "create" then return not node end
    local version = kind == "check" and write[3] or write[4]
    return not version or node.version == version
end

local function carry_out(write)
    local kind, path, text = write[1], write[2], write[3]
    if kind == "check" then return end
    local node = world.nodes[path]
    world.nodes[path] = { text = text, version = node and node.version + 1 or 0 }
    changed(path)
end

-- A reply may be lost, with what was asked for done or not.
function Lease:guard(writes)
    local fate = request("write " .. writes[1][2])
    if fate == "not sent" or self:state() == "suspect" then return no_answer() end
    if not self:held() then return nil, "lost", "lost" end
    for _, write in ipairs(writes) do
        if not is_allowed(write) then return nil, "conflict", "conflict" end
    end
    for _, write in ipairs(writes) do carry_out(write) end
    if fate == "not answered" then return nil, "timeout: not known", "timeout" end
    return true
end


local function new_lease(session, give_up)
    return setmetatable({
        session = session, number = session.number, give_up = give_up, ends = math.huge,
    }, Lease)
end


local Session = {}
Session.__index = Session

function Session:get(path)
    local read = READ_ALONG[path:match "[^/]+$"] and step or request
    if self.process.at_desk ~= coroutine.running() then read("read " .. path) end
    if self.is_cut then return no_answer() end
    local node = world.nodes[path]
    if not node then return nil, "no_node", "no_node" end
    return node.text, node.version
end

function Session:mutex(path)
    local process = self.process
    local function is_free()
        return not world.held[path] or world.held[path].ends <= world.time
    end
    return { acquire = function(_, given)
        step("acquire " .. path, function() return self.is_cut or is_free() end)
        if self.is_cut then return no_answer() end
        process.at_desk = coroutine.running()
        local lease
        lease = new_lease(self, function()
            process.at_desk = nil
            if world.held[path] == lease then world.held[path] = nil end
        end)
        lease.ends = world.time + given.max_hold
        world.held[path] = lease
        return lease
    end }
end

function Session:rwlock(path, options)
    world.readers[path] = world.readers[path] or {}
    local lock = {}
    function lock.acquire()
        request("register " .. path)
        if self.is_cut then return no_answer() end
        local lease
        lease = new_lease(self, function()
            for i, each in ipairs(world.readers[path]) do
                if each.lease == lease then table.remove(world.readers[path], i) break end
            end
        end)
        table.insert(world.readers[path], { data = options.data, lease = lease })
        return lease
    end
    function lock.queue()
        step("list " .. path)
        if self.is_cut then return no_answer() end
        local list = {}
        for i, each in ipairs(world.readers[path]) do
            list[i] = { data = each.data }
        end
        return list
    end
    return { read = function() return lock end }
end

function Session:watch(path, fn)
    table.insert(self.process.watches, { path = path, fn = fn, news = true })
    return function() end
end

function Session.close() end


-- Of a process; `name` is what it is for.
local function new_session(process, name)
    return setmetatable({ process = process, name = name, number = 1, is_cut = false }, Session)
end


-- engines ----------------------------------------------------------------------------------------

-- A way to lock, as the engines have it: see zklock.seckill.engine.lock.
local function way_of(kind)
    local way = {
        has = { lease = true, owned = true },
        fields = {}, defaults = { lease = LIFE },
        validate = function() end, close = function() end,
        open = function(engine) return engine end,
    }

    local function grant_of(name)
        local grant = world.engines[kind][name]
        return grant and grant.expires > world.time and grant or nil
    end

    local function ask(what, is_possible)
        request(what .. " " .. kind, function()
            return world.dead[kind] or not is_possible or is_possible()
        end)
        if world.dead[kind] then
            require("zklock.seckill.engine.failure").raise("connection", kind .. " does not answer")
        end
    end

    function way.try(lock, _, wish)
        local asked = world.time
        ask("lock", function() return wish.interrupted or not grant_of(lock.name) end)
        if wish.interrupted then return nil, 0 end
        local value = unique()
        world.engines[kind][lock.name] = { value = value, expires = world.time + LIFE }
        return { value = value, expires = asked + LIFE }
    end

    function way.check(lease)
        ask "ask"
        local grant = grant_of(lease.name)
        return grant ~= nil and grant.value == lease.value
    end

    function way.release(lease)
        ask "unlock"
        local grant = grant_of(lease.name)
        if not grant or grant.value ~= lease.value then return false end
        world.change = {}
        world.engines[kind][lease.name] = nil
        return true
    end

    return way
end


-- The engine `zookeeper`: its leases are zklock's own. A session that ends gives up what it has.
local own = {
    has = { owned = true, fair = true },
    fields = {}, defaults = { session = LIFE },
    validate = function() end,
}

local Own = {}
Own.__index = Own

function own.open()
    return setmetatable({ session = world.running.process.sessions.locks, interrupted = {} }, Own)
end

function Own:interrupt(owner) self.interrupted[owner] = true end
function Own.close() end

function Own:mutex(name)
    local session, holders = self.session, world.engines.zookeeper
    return { acquire = function(_, given)
        self.interrupted[given.owner] = nil
        request("lock zookeeper", function()
            return self.interrupted[given.owner] or not session.is_cut and not holders[name]
        end)
        if self.interrupted[given.owner] then return nil, "interrupted", "interrupted" end
        local lease
        lease = new_lease(session, function()
            if holders[name] == lease then holders[name] = nil end
        end)
        holders[name] = lease
        return lease
    end }
end


-- what the engine's files are given --------------------------------------------------------------

local FAKES = {
    ["zklock"] = {
        connect = function() return world.running.process.sessions.switch end,
        -- Who looks again sees the same, unless something has happened.
        sleep = function()
            local before = world.change
            request("go on", function() return world.change ~= before end)
        end,
    },
    ["zklock.core"] = { now = function() return world.time end },
    ["zklock.waiting.tasks"] = {
        active = function() return world.in_run end,
        end_of_run = function() return world.in_run and function() return false end or nil end,
    },
    ["zklock.seckill.engine.redis"] = { unique = unique },
    ["zklock.seckill.engine.redis_set"] = way_of "redis-set",
    ["zklock.seckill.engine.sql_table"] = way_of "sql-table",
    ["zklock.seckill.engine.zookeeper"] = own,
}

local saved

local function is_replaced(name)
    return FAKES[name] ~= nil or name:find "^zklock%.seckill%.engine" ~= nil
end

--- From here on modules are loaded as this world has them.
local function enter()
    saved = {}
    for name, module in pairs(package.loaded) do
        if is_replaced(name) then saved[name] = module end
    end
    for name in pairs(saved) do package.loaded[name] = nil end
    for name, fake in pairs(FAKES) do package.loaded[name] = fake end
end

--- And from here on as they are.
local function leave()
    for name in pairs(package.loaded) do
        if is_replaced(name) then package.loaded[name] = nil end
    end
    for name, module in pairs(saved) do package.loaded[name] = module end
end


-- what happens -----------------------------------------------------------------------------------

--- A process; `start(process)` makes its engine, without being stopped.
function World:process(start)
    local process = {
        number = #self.processes + 1, watches = {}, leases = {}, tasks = {}, ids = 0,
    }
    process.sessions = {
        switch = new_session(process, "switch"), locks = new_session(process, "locks"),
    }
    self.processes[process.number] = process
    self:task(process, "start", start)
    local task = process.tasks[1]
    while not task.done do self:resume(task) end
    self:tell(process)
    process.tasks = {}
    return process
end


--- The tasks of the process, which begin anew when its run has ended by an error.
function World:begin(process, tasks)
    process.begin = function()
        for _, task in ipairs(tasks) do self:task(process, task.name, task.fn) end
    end
    process.begin()
end


--- The process's run ends by an error: nobody resumes its tasks any more, and what nothing else
--- refers to is collected.
function World.drop(_, process)
    for _, task in ipairs(process.tasks) do task.done = true end
    process.tasks, process.at_desk = {}, nil
    local requests = process.engine.requests
    for each in pairs(requests) do requests[each] = nil end
    process.begin()
end


--- Another task of the process, from its first request on.
function World:task(process, name, fn)
    local task = {
        process = process, name = name, thread = coroutine.create(fn), started = false,
    }
    table.insert(process.tasks, task)
    self:resume(task)
    return task
end


-- Carries out what the task asks for.
function World:resume(task, fate)
    self.running = task
    local ok, wants = coroutine.resume(task.thread, task.started and fate or task.process)
    task.started = true
    if not ok then error(debug.traceback(task.thread, tostring(wants)), 0) end
    task.wants = wants
    task.done = coroutine.status(task.thread) == "dead"
end


local function has_news(process)
    for _, watch in ipairs(process.watches) do
        if watch.news then return true end
    end
end


--- Its watches tell the process how their nodes are.
function World.tell(_, process)
    for _, watch in ipairs(process.watches) do
        if watch.news then
            watch.news = false
            watch.fn(world.nodes[watch.path].text, world.nodes[watch.path].version)
        end
    end
end


local function is_runnable(task)
    return not task.done and not task.process.halted
        and (not task.wants.is_possible or task.wants.is_possible())
end


-- A session expires, loses its connection, or has it again.
function World:add_faults_of(session, add)
    local name = ("%d's session for the %s "):format(session.process.number, session.name)
    if self.expiries > 0 then
        add(name .. "expires", function()
            self.expiries = self.expiries - 1
            self:expire(session)
        end)
    end
    if session.is_cut then
        add(name .. "is back", function() self:mend(session) end, nil, true)
    elseif self.cuts > 0 then
        add(name .. "is cut", function()
            self.cuts, self.change = self.cuts - 1, {}
            session.is_cut = true
        end)
    end
end


function World:mend(session)
    session.is_cut, self.change = false, {}
end


--- All that may happen next, each with a name that tells it apart.
function World:choices()
    local list = {}
    local function add(name, fn, task, is_usual)
        local who = task and task.name or is_usual and name or "what goes wrong"
        list[#list + 1] = { name = name, fn = fn, task = task, is_usual = is_usual, who = who }
    end
    for n, process in ipairs(self.processes) do
        for i, task in ipairs(process.tasks) do
            if is_runnable(task) then
                local name = ("%d %s %d: %s"):format(n, task.name, i, task.wants.name)
                add(name, function() self:resume(task) end, task)
                if self.losses > 0 and task.wants.name:find "^write" then
                    for _, fate in ipairs{ "not sent", "not answered" } do
                        add(name .. ", " .. fate, function()
                            self.losses = self.losses - 1
                            self:resume(task, fate)
                        end)
                    end
                end
            end
        end
        if not process.halted and has_news(process) then
            add(n .. " is told", function() self:tell(process) end, nil, true)
        end
        for _, name in ipairs(self.sessions) do
            self:add_faults_of(process.sessions[name], add)
        end
        if self.drops > 0 and process.begin and not process.halted then
            add(n .. "'s run ends by an error", function()
                self.drops, self.change = self.drops - 1, {}
                self:drop(process)
            end)
        end
        if self.halts > 0 and not process.halted then
            add(n .. " is stopped", function()
                self.halts = self.halts - 1
                process.halted = true
            end)
        end
    end
    if self.ticks > 0 then
        add("time goes on", function()
            self.ticks = self.ticks - 1
            self:go_on()
        end)
    end
    if self.deaths > 0 then
        add("the first engine dies", function()
            self.deaths, self.change = self.deaths - 1, {}
            self.dead["redis-set"] = true
        end)
    end
    return list
end


--- The server ends the session: its nodes go.
function World:expire(session)
    local function is_gone(lease)
        return lease.session == session and lease.number == session.number
    end
    for _, held in ipairs{ self.held, self.engines.zookeeper } do
        for name, lease in pairs(held) do
            if is_gone(lease) then held[name] = nil end
        end
    end
    for _, readers in pairs(self.readers) do
        for i = #readers, 1, -1 do
            if is_gone(readers[i].lease) then table.remove(readers, i) end
        end
    end
    self.change = {}
    session.number, session.process.at_desk = session.number + 1, nil
end


local function sorted(map, show)
    local list = {}
    for key, value in pairs(map) do list[#list + 1] = key .. "=" .. show(value) end
    table.sort(list)
    return table.concat(list, ";")
end


-- What is the same in all moments.
local function name_modules()
    local named = {}
    for name, module in pairs(package.loaded) do
        if type(module) == "table" then named[module] = name end
    end
    return named
end


-- How many ids there were before makes no difference.
local function rename_ids(text)
    local names, count = {}, 0
    return (text:gsub("id%d+%-%d+", function(id)
        if not names[id] then
            count = count + 1
            names[id] = "id" .. count
        end
        return names[id]
    end))
end


--- A text that two moments have only if the same can follow from both.
function World:key()
    local named = name_modules()
    named[self] = "world"
    for _, process in ipairs(self.processes) do named[process] = "process " .. process.number end
    local parts = {
        self.time, self.losses, self.expiries, self.halts, self.ticks, self.deaths, self.cuts,
        self.drops,
        sorted(self.nodes, function(node) return node.text .. node.version end),
        sorted(self.held, function(lease) return lease.session.process.number end),
        sorted(self.readers, function(readers)
            local ids = {}
            for i, each in ipairs(readers) do ids[i] = each.data end
            return table.concat(ids, ",")
        end),
        sorted(self.engines, function(locks)
            return sorted(locks, function(grant)
                if grant.session then return grant.session.process.number end
                return ("%s %g"):format(grant.value, grant.expires)
            end)
        end),
    }
    for _, process in ipairs(self.processes) do
        local threads = {}
        for _, task in ipairs(process.tasks) do
            if not task.done then threads[#threads + 1] = task.thread end
            parts[#parts + 1] = tostring(is_runnable(task)) .. tostring(task == self.running)
        end
        parts[#parts + 1] = snapshot.of(
            { process.engine, process.leases, process.watches, process.state }, threads, named)
        parts[#parts + 1] = tostring(process.halted)
        for _, name in ipairs(SESSIONS) do
            local session = process.sessions[name]
            parts[#parts + 1] = ("%d %s"):format(session.number, session.is_cut)
        end
    end
    return rename_ids(table.concat(parts, "|"))
end


-- Has a holder who does not ask the lock? One of `zookeeper` lasts as long as its own session,
-- which may be longer than that of the switch; but then the lease is lost, for good.
local function is_had(lease)
    local lasts = not lease.parts[1].lock or lease.parts[2] and not lease.parts[2].lock
    return lease:lives() and not (lasts and lease.bound:state() == "lost")
end


--- What is wrong now; nil: nothing. Nobody has a lock beside another one: neither by what leases
--- say, nor by the engines, for a holder who does not ask.
function World:problem()
    local held, had = 0, 0
    for _, process in ipairs(self.processes) do
        for _, lease in ipairs(process.leases) do
            if lease:held() then held = held + 1 end
            if is_had(lease) then had = had + 1 end
        end
    end
    if held > 1 then return "two leases are held" end
    if had > 1 then return "the engines have the lock for two" end
end


-- As the watchdog of an engine does, in a process that is not stopped.
local function renew(process)
    for _, lease in ipairs(process.leases) do
        for _, part in ipairs(lease.parts) do
            local grant = part.lock and world.engines[part.lock.engine.name][part.name]
            local lasts_on = grant and grant.value == part.value and grant.expires > world.time
            if lasts_on and not part.over and part.renewed_with:held() then
                grant.expires, part.expires = world.time + LIFE, world.time + LIFE
            end
        end
    end
end


--- Time goes on.
function World:go_on()
    for _, process in ipairs(self.processes) do
        if self.renews and not process.halted then renew(process) end
    end
    self.time, self.change = self.time + TICK, {}
end


--- Nothing goes wrong any more: lets all go on to their ends. Sessions of those that were stopped
--- have theirs.
function World:settle()
    self.losses, self.expiries, self.halts, self.ticks, self.deaths = 0, 0, 0, 0, 0
    self.cuts, self.drops = 0, 0
    for _, process in ipairs(self.processes) do
        for _, session in pairs(process.sessions) do
            self:mend(session)
            if process.halted then self:expire(session) end
        end
    end
    for _ = 1, SETTLED do
        local choices = self:choices()
        if #choices == 0 then
            if self.time > AGES then return end
            self:go_on()
        else
            for _, choice in ipairs(choices) do
                if not choice.task or is_runnable(choice.task) then choice.fn() end
            end
        end
    end
    error "they do not come to an end"
end


--- A new world. `budget`: how often something may go wrong in it.
local function new(budget)
    world = setmetatable({
        time = 0, nodes = {}, held = {}, readers = {}, dead = {}, processes = {}, change = {},
        large_steps = budget.large_steps, renews = budget.renews,
        engines = { ["redis-set"] = {}, ["sql-table"] = {}, zookeeper = {} },
        sessions = budget.sessions or { "switch" },
        losses = budget.losses or 0, expiries = budget.expiries or 0, halts = budget.halts or 0,
        ticks = budget.ticks or 0, deaths = budget.deaths or 0,
        cuts = budget.cuts or 0, drops = budget.drops or 0,
    }, World)
    return world
end


return { enter = enter, leave = leave, new = new }
