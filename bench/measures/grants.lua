--- A line forms behind a holder, without a delay; the holder releases, and all are served. A row
-- has
--
--   kind       mutex, turns, write, semaphore; mutex by default
--   sessions, waiters (of each session), laps (grants of each waiter)

local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"
local traffic = require "bench.harness.traffic"

local number = markdown.number

local grants = {}


--- Milliseconds a grant; requests and bytes of queueing, for each waiter; and of being served, for
-- each grant (with the first holder's release, and the queueing for further laps).
function grants.one(world, row, contender)
    local proxy, crowd = world.proxy, contender.crowd
    local waiters = row.sessions * row.waiters
    local count = waiters * row.laps
    crowd:prepare_line(row.kind or "mutex", row.sessions, row.laps)
    traffic.take(proxy, 0)
    crowd:join(row.waiters)
    local queueing = traffic.take(proxy, 0)
    proxy:command("delay %g", row.delay)
    local seconds, tally = crowd:serve()
    local serving = traffic.take(proxy, row.delay)
    proxy:command("delay 0")
    if tally.grants ~= count then error(contender.name .. ": not all were served", 0) end
    return {
        ms = 1000 * seconds / count, rate = count / seconds,
        queue_requests = queueing.requests / waiters, queue_bytes = queueing.bytes / waiters,
        serve_requests = serving.requests / count, serve_bytes = serving.bytes / count,
    }
end


function grants.show(results)
    tables.grid("ratio of times; ms a grant", tables.lines(results), tables.ratio)
    tables.grid("grants a second", tables.lines(results, "rate"), tables.value)
    for _, half in ipairs{ "queue", "serve" } do
        tables.grid(half == "queue" and "to queue, a waiter: requests; bytes"
            or "to be served, a grant: requests; bytes", tables.lines(results), function(figures)
            return number((rounds.median_of(figures, half .. "_requests"))) .. "; " ..
                   number((rounds.median_of(figures, half .. "_bytes")))
        end)
    end
end


return grants
