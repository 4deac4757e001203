--- Row "kept": what an idle kept lock costs those that want it, of each client, beside one that is
-- free; and two sessions that want it in alternation, beside ones that do not keep.

local clients = require "bench.contended.clients"
local core = require "zklock.core"
local markdown = require "bench.markdown"
local rig = require "spec.rig"
local rounds = require "bench.contended.rounds"
local say = require "bench.contended.say"
local zklock = require "zklock"

local range = markdown.range

local NAMES = { "zklock", "Curator", "kazoo", "go-zookeeper" }
local DELAYS = { 0, 10 } -- milliseconds, of a round trip
local PATIENCE, KEEP = 60, 600 -- seconds

local made = 0


-- A path below which nobody has been, with its node.
local function fresh(session)
    made = made + 1
    local path = "/kept/" .. made
    assert(session:mutex(path):acquire(PATIENCE)):release{ wait = PATIENCE }
    return path
end


local function milliseconds(fn, ...)
    local begin = core.now()
    fn(...)
    return 1000 * (core.now() - begin)
end


local function cycle_of(crowd, path)
    local answer = crowd.processes[1]:command("cycles proxy free %s 1 1", path)
    return 1000 * tonumber(answer:match "%S+")
end


-- The session keeps the lock, and hears those that want it.
local function keep(session, path)
    assert(session:mutex(path, { keep = KEEP }):acquire(PATIENCE)):release()
    rig.wait_for("its watch", function() return session:stats().in_flight == 0 end)
end


-- A cycle of this client on a lock that is free, and on one that is kept; a write and its answer.
local function borrow(session, crowd)
    local free, lent = fresh(session), fresh(session)
    keep(session, lent)
    local lease = assert(session:mutex(free):acquire(PATIENCE))
    local write = milliseconds(lease.release, lease, { wait = PATIENCE })
    local of_free, of_lent = cycle_of(crowd, free), cycle_of(crowd, lent)
    return { free = of_free, kept = of_lent, more = of_lent - of_free, write = write }
end


-- Cycles of two sessions that take turns with a lock.
local function alternate(sessions, options, count)
    local path, locks = fresh(sessions[1]), {}
    for i = 1, 2 do locks[i] = sessions[i]:mutex(path, options) end
    local took = milliseconds(function()
        for i = 1, count do assert(locks[i % 2 + 1]:acquire(PATIENCE)):release() end
    end)
    return { ms = took / count }
end


local function crowds_of(world)
    local list = {}
    for _, name in ipairs(NAMES) do
        if not clients[name].missing() then
            local crowd = world:start_crowd(name, 1)
            crowd:await()
            list[#list + 1] = { crowd = crowd, kind = "mutex" }
        end
    end
    return list
end


local function borrowed(world, row, list, session, delay)
    local function measure(contender) return borrow(session, contender.crowd) end
    world.proxy:command "delay 0"
    for _, contender in ipairs(list) do measure(contender) end -- warm
    world.proxy:command("delay %g", delay)
    local figures, lines = rounds.run(world.options, list, measure), {}
    world:note(row, list, { sessions = 2, waiters = 1, label = "borrowed" }, delay, figures)
    for i, contender in ipairs(list) do
        local line = { clients[contender.crowd.name].label }
        for k, name in ipairs{ "free", "kept", "more", "write" } do
            line[k + 1] = range(rounds.middle(figures[i], name))
        end
        lines[i] = line
    end
    say.line("\na cycle of a lock that another session keeps, %s", say.network(delay))
    markdown.table({ "client", "free, ms", "kept, ms", "more, ms", "a write, ms" }, lines)
end


local function alternated(world, row, sessions, delay)
    local crowd = { name = "zklock" }
    local list = { { crowd = crowd, kind = "turns", options = { token = "turns" } },
                   { crowd = crowd, kind = "kept", options = { keep = KEEP } } }
    local count = delay > 0 and world.options.alternations // 5 or world.options.alternations
    local figures = rounds.run(world.options, list, function(contender)
        return alternate(sessions, contender.options, count)
    end)
    world:note(row, list, { sessions = 2, waiters = 1, label = "alternated" }, delay, figures)
    say.line("\ntwo sessions in alternation, %s", say.network(delay))
    markdown.table({ "not kept, ms a cycle", "kept, ms a cycle", "kept / not" }, {
        { range(rounds.middle(figures[1], "ms")), range(rounds.middle(figures[2], "ms")),
          range(rounds.ratio(figures[2], figures[1])) },
    })
end


return function(world, row)
    local sessions, list = {}, crowds_of(world)
    for i = 1, 2 do sessions[i] = assert(zklock.connect(world.proxy.hosts, { timeout = 30 })) end
    for _, delay in ipairs(DELAYS) do
        borrowed(world, row, list, sessions[1], delay)
        alternated(world, row, sessions, delay)
    end
    world.proxy:command "delay 0"
    for i = 1, 2 do sessions[i]:close() end
    for _, contender in ipairs(list) do contender.crowd:stop() end
end
