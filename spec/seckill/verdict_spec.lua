--- What a sale's verdict tells beside the store's: buyers that waited in vain, and what a script
--- expects. What is promised in docs/seckill.md.

local is_refused = require "spec.seckill.refused"
local seckill = require "zklock.seckill"
local stuck = require "zklock.seckill.stuck"

package.path = "spec/seckill/?.lua;docs/seckill/?.lua;" .. package.path

local HOSTS = os.getenv "ZK_HOSTS"
local LONG = 60 -- seconds: no session ends where a machine stands still


-- A small quick sale with these options.
local function sale(options)
    options.zookeeper = options.zookeeper or HOSTS
    options.pause = options.pause or 0.002
    options.session, options.timeout = options.session or LONG, options.timeout or LONG
    return seckill.sale(options)
end


describe("buyers that waited in vain", function()
    local KILL = { kind = "kill", target = "server 1" }
    local DEAD = { server = 1, granted = 1, ended = 2 } -- a holder that was killed

    -- How many there are beside these, of which each wants a bun.
    local function count(left, faults, ...)
        for _, each in ipairs{ ... } do
            each.server, each.quantity = each.server or 2, each.quantity or 1
            each.product, each.lock, each.asked = "bun", "bun", each.asked or 0
            each.outcome = each.outcome or each.released and "sold" or "unanswered"
        end
        return stuck.count({ purchases = { ... }, faults = faults }, { bun = { left = left } }, 20)
    end

    local function waits(told, more)
        local purchase = { outcome = "timeout", told = told }
        for name, value in pairs(more or {}) do purchase[name] = value end
        return purchase
    end

    it("waited for a lock that a dead holder has left (PIT-13)", function()
        assert.equal(2, count(5, { KILL }, DEAD, waits(10), waits(11)))
        assert.equal(0, count(5, {}, { granted = 1, released = 9.9 }, waits(10), waits(10)))
        assert.equal(1, count(5, {}, { granted = 1, released = 2 }, waits(10)))
    end)

    it("saw it free for long, or for some time and for ever", function()
        local first, next_one = { granted = 1, released = 7 }, { granted = 11, released = 12 }
        assert.equal(1, count(5, {}, first, waits(10)))
        assert.equal(0, count(5, {}, first, next_one, waits(10)))
        first.released = 4
        assert.equal(1, count(5, {}, first, next_one, waits(10)))
    end)

    it("do not wait for a holder: not while one has the lock, though it is stopped", function()
        assert.equal(0, count(5, {}, { granted = 1, released = 30, outcome = "late" }, waits(10)))
        assert.equal(0, count(5, { { kind = "stop", target = "server 1" } },
            { server = 1, granted = 1, ended = 2, outcome = "error" }, waits(10)))
        assert.equal(0, count(5, {}, { granted = 1, released = 9.5 }, { granted = 2, released = 3 },
            waits(10)))
    end)

    it("want something that is there, and are not killed themselves", function()
        assert.equal(0, count(1, { KILL }, DEAD, waits(10, { quantity = 2 })))
        assert.equal(0, count(5, { KILL }, DEAD, waits(10, { server = 1 })))
        assert.equal(0, count(5, {}, waits(10, { outcome = "error" })))
        assert.equal(0, count(5, {}, waits(10, { outcome = "closed" })))
    end)

    it("may wait until a sale that hangs is ended", function()
        assert.equal(2, count(5, {}, { granted = 1 }, { asked = 2 }))
    end)
end)


describe("a sale is stuck", function()
    it("when a holder was killed and its lock stays (PIT-13) #slow", function()
        local it_is = sale{ strategy = "shared", buyers = 6, timeout = 3,
            faults = { { at = 0, kill = "holder" } } }
        assert.same({ "stuck", 0, 6 }, { it_is.verdict, it_is.sold, it_is.failed })
        assert.equal("0 sold and 100 left of 100 pieces; 3 buyers waited in vain", it_is.finding)
        assert.matches("^shared: STUCK, ", tostring(it_is))
        assert.equal("stuck", it_is:record().verdict)
    end)

    it("when no buyer got an answer, for all servers were killed", function()
        local it_is = sale{ strategy = "none", pause = 60,
            faults = { { kill = "server 1" }, { kill = "server 2" } } }
        assert.same({ "stuck", { unanswered = 10 } }, { it_is.verdict, it_is.failures })
        assert.equal("0 sold and 100 left of 100 pieces; no buyer got an answer", it_is.finding)
    end)

    it("and not when the next holder comes, and buys (DEMO-15) #slow", function()
        local it_is = sale{ buyers = 6, session = 1, faults = { { at = 0, kill = "holder" } } }
        assert.same({ "right", 3, { unanswered = 3 } },
            { it_is.verdict, it_is.sold, it_is.failures })
    end)
end)


describe("what a script expects of a sale", function()
    it("makes it wrong if it does not come", function()
        local expect = { sold = 3, refused = 1, failed = 0 }
        local options = { strategy = "local", servers = 1, buyers = 4, products = { bun = 3 },
                          expect = expect }
        assert.equal("right", sale(options).verdict)
        expect.sold, expect.refused = 4, 0
        local it_is = sale(options)
        assert.same({ "wrong", "3 sold and 0 left of 3 pieces; expected 0 refused and not 1, "
            .. "4 sold and not 3" }, { it_is.verdict, it_is.finding })
    end)

    it("is of simulated sales, too", function()
        local options = { buyers = 2, products = { bun = 1 }, expect = { sold = 2 }, faults = {} }
        local found = seckill.explore(options, { seeds = 3 })
        assert.equal(3, found.wrong)
        assert.matches("expected 2 sold and not 1", found.first.finding)
        options.expect = { sold = 1, refused = 1 }
        assert.equal(0, seckill.explore(options, { seeds = 3 }).wrong)
    end)

    it("is checked before", function()
        local function refused(expect, pattern)
            is_refused(pattern, seckill.sale, { expect = expect })
        end
        refused(1, "expect is a table of counts of buyers, .*, not 1")
        refused({ bought = 1 }, "it has no \"bought\"")
        refused({ sold = -1 }, "sold must be a whole number from 0")
    end)
end)
