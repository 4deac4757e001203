--- The rows: what is measured, one after the other.
--
--   name      what --rows calls it
--   label     in tables
--   measure   a function of the world and the row; gives { row, kind of table, figures by client }
--   warm      the same in short, before anything counts
--   servers   of an ensemble, if not 1
--
-- A row of cycles: what a client must be able to do (clients.lua), kind (crowd.lua), count of each
-- task, how many times as many a client does (times), tasks, delay. A row of grants: sessions,
-- waiters of each, laps, delay. With a delay fewer cycles do.

local cycles = require "bench.peers.cycles"
local grants = require "bench.peers.grants"
local held = require "bench.peers.held"
local memory = require "bench.peers.memory"
local nginx = require "bench.peers.nginx"
local outage = require "bench.peers.outage"
local say = require "bench.contended.say"

-- What needs no request takes microseconds: of so few as peers do the first is all.
local OFTEN = { zklock = 500, LuaJIT = 500 }

local CYCLES = {
    { name = "free", kind = "free", count = 100, delayed = 20, text = "free" },
    { name = "many", kind = "free", count = 20, delayed = 10, tasks = 16,
      text = "16 free at once" },
    { name = "try", kind = "try", count = 200, delayed = 20, text = "try, taken" },
    { name = "reentry", kind = "reentry", count = 5000, text = "re-entry" },
    { name = "read", kind = "read", count = 100, delayed = 20, text = "read" },
    { name = "kept", kind = "kept", count = 20, delayed = 5, times = OFTEN, text = "kept" },
    { name = "turns", kind = "turns", count = 5, delayed = 2, tasks = 8, times = OFTEN,
      text = "one lock, 8 tasks, turns" },
    { name = "turns", kind = "turns", count = 1, delayed = 1, tasks = 64, times = OFTEN,
      text = "one lock, 64 tasks, turns" },
    { name = "combined", kind = "combined", count = 1, delayed = 1, tasks = 64, times = OFTEN,
      text = "one lock, 64 tasks, combined" },
}

-- The waiters of each session; sessions: options.loopers.
local LOOPS = {
    { name = "8x1", waiters = 1, laps = 30, delayed = 5 },
    { name = "8x8", waiters = 8, laps = 4, delayed = 2 },
}


local function label(text, delay, servers)
    local where = servers == 3 and "ensemble" or delay > 0 and say.network(delay)
    return where and text .. ", " .. where or text
end


-- A row for each delay at which it makes sense; an ensemble has none.
local function add_cycles(list, options, each, delay, servers, name)
    local count = delay > 0 and each.delayed or each.count
    if delay > 0 and not each.delayed then return end
    list[#list + 1] = {
        name = name or each.name, label = label(each.text, delay, servers), what = each.name,
        kind = each.kind,
        count = math.ceil(options.share * count), tasks = each.tasks or 1, times = each.times,
        delay = delay,
        measure = cycles.measure, warm = delay == options.delays[1] and cycles.warm or nil,
    }
end


local function add_line(list, options, sessions, delay, servers, name)
    local is_longest = sessions == math.max(table.unpack(options.sessions))
    list[#list + 1] = {
        name = name or "handoff", label = label("hand-off, S = " .. sessions, delay, servers),
        sessions = sessions, waiters = 1, laps = 1, delay = delay, measure = grants.measure,
        warm = delay == options.delays[1] and is_longest and grants.warm or nil,
    }
end


local function add_loop(list, options, each, delay)
    local laps = delay > 0 and each.delayed or each.laps
    local sessions, waiters = options.loopers, math.min(options.loopers, each.waiters)
    list[#list + 1] = {
        name = each.name, label = label(("%d × %d"):format(sessions, waiters), delay, 1),
        sessions = sessions, waiters = waiters, laps = math.ceil(options.share * laps),
        delay = delay, measure = grants.measure,
        warm = delay == options.delays[1] and grants.warm or nil,
    }
end


local function of_one_server(options)
    local list = {}
    for _, delay in ipairs(options.delays) do
        for _, each in ipairs(CYCLES) do add_cycles(list, options, each, delay, 1) end
        for _, sessions in ipairs(options.sessions) do
            add_line(list, options, sessions, delay, 1)
        end
        for _, each in ipairs(LOOPS) do add_loop(list, options, each, delay) end
    end
    for _, each in ipairs{ memory, held, nginx, outage } do list[#list + 1] = each end
    return list
end


local function of_an_ensemble(options)
    local list = {}
    for i = 1, 2 do add_cycles(list, options, CYCLES[i], 0, 3, "ensemble") end
    add_line(list, options, options.loopers, 0, 3, "ensemble")
    for _, row in ipairs(list) do row.warm = row.warm or grants.warm end
    return list
end


--- Those that are wanted, of one server or of three.
return function(options, servers)
    local list = {}
    for _, row in ipairs((servers == 1 and of_one_server or of_an_ensemble)(options)) do
        if options.rows[row.name] then list[#list + 1] = row end
    end
    return list
end
