--- Seed article S2, two sessions and one lock (DEMO-09, DEMO-10), and the open questions of the
--- talk. The holder dies (DEMO-15), the predecessor vanishes before the watch (DEMO-16), the holder
--- pauses beyond its session timeout (DEMO-17).

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"
local zklock = require "zklock"

local SELF = "zklock.seckill.scenario.s2_sessions:"

local s2 = {}


-- one after the other ----------------------------------------------------------------------------

-- Two processes use one lock in turn (§5). In DEMO-10 each acquires and releases it twice.

-- The notes of a buyer in order.
local SCRIPTS = {
    once = { "got the lock", "released" },
    twice = { "got", "got again", "released", "released again" },
}

local TOLERANCE = 0.001 -- seconds; the record rounds times to microseconds


-- A turn notes "released" just before the release, lest the next buyer's first note come earlier.
local turns = {}

function turns.once(buyer)
    buyer:note "got the lock"
    zklock.sleep(buyer.server.plan.hold)
    buyer:try_to_buy()
    buyer:note "released"
end

function turns.twice(buyer)
    buyer:note "got"
    local again = assert(buyer.strategy:enter(buyer.lock))
    buyer:note "got again"
    zklock.sleep(buyer.server.plan.hold)
    buyer:try_to_buy()
    buyer.strategy:leave(again)
    buyer:note "released"
    buyer:note "released again"
end


function s2.turn(buyer)
    if not buyer:enter() then return end
    turns[buyer.server.parameters.script](buyer)
    buyer:leave()
end


-- The first line from `first` on that differs from the script, or from the turn's process or token.
local function problem_of_turn(log, first, script)
    local holder = log[first]
    for i, line in ipairs(script) do
        local entry = log[first + i - 1]
        if entry.who ~= holder.who then return entry.who .. " came between" end
        if entry.line ~= line then return ("%q instead of %q"):format(entry.line, line) end
        if entry.token ~= holder.token then return "another token inside a turn" end
    end
end


local function problem_of(sale, log, script, hold)
    if #log ~= 2 * #script then
        return ("%d lines instead of %d"):format(#log, 2 * #script)
    end
    local second = #script + 1
    local problem = problem_of_turn(log, 1, script) or problem_of_turn(log, second, script)
    if problem then return problem end
    if log[1].who == log[second].who then return log[1].who .. " twice" end
    if not evidence.tokens_grow(sale) then return "tokens do not grow" end
    local apart = log[second].at - log[1].at
    if apart < hold - TOLERANCE then
        return ("%.2f s apart, held %.2f s"):format(apart, hold)
    end
    return sale.verdict ~= "right" and sale.finding or nil
end


local function play_turns(scenario, run)
    local hold, script = run.options.hold, SCRIPTS[scenario.script]
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", pause = 0, hold = hold,
        timeout = 30 + hold, purchase = SELF .. "turn", parameters = { script = scenario.script },
    }
    local log = evidence.log(sale, "thread-%d")
    local problem = problem_of(sale, log, script, hold)
    return {
        right = not problem, log = log, sales = { sale },
        finding = problem or ("%s, then %s %.2f s later"):format(log[1].who, log[#script + 1].who,
            log[#script + 1].at - log[1].at),
    }
end


-- the holder dies --------------------------------------------------------------------------------

-- The node vanishes with its session, so the next buyer gets the lock within the session timeout
-- and a tick, because the server looks for dead sessions once a tick.
local TICK = 0.5 -- session timeouts, at most; the least session timeout is two ticks

local SLACK = 0.25 -- seconds for the notification and the next buyer's start


-- A grant that is late because the machine paused proves nothing.
local function play_crash(_, run)
    local timeout = run:session_timeout()
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", timeout = 30 + 2 * timeout,
        faults = { { at = 0, kill = "holder" } },
    }
    local waited = evidence.wait_after_death(sale)
    local in_time = waited <= timeout * (1 + TICK) + SLACK
    local outcome = evidence.outcome(sale, sale.verdict == "right" and sale.sold == 1 and in_time
        and evidence.tokens_grow(sale), ("next after %.2f s (session %g s)"):format(waited,
        timeout))
    outcome.again = not in_time
    return outcome
end


-- the predecessor vanishes -----------------------------------------------------------------------

-- A predecessor may vanish between the list that shows it and the watch on it (Q-05, PIT-08). A
-- client that then waits for an event waits for ever (BUG-11). Two sessions acquire and release a
-- lock again and again, so that this happens often.

local ROUNDS = 100


-- A watch's event for a deleted node comes before any reply that shows the deletion, so a wait
-- without an event means that the watch found no node. The session has one contender at a time.
local function take_and_give_up(buyer, lock, sum)
    local session, timeout = buyer.server:session(), buyer.server.timeout
    local before = session:stats()
    local lease = assert(lock:acquire(timeout))
    local after = session:stats()
    sum.rounds = sum.rounds + 1
    if after.waits > before.waits then
        sum.waits = sum.waits + 1
        if after.events == before.events and after.reconnects == before.reconnects then
            sum.vanished = sum.vanished + 1
        end
    end
    -- This reply comes after the event of the deletion of this lease's node.
    assert(lease:release{ wait = timeout })
end


--- A buyer that acquires and releases the lock repeatedly before it buys.
function s2.again_and_again(buyer)
    local lock = buyer.strategy:lock(buyer.lock)
    local sum = { rounds = 0, waits = 0, vanished = 0 }
    for _ = 1, ROUNDS do take_and_give_up(buyer, lock, sum) end
    buyer:note(("%d rounds, %d waits, %d vanished"):format(sum.rounds, sum.waits, sum.vanished))
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end


local function play_vanished(_, run)
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", timeout = 30,
        purchase = SELF .. "again_and_again",
    }
    local rounds, waits, gone = 0, 0, 0
    local pattern = "^(%d+) rounds, (%d+) waits, (%d+) vanished$"
    for _, note in ipairs(evidence.match_notes(sale, pattern)) do
        rounds, waits, gone = rounds + note[1], waits + note[2], gone + note[3]
    end
    return {
        right = sale.verdict == "right" and sale.sold == 2 and rounds == 2 * ROUNDS,
        finding = ("vanished before %d of %d watches"):format(gone, waits),
        again = rounds == 2 * ROUNDS and gone == 0,
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
end


-- the holder stands still ------------------------------------------------------------------------

-- The holder pauses, as in a long garbage collection (Q-01, Q-03); another buyer takes over; then
-- the first goes on. No lock service can prevent that, but the holder's lease is lost at once by
-- its own clock, and the store refuses a late write after the next holder's token.
--
-- The store must see the token before the next holder reads. If it sees the token only at the
-- write, it accepts the first buyer's write in between, and the next buyer overwrites that write
-- (DEMO-17c).

-- Length of the stop in session timeouts, long enough for the server to end the session, and for
-- the second buyer to buy.
local STOP_LENGTH = 1.75

local FIRST_HOLDS = "the first has the lock"
local BOTH_HAVE_READ = "both have read"
local FIRST_IS_DONE = "the first is done"


local function read_stock(buyer)
    if buyer.server.parameters.shown then return buyer:stock() end
    local stock = buyer.store:stock(buyer.product)
    buyer.server.faults:strike_and_note(buyer)
    return stock
end


--- Two buyers. The first is stopped between reading and writing until the second holds the lock and
--- has read, too. Then the first writes, and the second after it. With the parameter `shown` the
--- store sees a buyer's token before the read, else only at the write.
function s2.late_write(buyer)
    local is_first = buyer.number == 1
    if not is_first then buyer:wait_for(FIRST_HOLDS, 2) end
    if not buyer:enter() then return end
    buyer:come(FIRST_HOLDS)
    local stock = read_stock(buyer)
    buyer:wait_for(BOTH_HAVE_READ, 2)
    if not is_first then buyer:wait_for(FIRST_IS_DONE, 2) end
    buyer:buy_from(stock)
    buyer:come(FIRST_IS_DONE)
    buyer:leave()
end


local function in_order_of_grants(sale)
    local first, second = sale.purchases[1], sale.purchases[2]
    if second.granted and first.granted and second.granted < first.granted then
        return second, first
    end
    return first, second
end


-- The second buyer's `overtaking_event` must come before the first goes on.
local function play_late_write(scenario, run)
    local timeout = run:session_timeout()
    local sale = run:sale{
        buyers = 2, servers = 2, strategy = "zookeeper", fenced = scenario.fenced,
        timeout = 30 + STOP_LENGTH * timeout,
        purchase = scenario.purchase, parameters = { shown = scenario.shown },
        faults = { { at = 0, stop = "holder", length = STOP_LENGTH * timeout } },
    }
    local first, second = in_order_of_grants(sale)
    local waking_note = evidence.match_notes(sale, "^wakes, and its hold is (%l+)$")[1]
    local overtaken_at = second[scenario.overtaking_event]
    if not (overtaken_at and overtaken_at < sale.faults[1].ended) then
        return evidence.inconclusive(sale, "the first woke too early")
    end
    if not waking_note or waking_note[1] ~= "lost" then
        error(("the lease said %q on waking, not \"lost\"")
            :format(tostring(waking_note and waking_note[1])), 0)
    end
    if not evidence.tokens_grow(sale) then
        error("the second holder's token is not the greater one", 0)
    end
    return scenario.judge(sale, first)
end


local function judge_stock(sale)
    return evidence.outcome(sale, sale.verdict == "right",
        ("lease lost, stock %d, should be %d"):format(sale.left, seed.STOCK - sale.sold))
end


local function judge_refusal(sale, first)
    local refused = first.outcome == "late"
    return evidence.outcome(sale, sale.verdict == "right" and sale.sold == 1 and refused,
        ("lease lost, write %s, stock %d"):format(refused and "refused" or "accepted", sale.left))
end


s2.scenarios = {
    {
        id = "DEMO-09", title = "two sessions, one lock",
        expect = "right", zookeeper = true, play = play_turns, script = "once",
        explanation = "Two processes want one lock: the second has it only when the first has "
            .. "given it up.",
    },
    {
        id = "DEMO-10", title = "two sessions, each takes it twice",
        expect = "right", zookeeper = true, play = play_turns, script = "twice",
        explanation = "A holder gets the lock a second time at once, and gives it up with the "
            .. "second release.",
    },
    {
        id = "DEMO-15", title = "the holder is killed",
        expect = "right", zookeeper = true, play = play_crash,
        explanation = "A dead process cannot give its lock up, so ZooKeeper does it when its "
            .. "session has timed out.",
    },
    {
        id = "DEMO-16", title = "the predecessor vanishes too early",
        expect = "right", zookeeper = true, play = play_vanished,
        explanation = "A waiter that asks to be told of the end of a node that is gone is told at "
            .. "once, and does not wait for ever.",
    },
    {
        id = "DEMO-17a", title = "the holder is paused, no token check",
        expect = "wrong", zookeeper = true, play = play_late_write, fenced = false,
        judge = judge_stock, overtaking_event = "written",
        explanation = "A process that stood still for longer than its session wakes, and "
            .. "overwrites what the next holder wrote.",
    },
    {
        id = "DEMO-17b", title = "the holder is paused, tokens checked",
        expect = "right", zookeeper = true, play = play_late_write, fenced = true,
        judge = judge_refusal, purchase = SELF .. "late_write", shown = true,
        overtaking_event = "granted",
        explanation = "The next holder shows the store its token before it reads, and from then on "
            .. "the store refuses what the first one writes.",
    },
    { -- not the seed article's
        id = "DEMO-17c", title = "tokens checked at the write alone",
        expect = "wrong", zookeeper = true, play = play_late_write, fenced = true,
        judge = judge_stock, purchase = SELF .. "late_write", shown = false,
        overtaking_event = "granted",
        explanation = "The next holder has read, but has not written when the first one writes: "
            .. "the store takes that, and the next one overwrites it.",
    },
}


return s2
