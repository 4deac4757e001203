--- Part "timeouts": many wait for a mutex, none is served, and all give up at the same time.

local core = require "zklock.core"
local rounds = require "bench.contended.rounds"
local say = require "bench.contended.say"
local traffic = require "bench.contended.traffic"

local TRIES = 6


-- Seconds. Each newcomer's list names all that came before: it goes by the square of their number.
local function time_to_queue(waiters)
    return 2 + waiters ^ 2 / 4e5
end


-- All get in line: gives when they will give up, and the traffic. When the time is too short for
-- that on this machine, they are let go, and have twice as much.
local function queue(world, contender, sessions)
    local proxy, crowd = world.proxy, contender.crowd
    for _ = 1, TRIES do
        crowd:line(contender.kind, sessions, 1)
        traffic.take(proxy, 0)
        local deadline = core.now() + world.options.wait
        crowd:join_until(deadline, world.options.waiters)
        local queueing = traffic.take(proxy, 0)
        if core.now() < deadline then return deadline, queueing end
        crowd:give_up()
        world.options.wait = 2 * world.options.wait
    end
    error("they do not get in line in time", 0)
end


local function give_up(world, contender, sessions)
    local waiters = world.options.waiters
    local deadline, queueing = queue(world, contender, sessions)
    local ended = contender.crowd:give_up()
    local leaving = traffic.take(world.proxy, 0)
    return {
        late_ms = 1000 * (ended - deadline),
        queue_requests = queueing.requests / waiters,
        queue_bytes = queueing.bytes / waiters,
        leave_requests = leaving.requests / waiters,
        leave_bytes = leaving.bytes / waiters,
    }
end


local function say_row(name, figures)
    local function of(figure) return (rounds.middle(figures, figure)) end
    say.line("%-9s  %8.2f %7.0f  %8.2f %7.0f   %s ms", name, of("queue_requests"),
             of("queue_bytes"), of("leave_requests"), of("leave_bytes"),
             say.range("%.0f", rounds.middle(figures, "late_ms")))
end


return function(world)
    local list, waiters = world:contenders("mutex"), world.options.waiters
    local sessions = world.options.processes
    world.options.wait = world.options.wait or time_to_queue(waiters)
    local figures = rounds.run(world.options, list, function(contender)
        return give_up(world, contender, sessions)
    end)
    world:note("timeouts", list, { sessions = sessions, waiters = waiters / sessions }, 0, figures)
    say.line("\ntimeouts, loopback: %d waiters of %d sessions on a mutex give up at once", waiters,
             sessions)
    say.line("%-9s  %-16s  %-16s   %s", "", "to queue, each", "to leave, each", "the last answer")
    say.line("%-9s  requests   bytes  requests   bytes   behind the deadline", "")
    for i, contender in ipairs(list) do say_row(contender.crowd.name, figures[i]) end
end
