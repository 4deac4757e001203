--- The server is stopped (SIGSTOP): how long until acquire(0.5) answers, and what. All clients at
-- the same time, each with a session of its own; after options.silence seconds it goes on. On a
-- server that has no other sessions: they would suffer.

local rounds = require "bench.contended.rounds"
local worlds = require "bench.contended.world"
local zklock = require "zklock"

local TIMEOUT = 6  -- seconds, of the sessions
local LIMIT = 0.5  -- seconds, of the acquire
local PAUSE = 0.3  -- seconds until all sessions are at rest

local row = { name = "outage", label = "outage" }


-- Wakes the server in time, whatever this process waits for. It ends after that.
local function begin_outage(server, seconds)
    server:pause()
    os.execute(("(sleep %g; kill -CONT %d) >/dev/null 2>&1 &"):format(seconds, server:pid()))
end


local function measure(world, list)
    for _, each in ipairs(list) do each.crowd.processes[1]:command("connect %d", TIMEOUT) end
    zklock.sleep(PAUSE)
    begin_outage(world.server, world.options.silence)
    for _, each in ipairs(list) do
        each.crowd.processes[1]:tell("wait /outage-%s %g", each.crowd.name, LIMIT)
    end
    local answers = {}
    for i, each in ipairs(list) do
        local seconds, what = each.crowd.processes[1]:answer():match("^(%S+) (%S+)$")
        answers[i] = { seconds = tonumber(seconds), what = what }
    end
    world.server:resume()
    return answers
end


local function names_of(list)
    local names = {}
    for i, each in ipairs(list) do names[i] = each.crowd.name end
    return names
end


-- One contender stands for all of them: they are measured at the same time.
function row.measure(world)
    local options = setmetatable({ clients = names_of(world:able("wait")), processes = 1 },
                                 { __index = world.options })
    local own, figures = worlds.start(options), {}
    local list = own:able("wait")
    local all = rounds.run(options, { list }, function() return measure(own, list) end)[1]
    own:stop()
    for i = 1, #list do
        figures[i] = {}
        for round, answers in ipairs(all) do figures[i][round] = answers[i] end
    end
    row.silence = options.silence
    return world:result(row, "outage", list, figures)
end


return row
