--- DEMO-09 and 10: two sessions, each in a process of its own, use one lock one
--- after the other, for a while each (S2 §5). In DEMO-10 each takes the lock
--- twice, and gives it up twice.

local zklock = require "zklock"


-- Times in the journal are cut to the millisecond.
local RESOLUTION = 0.001


local turns = {}


-- in the demo -----------------------------------------------------------------------------------

-- What one process writes into the journal, in order.
local SCRIPTS = {
    once = { "got the lock", "released" },
    twice = { "got", "got again", "released", "released again" },
}


-- Do the journal's lines from `first` on come from one process, with one
-- token, as the script has them? What is wrong, or nil.
local function one_turn(journal, first, script)
    local holder = journal[first]
    for i, line in ipairs(script) do
        local entry = journal[first + i - 1]
        if entry.who ~= holder.who then return entry.who .. " came between" end
        if entry.line ~= line then return ("%q instead of %q"):format(entry.line, line) end
        if entry.token ~= holder.token then return "another token inside a turn" end
    end
end


local function judge(records, script, hold)
    local journal = records:journal()
    if #journal ~= 2 * #script then
        return { right = false, finding = ("%d lines instead of %d"):format(#journal, 2 * #script) }
    end
    local second = #script + 1
    local fault = one_turn(journal, 1, script) or one_turn(journal, second, script)
    if not fault and journal[1].who == journal[second].who then
        fault = journal[1].who .. " twice"
    end
    if not fault and not records:tokens_grow("journal", ("line = '%s'"):format(script[1])) then
        fault = "tokens do not grow"
    end
    local apart = journal[second].at - journal[1].at
    if not fault and apart < hold - RESOLUTION then
        fault = ("%.2f s apart, held %.2f s"):format(apart, hold)
    end
    if fault then return { right = false, finding = fault, log = journal } end
    return {
        right = true, log = journal,
        finding = ("%s, then %s %.2f s later"):format(journal[1].who, journal[second].who, apart),
    }
end


local function play(scenario, run)
    for thread = 0, 1 do
        run:start("turns", "thread-" .. thread, {
            lock = scenario.lock,
            script = scenario.script,
        })
    end
    run:open_barrier()
    run:finish()
    return judge(run.store, SCRIPTS[scenario.script], run.options.hold)
end


turns.scenarios = {
    {
        id = "DEMO-09", title = "two sessions, one lock",
        expect = "right", zookeeper = true, play = play,
        lock = "/locks/seq", script = "once",
    },
    {
        id = "DEMO-10", title = "two sessions, each takes it twice",
        expect = "right", zookeeper = true, play = play,
        lock = "/locks/reentrant", script = "twice",
    },
}


-- in a process ----------------------------------------------------------------------------------

-- The last line of a turn is written just before the lock is given up: after
-- it the other may be quicker with its first line than we with our last.
local scripts = {}


function scripts.once(lock, worker)
    local lease = assert(lock:acquire())
    worker:note("got the lock", lease)
    zklock.sleep(worker.hold)
    worker:note("released", lease)
    assert(lease:release())
end


function scripts.twice(lock, worker)
    local outer = assert(lock:acquire())
    worker:note("got", outer)
    local inner = assert(lock:acquire())
    worker:note("got again", inner)
    zklock.sleep(worker.hold)
    assert(inner:release())
    worker:note("released", outer)
    worker:note("released again", outer)
    assert(outer:release())
end


---@param worker zklock.seckill.Worker
function turns.act(worker)
    local lock = worker:connect():mutex(worker:path(worker.given.lock))
    worker:wait_for_start()
    scripts[worker.given.script](lock, worker)
end


return turns
