--- Part "line": one waiter a session, each is served once. They arrive one after the other, of all
-- processes in turn. What a hand-off costs must not depend on how many sessions stand in line.

local rounds = require "bench.contended.rounds"
local say = require "bench.contended.say"
local serve = require "bench.contended.serve"


local function say_times(shape, kind, figures)
    local ours, theirs = figures[1], figures[2]
    say.line("%-10s %8d %7d   %-26s %-26s %s", kind, shape.sessions, #ours,
             say.range("%.2f", rounds.middle(ours, "ms")),
             theirs and say.range("%.2f", rounds.middle(theirs, "ms")) or "",
             theirs and say.range("%.2f", rounds.ratio(theirs, ours)) or "")
end


-- A table of times; gives its rows.
local function measure(world, delay)
    local rows = {}
    local peer = world.crowds[2] ~= nil
    say.line("\nline, %s: milliseconds a grant", say.network(delay))
    say.line("%-10s %8s %7s   %-26s %-26s %s", "lock", "sessions", "rounds", "zklock",
             peer and "Curator" or "", peer and "Curator / zklock" or "")
    for _, kind in ipairs(world.options.locks) do
        local list = world:contenders(kind)
        for _, sessions in ipairs(world.options.sessions) do
            local shape = { sessions = sessions, waiters = 1, laps = 1 }
            local figures = rounds.run(world.options, list, function(contender)
                return serve(world, contender, shape, delay)
            end)
            world:note("line", list, shape, delay, figures)
            say_times(shape, kind, figures)
            rows[#rows + 1] = { shape = shape, kind = kind, figures = figures }
        end
    end
    return rows
end


local function say_traffic_head(world, delay)
    local names, columns = "", ""
    for _ = 1, 2 do
        for _, each in ipairs(world.crowds) do
            names = names .. ("  %-15s"):format(each.name)
            columns = columns .. "  requests  bytes"
        end
    end
    local half = 17 * #world.crowds - 2
    say.line("\nline, %s: requests and bytes", say.network(delay))
    say.line("%-19s  %-" .. half .. "s  %s", "", "to queue, a waiter", "to be served, a grant")
    say.line("%-19s%s", "", names)
    say.line("%-10s %8s%s", "lock", "sessions", columns)
end


local function say_traffic(row)
    local text = ("%-10s %8d"):format(row.kind, row.shape.sessions)
    for _, half in ipairs{ "queue", "serve" } do
        for _, each in ipairs(row.figures) do
            text = text .. ("  %8.2f %6.0f"):format((rounds.middle(each, half .. "_requests")),
                                                    (rounds.middle(each, half .. "_bytes")))
        end
    end
    say.line("%s", text)
end


-- The delay hardly changes the traffic: one table of it, for the last.
return function(world)
    local rows, last
    for _, delay in ipairs(world.options.delays) do rows, last = measure(world, delay), delay end
    say_traffic_head(world, last)
    for _, row in ipairs(rows) do say_traffic(row) end
end
