--- The answer of acquire(0.5) while the server is stopped (SIGSTOP), and the time until the answer.
-- All clients ask at the same time, each in a session of its own; after options.silence seconds the
-- server goes on. The server has no other sessions, because the stop would harm them.

local core = require "zklock.core"
local crowds = require "bench.harness.crowd"
local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"
local tables = require "bench.harness.tables"
local worlds = require "bench.harness.world"
local zklock = require "zklock"

local TIMEOUT = 6  -- seconds, of the sessions
local LIMIT = 0.5  -- seconds, of the acquire
local PAUSE = 0.3  -- seconds until all sessions are at rest

local outage = {}


-- Stops the server; a process in the background resumes it, because this process may be waiting.
local function begin_outage(server, seconds)
    server:pause()
    os.execute(("(sleep %g; kill -CONT %d) >/dev/null 2>&1 &"):format(seconds, server:pid()))
end


local function outcome(figures)
    if figures.problem ~= "" then return figures.problem end
    return figures.grants > 0 and "granted" or "timeout"
end


local function tell_all(list, ...)
    for _, each in ipairs(list) do each.process:tell(...) end
    for _, each in ipairs(list) do each.process:answer() end
end


local function measure(world, list)
    tell_all(list, "connect spare %s %d", world.address, TIMEOUT)
    zklock.sleep(PAUSE)
    begin_outage(world.server, world.options.silence)
    for _, each in ipairs(list) do
        each.process:tell("start spare %s /outage-%s 1 1 %.6f\nfinish", each.crowd:kind_of("mutex"),
                          each.name, core.now() + LIMIT)
    end
    local answers = {}
    for i, each in ipairs(list) do
        each.process:answer()
        local figures = crowds.figures(each.process)
        answers[i] = { seconds = figures.seconds, outcome = outcome(figures) }
    end
    world.server:resume()
    tell_all(list, "drop spare")
    return answers
end


-- All contenders are measured at the same time, as if they were one.
function outage.run(world, row)
    local own, figures = worlds.start(world.options), {}
    local list = own:contenders(row)
    for i, each in ipairs(list) do each.process, figures[i] = each.crowd.processes[1], {} end
    local all = rounds.run(world.options, { list }, function() return measure(own, list) end)[1]
    own:stop()
    for i in ipairs(list) do
        for round, answers in ipairs(all) do figures[i][round] = answers[i] end
    end
    row.silence = world.options.silence
    return world:note_result(row, list, figures)
end


-- An answer that came only when the server went on does not count.
function outage.show(results)
    tables.grid("acquire(0.5) while the server is stopped", tables.lines(results, "seconds"),
                function(figures, _, name, row)
        local seconds, least, most = rounds.median_of(figures, name)
        if seconds > row.silence then return ("none in %g s"):format(row.silence) end
        return ("%s s: %s"):format(markdown.range(seconds, least, most), figures[#figures].outcome)
    end)
end


return outage
