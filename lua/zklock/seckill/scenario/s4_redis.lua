--- Locks of Redis, in seed article S4. Redisson's snippet (DEMO-13), a late DEL (DEMO-18), and a
--- death between SETNX and EXPIRE (BUG-15). Each is compared with zklock.

local evidence = require "zklock.seckill.scenario.evidence"
local seed = require "zklock.seckill.seed"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max

local SELF = "zklock.seckill.scenario.s4_redis:"

local s4 = {}


-- Redisson's snippet -----------------------------------------------------------------------------

-- tryLock(waitTime, leaseTime, SECONDS), 3000 ms of work, unlock (§3.2); --hold scales the work.
-- The sale is right if the leaseTime is longer than the work. A lock with a leaseTime has no
-- watchdog. If it ends during the work, the next buyer enters, and the holder does not notice.
-- zklock's lease cannot be too short, because the session renews it.

local WORKERS = 3

-- Lease times as multiples of the work.
local LONG, SHORT = 30, 0.2


local function work(buyer, lease)
    if not buyer:enter{ lease = lease } then return end
    local stock = buyer:stock()
    buyer:come "at work"
    zklock.sleep(buyer.server.plan.hold)
    buyer:await("tried in vain")
    buyer:buy(stock - buyer.quantity)
    buyer:note_hold()
    buyer:leave()
end


local function try_once(buyer, lease)
    buyer:await("at work")
    if buyer:enter{ lease = lease, timeout = 0 } then
        buyer:tell "refused"
        buyer:leave()
    end
    buyer:come "tried in vain"
end


--- A buyer without the lock does not unlock it (BUG-14). The last buyer tries once, while the first
--- is at work.
function s4.snippet(buyer)
    local plan = buyer.server.plan
    local role = buyer.number == plan.buyers and try_once or work
    role(buyer, buyer.server.parameters.lease)
end


local function any_two() return true end


local function play_snippet(scenario, run)
    local hold, lost = run.options.hold, 0
    local sale = run:sale{
        buyers = WORKERS + 1, servers = WORKERS + 1, strategy = scenario.strategy, hold = hold,
        purchase = SELF .. "snippet", timeout = 30 + 2 * WORKERS * hold,
        parameters = { lease = scenario.lease * math.max(hold, 0.1) },
    }
    evidence.require_served(sale, WORKERS)
    for _, each in ipairs(evidence.hold_notes(sale)) do
        if each[1] == "lost" then lost = lost + 1 end
    end
    local overlapped = evidence.held_at_once(sale, any_two)
    if sale.verdict == "wrong" and not (lost > 0 and overlapped) then
        error("it is wrong, but not because a lease ended: " .. sale.finding, 0)
    end
    -- In a race the stock may be right by luck; then the scenario is played again.
    local excluded = scenario.race or lost == 0 and not overlapped
    return evidence.outcome(sale, sale.verdict == "right" and excluded and sale.failures.busy == 1,
        ("stock %d, should be %d; %d lost"):format(sale.left, seed.STOCK - WORKERS, lost))
end


-- a late release ---------------------------------------------------------------------------------

-- Another client's lock is deleted (PIT-07, BUG-16). A is stopped with the lock; A's key expires; B
-- locks; A goes on, and its late DEL removes B's lock; C enters beside B. A has bought before its
-- stop, so only the release does harm. With zklock A loses its lock, too, but its late release can
-- only delete A's own node, which is gone.

local LEASE = 1 -- seconds of A's lock; other locks last the engine's default

-- Seconds for which B waits for C, if C must come, or must not.
local COMES, STAYS_AWAY = 20, 0.5


-- Unlike buyer:stock(), this lets no fault strike.
local function read_stock(buyer) return buyer.store:stock(buyer.product) end


-- A does not check its lock, because it would then know not to release it.
local function first(buyer)
    if not buyer:enter{ lease = buyer.server.parameters.lease } then return end
    buyer:come "the first has it"
    buyer:buy(read_stock(buyer) - buyer.quantity)
    buyer.server.faults:strike(buyer)
    buyer:leave()
    buyer:come "late release"
end


-- Writes after the third buyer has read the stock, or after a while.
local function second(buyer)
    buyer:await("the first has it")
    if not buyer:enter() then return end
    local stock = read_stock(buyer)
    buyer:come "the second has it"
    buyer:await("late release")
    local server = buyer.server
    server.barriers:wait("the third has it", 1, server.parameters.third_within, zklock.sleep)
    buyer:note_hold()
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end


local function third(buyer)
    buyer:await("the second has it")
    if not buyer:enter() then return end
    local stock = read_stock(buyer)
    buyer:come "the third has it"
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end


local ROLES = { first, second, third }

function s4.late_release(buyer) ROLES[buyer.number](buyer) end


-- True if A wrote before B read, and B read before A went on.
local function is_as_meant(fault, a, b)
    return fault.target == "server 1" and a.written < b.granted and b.granted < fault.ended
end


local function play_late_release(scenario, run)
    -- Long enough for the lock to expire, and for B to get it.
    local length = scenario.zookeeper and 1.75 * run:session_timeout() or 2 * LEASE
    local sale = run:sale{
        buyers = 3, servers = 3, strategy = scenario.strategy, timeout = 30 + length,
        purchase = SELF .. "late_release",
        parameters = {
            lease = LEASE, third_within = scenario.expect == "wrong" and COMES or STAYS_AWAY,
        },
        faults = { { at = 0, stop = "holder", length = length } },
    }
    local a, b, c = unpack(sale.purchases)
    evidence.require_served(sale, 3)
    if not is_as_meant(sale.faults[1], a, b) then
        return evidence.inconclusive(sale, "the first woke too early")
    end
    local overlapped = c.granted < b.released
    if overlapped and c.granted < a.released then
        error("the third did not come after the late release", 0)
    end
    local hold = evidence.hold_notes(sale)[1] -- B's, after A's release and C's attempt
    return evidence.outcome(sale, sale.verdict == "right" and not overlapped and hold[1] == "held",
        ("stock %d, should be %d; %s"):format(sale.left, seed.STOCK - 3,
            overlapped and "C beside B" or "B alone"))
end


-- a death in between -----------------------------------------------------------------------------

-- SETNX and EXPIRE are two commands. A server killed between them leaves a key that never expires,
-- and nobody is served. With zklock a lock ends with the killed server's session, whenever the
-- kill comes.

local BUYERS = 3

local GAP = 3         -- seconds between SETNX and EXPIRE
local KILLED_AT = 0.6 -- seconds after the start, in the gap, when all others wait
local PATIENCE = 2    -- CFG-11
local HEAD_START = 0.2 -- seconds for the first buyer

local NO_END = "^the key ends in %-1 s$" -- Redis's answer for a key without expiry


-- Notes the remaining life of the Redis key that the buyer waited for in vain.
local function note_end(buyer)
    local engine = buyer.strategy.engine
    if not engine then return end
    local seconds = engine.redis:call("ttl", buyer.server:path("lock/" .. buyer.lock))
    buyer:note(("the key ends in %d s"):format(seconds))
end


--- The first buyer is killed on its way into the lock, or just after its grant, while later buyers
--- wait.
function s4.half_locked(buyer)
    if buyer.number == 1 then
        buyer:come "asks"
    else
        buyer:await("asks")
        zklock.sleep(HEAD_START)
    end
    if not buyer:enter() then return note_end(buyer) end
    buyer:try_to_buy()
    buyer:leave()
end


local function half_locked_sale(run, options)
    options.buyers, options.servers = BUYERS, BUYERS
    options.purchase = SELF .. "half_locked"
    return run:sale(options)
end


local function play_half_locked(_, run)
    local sale = half_locked_sale(run, {
        strategy = "redis-expire", timeout = PATIENCE, parameters = { engine = { gap = GAP } },
        faults = { { at = KILLED_AT, kill = "server 1" } },
    })
    local first_purchase, gave_up = sale.purchases[1], sale.failures.timeout
    local waited_in_vain = #evidence.match_notes(sale, NO_END)
    if first_purchase.granted or not first_purchase.asked or waited_in_vain ~= BUYERS - 1 then
        return evidence.inconclusive(sale, "the first was not killed in the gap")
    end
    evidence.convict(sale, ("%d waited in vain for a dead buyer's key"):format(gave_up))
    return evidence.outcome(sale, false,
        ("%d waited %g s in vain, no TTL"):format(gave_up, PATIENCE))
end


local function play_killed_holder(_, run)
    local timeout = run:session_timeout()
    local sale = half_locked_sale(run, {
        strategy = "zookeeper", timeout = 30 + 2 * timeout,
        faults = { { at = 0, kill = "holder" } },
    })
    return evidence.outcome(sale, sale.verdict == "right" and sale.sold == BUYERS - 1,
        ("next after %.2f s (session %g s)"):format(evidence.wait_after_death(sale), timeout))
end


s4.of_engines = {
    {
        id = "DEMO-13a", title = "Redisson's snippet",
        expect = "right", play = play_snippet, strategy = "redisson", lease = LONG,
        explanation = "Each works with the lock and gives it up; one that did not get it leaves "
            .. "it alone.",
    },
    {
        id = "DEMO-13b", title = "leaseTime is shorter than the work",
        expect = "wrong", race = true, play = play_snippet, strategy = "redisson", lease = SHORT,
        explanation = "The lock ends while its holder is at work, the next comes in and reads the "
            .. "same stock; a lock with a leaseTime is not renewed.",
    },
    {
        id = "DEMO-13c", title = "the same work with zklock",
        expect = "right", zookeeper = true, play = play_snippet, strategy = "zookeeper",
        lease = SHORT,
        explanation = "A lock lasts as long as its holder's session, which renews itself, however "
            .. "long the work is.",
    },
    {
        id = "DEMO-18a", title = "a late DEL, redis-expire",
        expect = "wrong", play = play_late_release, strategy = "redis-expire",
        explanation = "A key that does not name its owner is deleted by a late holder, so a "
            .. "third buyer comes in beside the second.",
    },
    {
        id = "DEMO-18b", title = "a late release, redis-set",
        expect = "right", play = play_late_release, strategy = "redis-set",
        explanation = "The key has a random value: a late release compares it, and deletes "
            .. "nothing.",
    },
    {
        id = "DEMO-18c", title = "a late release, zklock",
        expect = "right", zookeeper = true, play = play_late_release, strategy = "zookeeper",
        explanation = "Each waiter has a node of its own; the late one's is gone, and nobody "
            .. "else's is touched.",
    },
    {
        id = "BUG-15a", title = "killed between SETNX and EXPIRE",
        expect = "wrong", play = play_half_locked,
        explanation = "The key was to end after a while, but the process died before it could say "
            .. "so; it stays until somebody deletes it by hand.",
    },
    {
        id = "BUG-15b", title = "killed just after the grant, zklock",
        expect = "right", zookeeper = true, play = play_killed_holder,
        explanation = "The request that creates the lock also ties it to the session, so at no "
            .. "moment is there a lock without an end.",
    },
}


return s4
