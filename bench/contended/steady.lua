--- Part "steady": all waiters come back again and again, in order of arrival and in turns.

local rounds = require "bench.contended.rounds"
local say = require "bench.contended.say"
local serve = require "bench.contended.serve"

-- Turns are for many waiters in few sessions.
local SHAPES = { { sessions = 2, waiters = 8, turns = true }, { sessions = 16, waiters = 1 } }
local GRANTS, GRANTS_DELAYED = 320, 96 -- of a round


-- zklock's mutex, its turns, Curator's mutex; those that are meant.
local function contenders(world, shape)
    local fifo = world:contenders("mutex")
    return { fifo = fifo[1], curator = fifo[2],
             turns = shape.turns and world:contenders("turns")[1] or nil }
end


local function say_head(world)
    local peer = world.crowds[2] ~= nil
    say.line("\nsteady: grants a second, requests a grant; turns of %d", world.options.batch)
    say.line("%-17s %-18s  %-15s  %-15s  %-15s   %-22s %s", "", "sessions x waiters", "zklock",
             "zklock, turns", peer and "Curator" or "", "turns / zklock",
             peer and "zklock / Curator" or "")
end


local function rate(figures)
    if not figures then return "" end
    return ("%7.0f/s %5.2f"):format(1000 / rounds.middle(figures, "ms"),
                                    (rounds.middle(figures, "serve_requests")))
end


local function say_row(shape, delay, fifo, turns, curator)
    say.line("%-17s %8d x %-7d  %-15s  %-15s  %-15s   %-22s %s", say.network(delay), shape.sessions,
             shape.waiters, rate(fifo), rate(turns), rate(curator),
             turns and say.range("%.1f", rounds.ratio(fifo, turns)) or "",
             curator and say.range("%.2f", rounds.ratio(curator, fifo)) or "")
end


local function measure(world, shape, delay)
    local named, list, index = contenders(world, shape), {}, {}
    for _, name in ipairs{ "fifo", "turns", "curator" } do
        list[#list + 1] = named[name]
        index[name] = named[name] and #list
    end
    local figures = rounds.run(world.options, list, function(contender)
        return serve(world, contender, shape, delay)
    end)
    world:note("steady", list, shape, delay, figures)
    say_row(shape, delay, figures[index.fifo], figures[index.turns], figures[index.curator])
end


return function(world)
    say_head(world)
    for _, delay in ipairs(world.options.delays) do
        for _, shape in ipairs(SHAPES) do
            local grants = delay == 0 and GRANTS or GRANTS_DELAYED
            shape.laps = math.ceil(grants / (shape.sessions * shape.waiters))
            measure(world, shape, delay)
        end
    end
end
