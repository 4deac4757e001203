--- [lua luajit] Sales in virtual time, with seckill.sale{ simulated = true }, seckill.explore and
--- --explore, as docs/seckill.md promises.

local evidence = require "zklock.seckill.scenario.evidence"
local files = require "spec.files"
local is_refused = require "spec.seckill.refused"
local memory = require "zklock.seckill.store.memory"
local rig = require "spec.rig"
local run = require "spec.seckill.demo"
local seckill = require "zklock.seckill"
local ttl_lock = require "zklock.seckill.lessons.ttl_lock"
local zklock = require "zklock"


local function with(options, others)
    local all = {}
    for name, value in pairs(options) do all[name] = value end
    for name, value in pairs(others or {}) do all[name] = value end
    return all
end


local SMALL = { buyers = 2, servers = 2, products = { bun = 1 } }

local function sale(options) return assert(seckill.sale(with(options, { simulated = true }))) end

local function explore(options, seeds)
    local found = assert(seckill.explore(with(SMALL, options),
        { seeds = seeds or 200, moment = false }))
    assert.equal(seeds or 200, found.schedules)
    return found
end


-- Calls fn while a module of that name exists.
local function with_module(name, module, fn, ...)
    package.loaded[name] = module
    local results = { pcall(fn, ...) }
    package.loaded[name] = nil
    if not results[1] then error(results[2], 0) end
    return results[2]
end


describe("a simulated sale", function()
    -- The number of 100 buyers that came in the first half of the time, and the last arrival.
    local function come(rates)
        local it_is = sale{ buyers = 100, arrivals = rates, seed = 3, strategy = "none" }
        local early, last = 0, 0
        for _, purchase in ipairs(it_is.purchases) do
            if purchase.asked < 10 then early = early + 1 end
            last = math.max(last, purchase.asked)
        end
        return early, math.floor(100 * last + 0.5)
    end

    it("buyers arrive at once, at a constant random rate, at a rising rate, or at a falling rate",
       function()
        for _, row in ipairs{ { nil, 100, 100, 0 }, { 5, 35, 65, 2000 },
                              { { 0, 10 }, 10, 40, 2000 }, { { 10, 0 }, 60, 90, 2000 } } do
            local early, last = come(row[1])
            assert.is_true(row[2] <= early and early <= row[3], early)
            assert.equal(row[4], last)
        end
    end)

    it("a simulated sale sells the stock and no more, and has the fields of other sales", function()
        local it_is = sale{ buyers = 20, products = { bun = 15 }, seed = 7 }
        assert.equal("right", it_is.verdict)
        assert.same({ 15, 5, 0, 0 }, { it_is.sold, it_is.refused, it_is.failed, it_is.left })
        assert.is_true(evidence.tokens_grow(it_is))
        assert.same({}, it_is.overlaps)
        assert.equal(20, it_is.wait:count())
        assert.is_true(it_is.seconds > 15 * 0.02 and it_is.seconds < 1)
        assert.equal(7, it_is.seed)
        assert.matches("server 1 +granted /sale/lock/bun, token", it_is.story)
        assert.matches("^zookeeper: RIGHT, 15 sold and 0 left of 15 pieces\n"
            .. "20 buyers: 15 sold, 5 refused, 0 failed",
            tostring(it_is))
    end)

    -- Options, and the numbers of sold, refused and left pieces.
    for title, row in pairs{
        ["several pieces to each buyer, or none if too few are left"] =
            { { products = { bun = 10 }, buyers = 4, quantity = 3 }, 3, 1, 1 },
        ["two products under two locks at once (BUG-19)"] =
            { { products = { bun = 30, tea = 30 }, buyers = 40,
                product = function(i) return i <= 25 and "bun" or "tea" end }, 40, 0, 20 },
        ["two products under one lock on request (PIT-12)"] =
            { { products = { bun = 9, tea = 9 }, lock = "one" }, 10, 0, 8 },
    } do
        it("a simulated sale sells " .. title, function()
            local it_is = sale(row[1])
            assert.same({ "right", row[2], row[3], row[4] },
                { it_is.verdict, it_is.sold, it_is.refused, it_is.left })
            for _, each in ipairs(it_is.purchases) do
                assert.equal(row[1].lock and "all" or each.product, each.lock)
            end
        end)
    end

    it("both servers sell each of two products by default", function()
        local seen = {}
        for _, each in ipairs(sale{ products = { bun = 9, tea = 9 } }.purchases) do
            seen[each.product .. each.server] = true
        end
        assert.same({ bun1 = true, bun2 = true, tea1 = true, tea2 = true }, seen)
    end)

    it("equal seeds give equal sales, and other seeds give other sales", function()
        local options = { buyers = 12, seed = 3, faults = { stop = true, kill = true, cut = true } }
        local one, again = sale(options), sale(options)
        assert.equal(one.story, again.story)
        assert.same(one.purchases, again.purchases)
        assert.same(one.faults, again.faults)
        assert.not_equal(one.story, sale(with(options, { seed = 4 })).story)
    end)

    local function count(messages, fits)
        local found = 0
        for _, each in ipairs(messages) do if fits(each) then found = found + 1 end end
        return found
    end

    it("each request about a lock has its answer among the messages, and each deletion its event",
       function()
        local it_is = sale{ buyers = 4, products = { ["a.bun"] = 2 } }
        local kinds, texts = { request = 0, answer = 0, event = 0 }, {}
        for _, each in ipairs(it_is.messages) do
            kinds[each.kind] = kinds[each.kind] + 1
            texts[each.text] = true
            assert.is_true(each.sent <= each.arrived)
            local of_session = each.text:find "^connect" or each.text:find "^close"
            assert.equal(not of_session and "a.bun" or nil, each.lock)
        end
        assert.equal(kinds.request, kinds.answer)
        assert.is_true(kinds.event >= 3)
        for _, text in ipairs{ "create lock", "answer to create #0", "get and watch #0",
                               "#0 was deleted", "delete #3", "answer to create lock: no node" } do
            assert.is_true(texts[text], text)
        end
    end)

    it("messages are lost with a connection, and at most 2000 are kept", function()
        local lost = 0
        for seed = 1, 20 do
            local it_is = sale{ seed = seed, faults = { cut = true } }
            lost = lost + count(it_is.messages, function(each) return not each.arrived end)
        end
        assert.is_true(lost > 0)
        local of_many = sale{ buyers = 1000, products = { bun = 1 }, pause = 0, timeout = 3600 }
        assert.is_true(#of_many.messages > 1900 and #of_many.messages <= 2000)
    end)

    it("a sale without ZooKeeper has no messages", function()
        assert.same({}, sale{ strategy = "local" }.messages)
    end)

    it("a stopped holder's late write is refused, if the store is shown tokens", function()
        local options = { faults = { { at = 0, stop = "holder", length = 30 } } }
        local it_is = sale(options)
        assert.same({ "right", 1 }, { it_is.verdict, it_is.failures.late })
        local struck = it_is.faults[1]
        assert.same({ "stop", 1 }, { struck.kind, #it_is.faults })
        assert.near(30, struck.ended - struck.at, 1e-6)
        local waking_note = evidence.match_notes(it_is, "^wakes, and its hold is (%l+)$")[1]
        assert.same({ "lost" }, { waking_note[1] })
        assert.equal("wrong", sale(with(options, { fenced = false })).verdict)
    end)

    it("a killed server ends its hold, and its buyers get no answer", function()
        local it_is = sale{ faults = { { at = 0.03, kill = "holder" } } }
        assert.equal("right", it_is.verdict)
        local killed = it_is.faults[1]
        assert.equal("kill", killed.kind)
        assert.is_true(killed.at >= 0.03)
        assert.is_true(it_is.failures.unanswered >= 3)
        local heir = evidence.next_grant_after(it_is, killed.at)
        assert.is_true(heir.granted - killed.at > 1 and heir.granted - killed.at <= 3)
        local held = 0
        for _, purchase in ipairs(it_is.purchases) do
            if purchase.ended then
                held = held + 1
                assert.equal(killed.at, purchase.ended)
            end
        end
        assert.equal(1, held)
    end)

    it("a fault stops a server at its time", function()
        local it_is = sale{ faults = { { at = 0.01, stop = "server 2", length = 1 } } }
        assert.same({ { at = 0.01, ended = 1.01, kind = "stop", target = "server 2" } },
            it_is.faults)
        assert.equal("right", it_is.verdict)
    end)

    it("a fault at the beginning does not strike a server that connects", function()
        for _, kind in ipairs{ "cut", "stop" } do
            local it_is = sale{ servers = 3, session = 0.5, faults = {
                { at = 0, [kind] = "server 1", length = 8 }, { at = 0, kill = "server 2" },
            } }
            assert.equal("right", it_is.verdict, it_is.finding)
            assert.equal(2, #it_is.faults)
        end
    end)

    it("a fault that is planned after the sale, or after its limit, does not come", function()
        for _, whom in ipairs{ "server 2", "holder" } do
            local faults = {}
            for n, at in ipairs{ 4, 5, 10 } do faults[n] = { at = at, kill = whom } end
            local it_is = sale{ limit = 5, faults = faults }
            assert.same({ "right", 10, 0 }, { it_is.verdict, it_is.sold, #it_is.faults })
        end
    end)

    it("a waiter for the local lock gives up by the clock, and not by the number of its looks",
       function()
        local it_is = sale{
            strategy = "local", servers = 1, buyers = 2, timeout = 10, hold = 60,
            faults = { { at = 1, stop = "server 1", length = 30 } },
        }
        assert.same({ 1, { timeout = 1 } }, { it_is.sold, it_is.failures })
        assert.near(31, it_is.purchases[2].told, 0.1)
    end)

    it("a buyer's own timeout ends its wait, for one lock or for several", function()
        -- Buyers 1 and 2 hold bun and tea for 3 and 6 seconds.
        local function purchase(buyer)
            if buyer.number < 3 then
                buyer:enter()
                zklock.sleep(3 * buyer.number)
            else
                zklock.sleep(1)
                buyer:enter(buyer.number == 3 and { timeout = 1 }
                    or { timeout = 4, products = { "bun", "tea" } })
            end
            buyer:tell(buyer.told or "refused")
        end
        with_module("impatient", purchase, function()
            for _, strategy in ipairs{ "local", "zookeeper" } do
                local it_is = sale{ purchase = "impatient", strategy = strategy, servers = 1,
                    buyers = 4, products = { bun = 9, tea = 9 }, timeout = 60 }
                local third, fourth = it_is.purchases[3], it_is.purchases[4]
                assert.same({ timeout = 2 }, it_is.failures, strategy)
                assert.near(2, third.told, 0.1)
                assert.near(5, fourth.told, 0.1)
            end
        end)
    end)

    -- Strategies of lessons, with their parameters.
    for name, parameters in pairs{
        dated = { lease = 60, jump = { server = 2, at = 0, by = 0 } }, polled = {}, ttl = {},
        replicated = { lags = { 0.01, 0.02 }, failover = 1, ttl = 60, dies_after = 60 },
        switched = { hears = { 60 } },
    } do
        it("a buyer's own timeout ends its wait for the lock of a lesson: " .. name, function()
            local function purchase(buyer)
                zklock.sleep(buyer.number / 10)
                if not buyer:enter{ timeout = buyer.number } then return end
                zklock.sleep(10)
                buyer:tell "refused"
                buyer:leave()
            end
            with_module("waiting_briefly", purchase, function()
                local it_is = sale{ purchase = "waiting_briefly", servers = 1, buyers = 2,
                    strategy = "zklock.seckill.lessons." .. name .. "_lock", timeout = 60,
                    parameters = parameters }
                assert.same({ timeout = 1 }, it_is.failures)
                local wait = it_is.purchases[2].told - it_is.purchases[2].asked
                assert.is_true(wait >= 2 and wait < 3.1, wait)
            end)
        end)
    end

    it("servers may have no buyers, or many", function()
        assert.equal(1, sale{ buyers = 1, servers = 3 }.sold)
        local it_is = sale{ buyers = 2500, servers = 2, pause = 0, timeout = 3600 }
        assert.same({ 100, 2400 }, { it_is.sold, it_is.refused })
    end)

    it("writes of a user's store take a while", function()
        with_module("shelf", memory, function()
            local it_is = sale{ store = "shelf", pause = 0 }
            assert.same({ "right", 10, 90 }, { it_is.verdict, it_is.sold, it_is.left })
            for _, purchase in ipairs(it_is.purchases) do
                assert.is_true(purchase.written > purchase.granted)
            end
            assert.equal("wrong", sale{ store = "shelf", strategy = "none" }.verdict)
        end)
    end)

    it("a user's strategy may declare that it can be simulated", function()
        local strategy = { simulated = true, needs_zookeeper = true }
        strategy.__index = strategy
        function strategy.prepare(about) strategy.locks = about.locks end
        function strategy.open(server)
            return setmetatable({ session = server:session(), server = server }, strategy)
        end
        function strategy:enter(lock)
            return self.session:mutex(self.server:path(lock)):acquire(self.server.timeout)
        end
        function strategy.leave(_, lease) lease:release() end
        with_module("ours", strategy, function()
            assert.same({ "right", 10 }, { sale{ strategy = "ours" }.verdict,
                sale{ strategy = "ours" }.sold })
            assert.equal(1, #strategy.locks)
            strategy.simulated = nil
            is_refused("the strategy ours has its locks outside", seckill.sale,
                { simulated = true, strategy = "ours" })
        end)
    end)

    it("a user's purchase may wait for other buyers", function()
        local function meet(buyer)
            buyer:wait_for("here", 10)
            buyer:note(("%d"):format(math.random(1e6)))
            buyer:tell "refused"
        end
        with_module("meet", meet, function()
            local one, again = sale{ purchase = "meet" }, sale{ purchase = "meet" }
            assert.equal(10, one.refused)
            assert.same(one.notes, again.notes)
            local few = sale{ purchase = "meet", buyers = 9 }
            assert.matches("nothing more can happen: server %d waits for others", few.finding)
        end)
    end)

    it("the script's own random numbers go on after it", function()
        local function draw()
            sale{ buyers = 1 }
            return math.random(1000000000)
        end
        assert.not_equal(draw(), draw())
    end)

    it("a sale beyond its limit is wrong", function()
        with_module("idle", function() zklock.sleep(1e6) end, function()
            local it_is = sale{ purchase = "idle", limit = 5 }
            assert.same({ "wrong", "it is not over after 5 s" }, { it_is.verdict, it_is.finding })
        end)
    end)

    it("a sale with a failed server is wrong, and an error of the store's creation is raised",
       function()
        local broken = { create = memory.create, open = function() error("no shelf", 0) end }
        with_module("broken_shelf", broken, function()
            local it_is = sale{ store = "broken_shelf" }
            assert.same({ "wrong", "no shelf" }, { it_is.verdict, it_is.finding })
            broken.create = function() error("no wood", 0) end
            assert.error_matches(function() sale{ store = "broken_shelf" } end, "^no wood$")
        end)
    end)

    it("a sale with locks or stock outside of the world is refused", function()
        local outside = {
            { strategy = "redlock" }, { strategy = "shared" }, { strategy = "sql-table" },
            { strategy = "sql-optimistic" }, { store = "sqlite" }, { store = "zookeeper" },
            { store = "mysql://root@127.0.0.1:1" },
        }
        for _, options in ipairs(outside) do
            for _, fn in ipairs{ seckill.sale, seckill.explore } do
                is_refused("outside of the world", fn, with(options, { simulated = true }))
            end
        end
        is_refused("redlock has its locks outside", seckill.compare, { "none", "redlock" },
            { simulated = true })
    end)

    it("a simulated sale inside a world returns the code context", function()
        local code
        local world = zklock.world(function(world)
            world:process("one", function()
                code = select(3, seckill.sale{ simulated = true })
            end)
        end)
        assert(world:run())
        assert.equal("context", code)
    end)

    it("a comparison of simulated sales has each strategy", function()
        local all = seckill.compare({ "none", "zookeeper" }, { simulated = true })
        assert.same({ "wrong", "right" }, { all[1].verdict, all[2].verdict })
        assert.matches("\nzookeeper +right +10 ", tostring(all))
        assert.equal("autumn: none",
            seckill.compare({ "none" }, { simulated = true, name = "autumn" })[1].name)
    end)

    it("options of real sales, and wrong faults, are refused", function()
        local function refused(pattern, options)
            is_refused(pattern, seckill.sale, with({ simulated = true }, options))
        end
        for _, name in ipairs{ "lua", "mysql", "redis", "zookeeper" } do
            refused(name .. " is of real sales", { [name] = "127.0.0.1:1" })
        end
        refused("no faults but stops, kills and cuts", {
            faults = { { at = 0, run = print, what = "a", where = "b" } },
        })
        refused('unknown option "hang" in faults; known: cut, delay, expire, kill, stop', {
            faults = { hang = true },
        })
        refused("a fault has one of stop", { faults = { {} } })
        refused("simulated must be true or false, not 1", { simulated = 1 })
        refused("seed must be a whole number from 1", { seed = 0 })
        is_refused('the store "memory" is of simulated sales', seckill.sale, { store = "memory" })
        is_refused("servers must be a whole number from 1 to 100,", seckill.sale, { servers = 101 })
    end)
end)


describe("many schedules of a simulated sale", function()
    it("zklock's locks keep all schedules right, whatever happens", function()
        for _, options in ipairs{ {}, { strategy = "zookeeper-turns" },
                                  { strategy = "zookeeper-none" }, { strategy = "zookeeper-rw" },
                                  { buyers = 6, servers = 1 },
                                  { buyers = 6, servers = 3, products = { bun = 9 } } } do
            local found = explore(with(options, {
                faults = { stop = true, kill = true, cut = true, expire = true },
            }), 300)
            assert.equal(0, found.wrong, tostring(found))
            assert.is_nil(found.first)
            assert.is_true(found.sold > 200) -- of 300
        end
    end)

    it("buyers of little patience meet no wrong schedule", function()
        for _, options in ipairs{
            { timeout = 0 }, { timeout = 1 }, { timeout = 0, faults = {} },
            { timeout = 0, faults = {}, arrivals = 150, pause = 0.005 },
            { timeout = 0.01, faults = {}, arrivals = 150, pause = 0.005 },
            { timeout = 0.15, faults = { delay = 0.1 }, arrivals = 5, buyers = 30 },
            { timeout = 5, faults = { delay = 0.6 }, arrivals = 2, session = 20 },
        } do
            local found = explore(with({ buyers = 8, products = { bun = 100 }, pause = 0.05 },
                options), 100)
            assert.equal(0, found.wrong, tostring(found))
        end
    end)

    it("servers that are struck while their buyers wait make no schedule wrong", function()
        for _, fault in ipairs{
            { at = 0.5, stop = "server 1", length = 8 }, { at = 0.5, cut = "server 1", length = 8 },
            { at = 0.5, kill = "server 1" },
        } do
            local it_is = sale{ buyers = 8, pause = 0.3, timeout = 4, session = 20,
                faults = { fault } }
            assert.equal("right", it_is.verdict, it_is.finding)
            assert.is_true(it_is.failures.timeout >= 3) -- of server 2
        end
    end)

    it("a server that is stopped while it takes or releases a lock may hold it", function()
        for seed = 20, 40 do
            local it_is = sale{ strategy = "zklock.seckill.lessons.replicated_lock", seed = seed,
                servers = 3, buyers = 30, arrivals = 6, pause = 0.005, timeout = 2,
                parameters = { lags = { 0.05, 0.08 }, failover = 1, ttl = 60, dies_after = 60,
                    majority = true },
                faults = { { at = 1 + seed / 50, stop = "server 2", length = 6 } } }
            assert.equal("right", it_is.verdict, it_is.finding)
        end
    end)

    it("buyers wait until the session of a killed server ends, perhaps late", function()
        for seed = 1, 10 do
            local it_is = sale{ buyers = 8, timeout = 27, session = 20, seed = seed,
                faults = { { at = 0.05, kill = "server 1" } } }
            assert.equal("right", it_is.verdict, it_is.finding)
        end
    end)

    it("schedules without a lock are wrong", function()
        assert.equal(200, explore{ strategy = "none", faults = {} }.wrong)
    end)

    it("servers without a session meet faults, too", function()
        local options = {
            strategy = "zklock.seckill.lessons.ttl_lock", parameters = { ttl = 5 }, fenced = false,
        }
        assert.equal(0, explore(with(options, { faults = {} })).wrong)
        local found = explore(options)
        assert.is_true(found.wrong > 0)
        assert.equal("2 sold of 1 piece: 1 more than there were", found.first.finding)
        local all = seckill.explore(with(SMALL, options), { all = { preemptions = 0 } })
        assert.is_true(all.wrong > 0)
    end)

    it("a stuck sale is no right one", function()
        local forgetful = with(ttl_lock, { leave = function() end })
        forgetful.__index = forgetful
        function forgetful.open(server) return setmetatable(ttl_lock.open(server), forgetful) end
        with_module("forgetful", forgetful, function()
            local options = { strategy = "forgetful", products = { bun = 2 }, faults = {} }
            local found = explore(options, 5)
            assert.equal(5, found.wrong)
            assert.same({ "stuck", "1 sold and 1 left of 2 pieces; 1 buyer waited in vain; "
                .. "1 of 2 buyers failed (1 timeout)" },
                { found.first.verdict, found.first.finding })
            local status, out = run{ "--explore", "5", "--strategy", "forgetful" }
            assert.equal(1, status)
            assert.matches("^forgetful: 5 of 5 schedules wrong, .*\nforgetful: STUCK, ", out)
        end)
    end)

    it("schedules with a release before the commit are wrong (DEMO-06) #slow", function()
        local options = { fenced = false, faults = {} }
        options.purchase = "commit_then_release"
        assert.equal(0, explore(options).wrong)
        options.purchase = "release_then_commit"
        assert.equal(200, explore(options).wrong)
        options.pause = 0 -- the commit alone takes time
        local few = explore(options, 1000).wrong
        assert.is_true(few > 0 and few < 100)
    end)

    -- A store that was shown the next token waits for uncommitted writes.
    it("schedules with that release are right if the store is shown tokens, even when servers die",
       function()
        for _, purchase in ipairs{ "release_then_commit", "commit_then_release" } do
            local found = explore({ purchase = purchase }, 300)
            assert.equal(0, found.wrong, tostring(found))
        end
    end)

    it("the first wrong schedule is told with the faults that it needs", function()
        local found = explore({ fenced = false }, 500)
        local first = found.first
        assert.is_true(found.wrong > 1 and found.wrong < 100)
        assert.same({ "wrong", "2 sold of 1 piece: 1 more than there were" },
            { first.verdict, first.finding })
        assert.same({ "stop", 1 }, { first.faults[1].kind, #first.faults })
        assert.matches("is stopped for", first.story)
        assert.equal(2, #first.purchases)
        local text = tostring(found)
        assert.matches("^zookeeper: %d+ of 500 schedules wrong, %d+ sold; the first: seed %d+\n"
            .. "zookeeper: WRONG, 2 sold of 1", text)
        assert.is_truthy(text:find(first.story, 1, true))
    end)

    -- How schedules are chosen, and how the text begins.
    for name, case in pairs{
        ["all schedules"] = { { all = { preemptions = 0 } },
            "zookeeper: 4 of all 58 schedules with at most 0 preemptions and 1 stop wrong, 62 sold"
            .. '; the first: schedule "34:2"\n' },
        ["a schedule by its name"] = { { schedule = "34:2" },
            'zookeeper: 1 of 1 schedules wrong, 2 sold; the first: schedule "34:2"\n' },
        ["schedules of random priorities"] = { { pct = 2 },
            "zookeeper: 11 of 100 schedules wrong, 111 sold; the first: seed 1, depth 1\n" },
    } do
        it("an exploration runs " .. name .. ", and finds the first wrong moment", function()
            local found = assert(seckill.explore(with(SMALL, {
                fenced = false, faults = { stop = { most = 1 } },
            }), case[1]))
            local text, moment = tostring(found), found.first.moment
            assert.equal(case[2], text:sub(1, #case[2]))
            assert.matches("^server %d is stopped for ", moment.text)
            assert.is_truthy(text:find(("\nfrom step %d (%s) %d of 100 end wrong, before it %d\n")
                :format(moment.step, moment.text, moment.wrong, moment.before), 1, true))
            assert.is_true(#moment.curve > 8)
            assert.equal(moment, found.first:record().moment)
            if found.complete then
                local page = files.read "docs/seckill.md"
                assert.is_truthy(page:find(("has %d schedules"):format(found.schedules), 1, true))
            end
        end)
    end

    it("the first wrong schedule is the sale of its seed", function()
        local faults = { stop = true, kill = true, cut = true } -- explore's own
        for _, rate in ipairs{ false, 20 } do
            local options = { fenced = false, arrivals = rate or nil }
            local first = explore(options, 1000).first
            local again = sale(with(SMALL, with(options, { faults = faults, seed = first.seed })))
            assert.same({ "wrong", first.finding }, { again.verdict, again.finding })
            assert.equal(first.purchases[1].asked, again.purchases[1].asked)
            assert.same({ true, first.seed }, { first.seed > 1, first:record().options.seed })
        end
    end)

    it("an exploration writes a report of the first wrong sale", function()
        local name = rig.shell("mktemp"):match "%S+"
        finally(function() os.remove(name) end)
        assert(explore({ strategy = "none", faults = {} }, 1).first:report(name))
        assert.matches("2 sold of 1", files.read(name))
    end)

    it("Ctrl-C ends an exploration", function()
        with_module("interrupted", function() error("interrupted!", 0) end, function()
            assert.error_matches(function() explore{ purchase = "interrupted" } end,
                "interrupted!")
        end)
    end)

    it("an exploration runs 100 schedules by default, and refuses wrong options", function()
        assert.equal(100, seckill.explore(SMALL).schedules)
        is_refused("seeds must be a number above 0, not 0", seckill.explore, {}, { seeds = 0 })
        is_refused('a table of seeds, all, schedule, pct, moment, without "x"', seckill.explore,
            {}, { x = 1 })
        is_refused("a table of seeds, all, schedule, pct, moment, not 5", seckill.explore, {}, 5)
        is_refused("faults.stop has no per_second where all", seckill.explore,
            { faults = { stop = { per_second = 1 } } }, { all = true })
        is_refused("put them into its options", seckill.explore, {}, { faults = {} })
        is_refused("explore has the seeds from 1 on", seckill.explore, { seed = 5 })
        is_refused("a sale has a table of options, not 1", seckill.explore, 1)
    end)
end)


describe("--explore", function()
    it("--explore tells the number of wrong schedules, and ends with 0 if none is wrong", function()
        local status, out = run{ "--explore", "50", "--buyers", "2" }
        assert.same({ 0, "zookeeper: 0 of 50 schedules wrong" }, { status, out:match "^[^,]+" })
    end)

    it("--explore tells each strategy's first wrong schedule, and writes their files", function()
        local name = rig.shell("mktemp"):match "%S+"
        finally(function() os.remove(name) end)
        local status, out = run{ "--explore", "5", "--strategy", "none,zookeeper,local",
            "--csv", name }
        assert.equal(1, status)
        assert.matches("^none: 5 of 5 schedules wrong, 50 sold; the first: seed 1\nnone: WRONG",
            out)
        assert.matches("\nzookeeper: 0 of 5 schedules wrong, %d+ sold\n", out)
        assert.matches("\nlocal: 2 of 5 .*\ncsv: [^\n]+\n$", out)
        local lines = select(2, files.read(name):gsub("\n", ""))
        assert.equal(1 + 2 * 10, lines)
    end)

    it("--explore strikes with the faults of --fault", function()
        local status, out = run{ "--explore", "5", "--fault", "kill holder at 0" }
        assert.same({ 0, "zookeeper: 0 of 5 schedules wrong" }, { status, out:match "^[^,]+" })
    end)

    it("--explore refuses sales that cannot be simulated", function()
        for pattern, more in pairs{
            ["redlock has its locks outside"] = { "--strategy", "redlock" },
            ["the store sqlite is outside"] = { "--store", "sqlite" },
            ["zookeeper is of real sales"] = { "--zookeeper", "127.0.0.1:1" },
            ["seeds must be"] = { "--explore", "0.5" },
        } do
            local status, _, err = run{ "--explore", "5", (table.unpack or unpack)(more) }
            assert.equal(2, status)
            assert.matches(pattern, err)
        end
    end)
end)
