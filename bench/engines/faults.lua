--- Row "faults". The holder is killed, or stopped for longer than its lease; its server is killed
-- and started again; a replica is promoted in the master's place; a wall clock jumps. The row has
-- the seconds until the waiter is granted, and those with two in the critical section at once.
--
-- Leases and ZooKeeper's sessions last options.lease seconds.

local markdown = require "bench.markdown"
local rounds = require "bench.harness.rounds"
local scenes = require "bench.engines.scene"
local stages = require "bench.engines.stages"

local LONGER = 2     -- seconds more than a lease, for which a holder is stopped, or goes on
local PATIENT = 5    -- seconds more than a lease, for which the waiter waits
local AFTER = 1      -- seconds after the stop, in which the waiter still holds and a third tries
local FAST_FAIL = 1  -- seconds for each of redlock's masters, which may be slow on a busy machine


-- The options that set an engine's lease.
local function options_of(engine, lease)
    if engine == "zookeeper" then return { session = lease } end
    if engine == "redlock" then return { lease = lease, fast_fail = FAST_FAIL } end
    return engine:find("^redis") and { lease = lease } or {}
end


-- A cast (scene.lua) for each engine and server of the stage, except sql-optimistic, where nobody
-- holds a lock.
local function casts_of(world, stage, without)
    local casts = {}
    for _, contender in ipairs(world.contenders) do
        local option, engine = stage.options[contender.server], contender.engine
        if option and not contender.lock and engine ~= "sql-optimistic"
            and contender.server ~= without then
            local words = { option }
            for name, value in pairs(options_of(engine, world.options.lease)) do
                words[#words + 1] = ("%s=%g"):format(name, value)
            end
            casts[#casts + 1] = {
                contender = contender, options = table.concat(words, " "),
                lua_of_waiter = stage.lua_of_waiter and stage.lua_of_waiter[engine],
            }
        end
    end
    return casts
end


-- Seconds from `start` until an answer's time; nil for "never".
local function seconds_until(answer, start)
    local time = tonumber(answer:match("^[%d.]+"))
    return time and time - start
end


local plays = {}


function plays.killed(scene, lease)
    local strike_time = scene:take(lease + PATIENT)
    scenes.sleep_until(strike_time)
    scene:signal("KILL")
    scene:note_answers("waiter", "served")
    for _, cast in ipairs(scene.casts) do
        cast.result = { seconds = seconds_until(cast.served, strike_time) }
    end
end


-- Seconds for which the waiter and the holder were in the critical section at once; nil if they
-- were not.
local function seconds_of_two(cast)
    local both = -(seconds_until(cast.served, tonumber(cast.out)) or 0)
    return both > 0 and both or nil
end


function plays.stopped(scene, lease)
    local strike_time, length = scene:take(lease + PATIENT), lease + LONGER
    scene:tell("holder", "keep %.6f", strike_time + length / 2)
    scenes.sleep_until(strike_time)
    scene:signal("STOP")
    scene:tell("waiter", "keep %.6f", strike_time + length + AFTER)
    scenes.sleep_until(strike_time + length)
    scene:signal("CONT")
    scene:note_answers("holder", "out")
    scene:tell("third", "take 0")
    scene:note_answers("third", "third_answer")
    scene:tell("third", "release")
    scene:note_answers("waiter", "served")
    for _, cast in ipairs(scene.casts) do
        local both = seconds_of_two(cast)
        cast.result = { seconds = seconds_until(cast.served, strike_time), both = both,
                        three = both and cast.third_answer ~= "never" }
    end
end


-- The holder goes on while its server is struck.
function plays.struck(scene, lease, stage)
    local strike_time = scene:take(lease + PATIENT)
    scene:tell("holder", "keep %.6f", strike_time + lease + LONGER)
    scenes.sleep_until(strike_time)
    local struck = stage:strike()
    scene:note_answers("holder", "out")
    scene:note_answers("waiter", "served")
    for _, cast in ipairs(scene.casts) do
        local at = struck[cast.contender.server]
        cast.result = { seconds = seconds_until(cast.served, at), both = seconds_of_two(cast) }
    end
end


local FAULTS = {
    killed = { head = "holder killed", stage = "killed", play = plays.killed },
    stopped = { head = "holder stopped", stage = "killed", play = plays.stopped },
    server = { head = "server killed, and back", stage = "killed", play = plays.struck,
               without = "sqlite" },
    promoted = { head = "replica promoted", stage = "promoted", play = plays.struck },
    clock = { head = "clock jumped", stage = "clock", play = plays.struck },
}


-- The median of a figure, and the number of rounds that have it.
local function middle(results, name)
    local values = {}
    for _, result in ipairs(results) do values[#values + 1] = result[name] or nil end
    if values[1] then return ("%.1f s"):format((rounds.median(values))), #values end
end


-- The results of all rounds as one cell.
local function cell(results)
    if not results then return "—" end
    local served, times = middle(results, "seconds")
    local both = middle(results, "both")
    if not served then return "never" end
    local text = times < #results and served .. ", or never" or served
    if not both then return text end
    local three = false
    for _, result in ipairs(results) do three = three or result.three end
    return ("%s, **%s** for %s"):format(text, three and "three" or "two", both)
end


local function run(world, stage, name, round, results)
    local fault = FAULTS[name]
    stage:prepare()
    local casts = casts_of(world, stage, fault.without)
    local scene = scenes.open(casts, ("fault-%s-%d"):format(name, round))
    fault.play(scene, world.options.lease, stage)
    for _, cast in ipairs(scene.casts) do
        local key = cast.contender.label
        results[key] = results[key] or {}
        results[key][round] = cast.result
    end
    scene:close()
    stage:recover()
end


local function print_table(world, results)
    local options, head, rows = world.options, { "" }, {}
    for i, name in ipairs(options.faults) do head[i + 1] = FAULTS[name].head end
    for _, contender in ipairs(world.contenders) do
        local label = contender.label
        local row = { label }
        for i, name in ipairs(options.faults) do row[i + 1] = cell(results[name][label]) end
        if not contender.lock then rows[#rows + 1] = row end
    end
    print(("\n**Faults: seconds until the next one has the lock; leases of %g s, stops of %g s; "
        .. "rounds: %d**"):format(options.lease, options.lease + LONGER, options.fault_rounds))
    markdown.table(head, rows)
end


return function(world)
    local options, open, results = world.options, {}, {}
    for _, name in ipairs(options.faults) do
        local stage = FAULTS[name].stage
        results[name], open[stage] = {}, open[stage] or stages[stage]()
    end
    for round = 1, options.fault_rounds do
        for _, name in ipairs(options.faults) do
            run(world, open[FAULTS[name].stage], name, round, results[name])
        end
    end
    for _, stage in pairs(open) do stage:stop() end
    print_table(world, results)
end
