--- One measurement of one contender: a line forms behind the first holder, who then lets go, and
-- all are served.

local traffic = require "bench.contended.traffic"


--- shape: sessions, waiters of each, laps (how often each waiter is served). The line forms without
-- a delay. Gives milliseconds a grant; requests and bytes of queueing, a waiter; and of being
-- served, a grant (with the release of the first holder, and what laps queue).
return function(world, contender, shape, delay)
    local proxy, crowd = world.proxy, contender.crowd
    local waiters = shape.sessions * shape.waiters
    local grants = waiters * shape.laps
    crowd:line(contender.kind, shape.sessions, shape.laps)
    traffic.take(proxy, 0)
    crowd:join(shape.waiters)
    local queueing = traffic.take(proxy, 0)
    proxy:command("delay %g", delay)
    local seconds = crowd:serve()
    local serving = traffic.take(proxy, delay)
    proxy:command("delay 0")
    return {
        ms = 1000 * seconds / grants,
        queue_requests = queueing.requests / waiters,
        queue_bytes = queueing.bytes / waiters,
        serve_requests = serving.requests / grants,
        serve_bytes = serving.bytes / grants,
    }
end
