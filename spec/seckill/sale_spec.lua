--- [lua luajit] Sales scripted in Lua with `require "zklock.seckill"`, as docs/seckill.md promises.

local core = require "zklock.core"
local database = require "zklock.seckill.database"
local distributions = require "zklock.seckill.distribution"
local fairness = require "zklock.seckill.fairness"
local files = require "spec.files"
local overlaps = require "zklock.seckill.overlaps"
local records = require "zklock.seckill.record"
local is_refused = require "spec.seckill.refused"
local rig = require "spec.rig"
local seckill = require "zklock.seckill"
local seed = require "zklock.seckill.seed"
local shell = require "zklock.system.shell"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

package.path = "spec/seckill/?.lua;docs/seckill/?.lua;" .. package.path

local HOSTS = os.getenv "ZK_HOSTS"
local LONG = 60 -- seconds, so that sessions end only on purpose


local function sale(options)
    options.zookeeper = options.zookeeper or HOSTS
    options.pause = options.pause or 0.002
    options.session, options.timeout = options.session or LONG, options.timeout or LONG
    return seckill.sale(options)
end


-- The first sale that meets the condition, because a slow machine may miss a meeting of events.
local function sale_that(what, is_meant, options)
    return rig.wait_for(what, function()
        local it_is = sale(options)
        return is_meant(it_is) and it_is
    end, LONG)
end

local function having(a_sale, outcome)
    local found = {}
    for _, purchase in ipairs(a_sale.purchases) do
        if purchase.outcome == outcome then found[#found + 1] = purchase end
    end
    return found
end


describe("a distribution", function()
    local samples = {}
    for i = 1, 200 do samples[201 - i] = i end

    it("a distribution has exact quantiles, by rank", function()
        local times = distributions.new(samples)
        assert.same({ 1, 100, 198, 200, 200 }, { times:quantile(0), times:quantile(0.5),
            times:quantile(0.99), times:quantile(1), times:max() })
        assert.equal(100.5, times:mean())
        assert.equal(200, times:count())
    end)

    it("an empty distribution has no quantiles", function()
        local nothing = distributions.new()
        assert.is_nil(nothing:quantile(0.5))
        assert.is_nil(nothing:mean())
        assert.equal(0, nothing:count())
    end)

    it("merging two distributions changes neither", function()
        local few, many = distributions.new{ 1000 }, distributions.new(samples)
        assert.equal(1000, few:merge(many):max())
        assert.equal(201, few:merge(many):count())
        assert.same({ 1, 200 }, { few:count(), many:count() })
    end)

    it("a distribution takes more samples after a query", function()
        local times = distributions.new{ 5 }
        assert.equal(5, times:max())
        times:add(3)
        assert.equal(3, times:quantile(0))
    end)

    it("a malformed quantile is refused, and the form is named", function()
        for _, part in ipairs{ -0.1, 1.1, 99, "0.5", 0 / 0 } do
            assert.error_matches(function() distributions.new{ 1 }:quantile(part) end,
                "a number from 0 to 1")
        end
    end)
end)


-- A purchase of that lock, between these times.
local function hold(from, to, more)
    local purchase = { lock = "bun", server = 1, asked = 0, granted = from, released = to }
    for name, value in pairs(more or {}) do purchase[name] = value end
    return purchase
end


describe("overlaps", function()
    local function of(...)
        local found = {}
        for i, each in ipairs(overlaps.of{ ... }) do
            found[i] = { each.lock, each.from, each.to, each.holders }
        end
        return found
    end

    it("a hold of several locks overlaps with holds of each", function()
        local both = hold(1, 4, { lock = "bun + tea" })
        assert.same({ { "tea", 1, 2, 2 }, { "bun", 3, 4, 2 } },
            of(both, hold(3, 5), hold(0, 2, { lock = "tea" }), hold(1, 9, { lock = "pie" })))
    end)

    it("earlier holds of a buyer overlap, too", function()
        assert.same({ { "bun", 2, 3, 2 } },
            of(hold(7, 8, { earlier = { hold(1, 3) } }), hold(2, 4)))
    end)

    -- The number of holders in a second from 0 to 30, if any of them excludes others.
    local function count_second(holds, second)
        local holders, alone = 0, 0
        for _, each in ipairs(holds) do
            if each.granted <= second and each.released > second then
                holders = holders + 1
                if not each.shared then alone = alone + 1 end
            end
        end
        return holders > 1 and alone > 0, holders
    end

    local function second_by_second(holds)
        local found, open = {}, nil
        for second = 0, 30 do
            local several, holders = count_second(holds, second)
            if several and open then
                open[3], open[4] = second + 1, math.max(open[4], holders)
            elseif several then
                open = { "bun", second, second + 1, holders }
                found[#found + 1] = open
            else
                open = nil
            end
        end
        return found
    end

    it("overlaps agree with counts of holders in each second", function()
        math.randomseed(1)
        local stretches = 0
        for _ = 1, 500 do
            local holds = {}
            for i = 1, math.random(0, 9) do
                local from = math.random(0, 25)
                holds[i] = hold(from, from + math.random(0, 5),
                    { shared = math.random(3) == 1 or nil })
            end
            local expected = second_by_second(holds)
            stretches = stretches + #expected
            assert.same(expected, of((unpack or table.unpack)(holds)))
        end
        assert.is_true(stretches > 300)
    end)

    it("an overlap ends with the killed server", function()
        assert.same({ { "bun", 2, 2.5, 2 } }, of(hold(1, nil, { ended = 2.5 }), hold(2, 4)))
    end)
end)


describe("fairness", function()
    local function asked(at, granted) return hold(granted, nil, { asked = at }) end

    it("overtakes are the buyers that asked later and were granted earlier", function()
        assert.equal(0, fairness.of({ asked(1, 5), asked(2, 6), asked(3, 7) }, 1).overtakes)
        assert.equal(2, fairness.of({ asked(1, 7), asked(2, 5), asked(3, 6) }, 1).overtakes)
    end)

    it("fairness ignores other locks, and buyers without a grant", function()
        local other = hold(5, nil, { lock = "tea", asked = 2 })
        assert.equal(0, fairness.of({ asked(1, 7), other, asked(3, nil) }, 1).overtakes)
        other.lock = "bun + tea"
        assert.equal(1, fairness.of({ asked(1, 7), other, asked(3, nil) }, 1).overtakes)
    end)

    local function came(at, granted, more)
        local purchase = asked(at, granted)
        for name, value in pairs(more) do purchase[name] = value end
        return purchase
    end

    it("overtakes are counted by tokens that tell the order of arrival", function()
        local all = { came(1, 9, { token = "100" }), came(1.25, 5, { token = "98" }),
                      came(1.5, 6, { token = "99" }) }
        local by_requests, by_tokens = fairness.of(all, 1), fairness.of(all, 1, true)
        assert.same({ 2, 0.5 }, { by_requests.overtakes, by_requests.lead })
        assert.same({ 0, nil }, { by_tokens.overtakes, by_tokens.lead })
        all[3].token = "101"
        assert.equal(1, fairness.of(all, 1, true).overtakes)
    end)

    it("readers that share a lock do not overtake each other", function()
        local all = { came(1, 9, { shared = true }), came(2, 5, { shared = true }),
                      came(3, 6, { shared = true }) }
        assert.equal(0, fairness.of(all, 1).overtakes)
        all[2].shared = nil
        assert.equal(1, fairness.of(all, 1).overtakes)
    end)

    it("Jain's index measures the servers' grants", function()
        assert.equal(1, fairness.jain{ 5, 5, 5 })
        assert.equal(0.5, fairness.jain{ 5, 0 })
        assert.is_nil(fairness.jain{ 0, 0 })
        assert.equal(0.5, fairness.of({ hold(1, 2), hold(2, 3) }, 2).jain)
    end)
end)


describe("a record", function()
    local folder
    before_each(function() folder = rig.shell("mktemp -d"):match "%S+" end)
    after_each(function() rig.shell("rm -rf %s", folder) end)

    it("a record is read as it was written, even by a server that stopped halfway", function()
        local start, purchases, notes = core.now(), { { product = "bun" }, {} }, {}
        local record = records.create(folder, 1)
        record:write(1, "asked", "bun")
        record:write(1, "granted", "8589934595")
        record:write(1, "note", "8589934595 it's\nmine")
        record:write(2, "note", "- waits")
        record:write(1, "read", "100 bun")
        record:write(1, "read", "7 tea")
        record:write(1, "written", 99)
        record:write(1, "released")
        record:write(1, "told", "sold")
        record:write(2, "asked", "tea")
        record:write(2, "granted", "-")
        record.file:close()
        rig.shell("printf '17.5 2 rel' >>%s/record-1", folder)
        assert.is_true(records.read(folder, 1, start, purchases, notes) >= 0)
        local first, second = purchases[1], purchases[2]
        assert.same({ "bun", "8589934595", 100, 99, "sold" },
            { first.lock, first.token, first.read, first.left, first.outcome })
        assert.is_true(first.asked <= first.granted and first.granted <= first.written
            and first.written <= first.released and first.released <= first.told)
        assert.same({ "tea", nil, nil }, { second.lock, second.token, second.released })
        assert.same({
            { at = notes[1].at, buyer = 1, server = 1, line = "it's mine", token = "8589934595" },
            { at = notes[2].at, buyer = 2, server = 1, line = "waits" },
        }, notes)
    end)

    it("a record keeps the earlier requests of a buyer, with holds and wishes", function()
        local purchases = { { buyer = 1, server = 2, product = "bun", quantity = 1 } }
        local record = records.in_memory(purchases, {}, 2, 0)
        for _, event in ipairs{
            { "asked", "bun" }, { "granted", "5" }, { "shared" }, { "read", "9 bun" },
            { "written", "8 bun 1" },
            { "told", "sold" }, { "written", "7 bun 1" }, { "told", "sold" }, { "told", "refused" },
            { "released" }, { "wants", "bun 2" }, { "asked", "all" }, { "told", "timeout" },
        } do
            record:write(1, event[1], event[2])
        end
        local last, earlier = purchases[1], purchases[1].earlier
        assert.same({ "all", "timeout", 2, nil, nil, nil, nil },
            { last.lock, last.outcome, last.quantity, last.granted, last.left, last.token,
              last.shared })
        assert.same({ "sold", "sold", "refused" },
            { earlier[1].outcome, earlier[2].outcome, earlier[3].outcome })
        local first, second, held = earlier[1], earlier[2], earlier[3]
        assert.same({ nil, nil, 1 }, { first.granted, first.left, first.quantity })
        assert.same({ nil, 7, 8, 1 },
            { second.granted, second.left, second.writes[1].left, second.quantity })
        assert.same({ "bun", "5", 2, 1, nil },
            { held.lock, held.token, held.server, held.quantity, held.left })
        assert.is_true(held.granted <= held.released)
    end)

    it("a record that cannot be written is an error", function()
        rig.shell("ln -s /dev/full %s/record-1", folder)
        local record = records.create(folder, 1)
        assert.error_matches(function() record:write(1, "released") end,
            "the sale's record cannot be written: No space left on device")
    end)

    it("a record is counted while it is written", function()
        local record = records.create(folder, 1)
        local counter = records.counter(folder, 1, "told")
        assert.equal(0, counter())
        record:write(1, "asked", "bun")
        record:write(1, "told", "sold")
        record:write(2, "told", "refused")
        assert.equal(2, counter())
        assert.equal(0, counter())
        record.file:write "12.5 3 to"
        record.file:flush()
        assert.equal(0, counter())
        record.file:write "ld sold\n"
        record.file:flush()
        assert.equal(1, counter())
    end)
end)


describe("the options of a sale", function()
    local function refused(options, pattern) is_refused(pattern, seckill.sale, options) end

    it("an unknown option is refused with a list of options", function()
        refused({ byers = 10 }, "unknown option \"byers\" in the options of a sale; known: "
            .. "arrivals, buyers, .*zookeeper")
        refused("ten", "a table of options, not \"ten\"")
    end)

    it("impossible options are refused, and the allowed values are named", function()
        refused({ buyers = 0 }, "buyers must be a whole number from 1 to 1000000, not 0")
        refused({ buyers = 1.5 }, "a whole number")
        refused({ servers = "two" }, "servers must be a whole number from 1 to 100, not \"two\"")
        refused({ quantity = -1 }, "quantity must be")
        refused({ pause = -1 }, "pause must be a number of seconds from 0")
        refused({ timeout = 0 / 0 }, "timeout must be a number of seconds")
        refused({ session = 0 }, "session must be a number of seconds from 0.1 to 3600, not 0")
        refused({ zookeeper = "not a host" }, "bad hosts \"not a host\"")
        refused({ zookeeper = "memory:x" },
                "a server in memory, which each of 2 servers would have for itself")
        refused({ fenced = "yes" }, "fenced must be true or false")
        refused({ products = {} }, "products must be a table of stocks by name")
        refused({ products = { bun = -1 } }, "a stock is a whole number")
        refused({ products = { ["a/b"] = 1 } }, "a name has up to 64 letters")
        refused({ product = "tea", products = { bun = 1 } }, "one of products, not \"tea\"")
        refused({ product = function() return "tea" end, products = { bun = 1 } },
            "product%(1%) must be one of products %(bun%), not \"tea\"")
        refused({ lock = "two" }, "lock must be \"product\"")
        refused({ parameters = 1 }, "parameters must be a table")
        refused({ parameters = { f = print } }, "booleans and tables only: .*function")
        refused({ parameters = { x = { math.huge } } },
            "finite numbers, .* only: parameters%[\"x\"%]%[1%] is inf")
        refused({ parameters = { x = 0 / 0 } }, "only: parameters%[\"x\"%] is %-?nan")
        for key, other in pairs{ [20] = 1, [2] = "a", [1.5] = 1 } do
            refused({ parameters = { x = { [key] = 0, [other] = 0 } } }, "parameters%[\"x\"%] has "
                .. "the key .*, and keys must be strings, or the numbers from 1 on")
        end
    end)

    it("impossible faults are refused", function()
        refused({ faults = 1 }, "faults must be a list")
        refused({ faults = { at = 1, kill = "holder" } }, "a list of faults, and it has \"%l+\"")
        refused({ faults = { { at = 1 } } }, "one of stop, kill, restart, pause, cut, switch, run")
        refused({ faults = { { at = 1, stop = "holder" } } }, "a stop, a pause and a cut have")
        refused({ faults = { { at = 1, kill = "holder", length = 1 } } }, "nothing else has one")
        refused({ faults = { { at = 1, kill = "server 3" } } }, "cannot strike \"server 3\"")
        refused({ faults = { { at = 1, kill = "holder", when = 2 } } }, "has no \"when\"")
        refused({ faults = { { at = 1, kill = "holder", held = true } } },
            "no fault of a server has held")
        refused({ faults = { { run = "it", what = "a", where = "b" } } }, "run must be a function")
        refused({ faults = { { run = print } } }, "a run has what and where")
        refused({ faults = { { run = print, what = "a", where = "b", held = 1 } } },
            "held must be true or false")
        refused({ faults = { { pause = "holder", length = 1 } } }, "a pause cannot strike")
        refused({ faults = { { cut = "zookeeper" } } }, "a cut have a length")
        refused({ faults = { { at = -1, kill = "holder" } } }, "at must be a number of seconds")
        refused({ faults = { { kill = "zookeeper" } }, zookeeper = "127.0.0.1:1" },
            "strike a ZooKeeper that the sale starts: leave zookeeper = \"127.0.0.1:1\" out")
        refused({ faults = { { kill = "zookeeper" } }, strategy = "local" },
            "neither the strategy nor the store is in it")
    end)

    it("an unknown strategy, store or purchase is refused", function()
        refused({ strategy = "no_such" }, "no strategy \"no_such\": there are none, local, .*"
            .. "or the name of a module of yours")
        refused({ store = "no_such" }, "no store \"no_such\": there are sqlite, mysql")
        refused({ store = "mysql://nobody" }, "is no database's URL")
        refused({ purchase = "no_such" }, "no purchase \"no_such\": there are plain")
        refused({ strategy = "zklock.value.failure" },
            "the strategy zklock.value.failure has no function \"open\"")
        refused({ store = "row_lock" }, "the store row_lock has no function \"create\"")
        refused({ strategy = "broken" }, "the strategy broken cannot be loaded: .*on purpose")
    end)

    it("a comparison needs a list of strategies", function()
        assert.error_matches(function() seckill.compare{} end, "a list of strategies")
        assert.error_matches(function() seckill.compare{ "none", "no_such" } end, "no strategy")
    end)
end)


describe("a sale", function()
    it("buyers arrive at a rate, one by one", function()
        local it_is = sale{ arrivals = 40, buyers = 20, pause = 0, seed = 2 }
        local last = 0
        for _, purchase in ipairs(it_is.purchases) do last = math.max(last, purchase.asked) end
        assert.equal("right", it_is.verdict)
        assert.is_true(last >= 0.5, last)
        assert.equal(40, it_is:record().options.arrivals)
    end)

    it("the record tells when each buyer asked, got and released the lock, with growing tokens",
       function()
        local it_is = sale{}
        local in_turn = {}
        for i, purchase in ipairs(it_is.purchases) do
            assert.equal(i, purchase.buyer)
            assert.equal((i - 1) % 2 + 1, purchase.server)
            assert.is_true(0 <= purchase.asked and purchase.asked <= purchase.granted
                and purchase.granted <= purchase.written
                and purchase.written <= purchase.released)
            in_turn[i] = purchase
        end
        table.sort(in_turn, function(a, b) return a.granted < b.granted end)
        for i = 2, #in_turn do
            assert.is_true(tonumber(in_turn[i].token) > tonumber(in_turn[i - 1].token))
            assert.equal(100 - i, in_turn[i].left)
        end
        assert.equal(10, it_is.wait:count())
        assert.equal(10, it_is.hold:count())
        assert.equal(10, it_is.answer:count())
        assert.equal(1, it_is.fairness.jain)
    end)

    -- The article's number (DEMO-06), where every other purchase is lost. In half of the cases the
    -- next holder is a coroutine of the process whose commit it waits for.
    for _, store in ipairs{ "sqlite", "mysql" } do
        it("a release before the commit loses five of ten sales (PIT-04): " .. store,
            function()
                local function is_half_lost(it_is) return it_is.left == 95 end
                local options = { store = store, pause = 0.05, fenced = false,
                                  purchase = "release_then_commit" }
                local it_is = sale_that("buyers before each commit", is_half_lost, options)
                assert.same({ "wrong", 10, {} }, { it_is.verdict, it_is.sold, it_is.overlaps })
                options.purchase = "commit_then_release"
                assert.equal("right", sale(options).verdict)
                options.purchase, options.fenced = "release_then_commit", true
                assert.equal("right", sale(options).verdict)
            end)
    end

    it("the stock may be in ZooKeeper", function()
        assert.equal("right", sale{ store = "zookeeper" }.verdict)
        assert.equal("wrong", sale{ store = "zookeeper", strategy = "none", pause = 0.05 }.verdict)
    end)

    for fault, left in pairs{ ["drop-reply"] = 9, ["drop-request"] = 10 } do
        it("an unanswered purchase in ZooKeeper is known by its order: " .. fault, function()
            local proxy = rig.proxy_for_test(HOSTS)
            local stores, root = require "zklock.seckill.store.zookeeper", rig.path()
            local place = { zookeeper = proxy.hosts, root = root, products = { bun = 10 },
                            buyers = 1 }
            local lease = rig.hold(rig.session(HOSTS):mutex(root .. "/parent"))
            local store = stores.create(place)
            proxy:command("%s multi 1", fault)
            local ok, sold = pcall(store.sell, store,
                                   { product = "bun", left = 9, buyer = 1, quantity = 1 })
            assert.same({ left == 9, left }, { ok and sold, store:stock "bun" })
            assert.is_true(ok or sold:find("unknown: ", 1, true) == 1, sold)
            store:close()
            lease:release()
        end)
    end

    it("a sale runs in a task beside others", function()
        rig.wait_for("a sale that lasts for some steps of another task", function()
            local steps, it_is = 0, nil
            zklock.run(function()
                it_is = sale{}
            end, function()
                while not it_is do
                    steps = steps + 1
                    zklock.sleep(0.005)
                end
            end)
            assert.equal("right", it_is.verdict)
            return steps > 10
        end)
    end)
end)


describe("a sale with modules of the user's own", function()
    it("a strategy and a store of the user's sell right (docs/seckill.md)", function()
        local it_is = sale{ strategy = "row_lock", store = "ledger", buyers = 20,
            products = { bun = 15 } }
        assert.equal("right", it_is.verdict, it_is.finding)
        assert.same({ 15, 5, 0 }, { it_is.sold, it_is.refused, it_is.failed })
    end)

    for _, strategy in ipairs{ "shared", "row_lock" } do
        it("a buyer's own timeout ends its wait: " .. strategy, function()
            local it_is = sale{ strategy = strategy, purchase = "impatient", servers = 1,
                buyers = 2, timeout = 10 * LONG, limit = LONG }
            assert.same({ "right", 1, { timeout = 1 } },
                { it_is.verdict, it_is.sold, it_is.failures }, it_is.finding)
        end)
    end

    it("a buyer whose strategy fails is counted, and the sale goes on (BUG-18)", function()
        local it_is = sale{ strategy = "moody", servers = 1, parameters = { every = 5 } }
        assert.same({ 8, 0, 2 }, { it_is.sold, it_is.refused, it_is.failed })
        assert.same({ error = 2 }, it_is.failures)
        assert.matches("error: .*moody today", it_is.notes[1].line)
        assert.matches("; 2 buyers failed without a cause; 2 of 10 buyers failed %(2 error%)$",
            it_is.finding)
        assert.matches("\n2 errors, the first: .*moody today$", tostring(it_is))
    end)

    it("buyers meet in places of any name", function()
        local places = { "start", "ready-1", "record-1", "beats-1", "store.db", "a/b%", 7 }
        local counts = {}
        local function count(play)
            rig.wait_for("all buyers", function() return play:arrived "the end" == 3 end, LONG)
            for i, place in ipairs(places) do counts[i] = play:arrived(place) end
        end
        local it_is = sale{ strategy = "shared", purchase = "gathering", buyers = 3,
            parameters = { places = places },
            faults = { { run = count, what = "a count", where = "elsewhere" } } }
        assert.same({ "right", 3 }, { it_is.verdict, it_is.sold }, tostring(it_is))
        assert.same({ 3, 3, 3, 3, 3, 3, 3 }, counts)
    end)

    it("parameters reach servers and JSON with all digits", function()
        local numbers = { 1764540000.123456, 2 ^ 53 - 1, 0.1 + 0.2, 1e300, 25 }
        local it_is = sale{ strategy = "local", servers = 1, buyers = 1, products = { bun = 0 },
            purchase = "number_teller", parameters = { numbers = numbers } }
        local name = os.tmpname()
        finally(function() os.remove(name) end)
        assert(it_is:json(name))
        local told = files.read(name):match '"numbers":%[(.-)%]'
        local i = 0
        for text in told:gmatch "[^,]+" do
            i = i + 1
            assert.equal(numbers[i], tonumber(it_is.notes[i].line))
            assert.equal(numbers[i], tonumber(text))
        end
        assert.equal(#numbers, i)
    end)

    -- The error of a sale with a strategy that opens wrongly, or harms its server.
    local function complains(pattern, strategy, parameters)
        local ok, message = pcall(sale, {
            strategy = strategy, servers = 1, parameters = parameters,
        })
        assert.is_false(ok)
        assert.matches(pattern, message)
    end

    it("a sale whose server is ended from outside proves nothing", function()
        complains("^server 1 was ended by something else: the sale proves nothing$", "moody",
            { every = 1, signal = "KILL" })
    end)

    it("a sale whose server is ended by os.exit proves nothing", function()
        complains("^server 1: exited with status 3: something called os.exit$", "moody",
            { every = 1, exits = 3 })
    end)

    it("a server that does not start in time is named #slow", function()
        complains("^server 1 did not start within 30 s: the strategy moody or the store sqlite ",
            "moody", { opens_late = true })
    end)

    it("a sale whose server is interrupted proves nothing, whatever its buyers do", function()
        complains("^server 1: .*interrupted!$", "moody", { every = 1, signal = "INT" })
    end)

    it("the error of a server that cannot start is shown", function()
        complains("^server 1: .*it does not open", "moody", { never = true })
        complains("^server 1: the strategy ledger opens to something without enter", "ledger")
    end)

    it("a sale ends at its limit when a strategy hangs #slow", function()
        local limit = 1 -- longer, if others are not served by then
        local it_is = rig.wait_for("the others served", function()
            local it_is = sale{ strategy = "moody", servers = 1, limit = limit,
                parameters = { every = 4, hangs = true } }
            assert.equal("stuck", it_is.verdict)
            assert.matches(("ended after its limit of %d s$"):format(limit), it_is.finding)
            limit = 4 * limit
            return it_is.sold >= 8 and it_is
        end, LONG)
        assert.equal(2, #having(it_is, "unanswered"))
    end)
end)


describe("a fault of a sale", function()
    it("a fault kills a server #slow", function()
        local it_is = sale_that("a server that has not served all", function(it_is)
            return it_is.failures.unanswered
        end, { buyers = 20, servers = 3, pause = 0.05, session = 1,
            faults = { { at = 0.2, kill = "server 2" } } })
        assert.equal("right", it_is.verdict, it_is.finding)
        for _, purchase in ipairs(having(it_is, "unanswered")) do
            assert.equal(2, purchase.server)
        end
        assert.equal(20, it_is.sold + it_is.failed)
    end)

    it("a fault kills a server that another fault has stopped #slow", function()
        local it_is = sale_that("both faults", function(it_is) return it_is.faults[2] end,
            { buyers = 20, pause = 0.05, session = 3, faults = {
                { at = 0, stop = "server 2", length = 20 }, { at = 0.3, kill = "server 2" },
            } })
        assert.equal("right", it_is.verdict, it_is.finding)
        local stop = it_is.faults[1]
        assert.same({ "stop", "server 2", nil }, { stop.kind, stop.target, stop.ended })
        assert.equal("kill", it_is.faults[2].kind)
        for _, purchase in ipairs(it_is.purchases) do
            local sold = purchase.server == 2 and purchase.outcome or "sold"
            assert.equal(sold, purchase.outcome)
        end
    end)

    it("a fault runs the script's function while a buyer holds the lock, and its server goes on",
       function()
        local others, ran = 0, 0
        local function wait_for_others(play)
            ran = play:now()
            local file = io.open(play.folder .. "/record-1")
            rig.wait_for("the other buyers", function()
                file:seek "set"
                others = select(2, file:read "*a":gsub(" asked ", ""))
                return others == 4
            end)
            file:close()
        end
        local it_is = sale{ buyers = 4, servers = 1, faults = { {
            at = 0, held = true, run = wait_for_others, what = "meeting", where = "elsewhere",
        } } }
        assert.equal("right", it_is.verdict, it_is.finding)
        assert.same({ 4, 4, {} }, { it_is.sold, others, it_is.overlaps })
        local fault, first = it_is.faults[1], it_is.purchases[1]
        assert.same({ "meeting", "elsewhere" }, { fault.kind, fault.target })
        assert.is_true(first.granted <= ran and fault.at <= ran and ran < fault.ended
            and fault.ended < first.written)
        assert.equal("goes on, and its hold is held", it_is.notes[1].line)
    end)

    it("a fault runs the script's function beside the sale, and its error ends the sale", function()
        local function run() error("there is no such server", 0) end
        local fault = { at = 0, run = run, what = "failover", where = "elsewhere" }
        assert.error_matches(function() sale{ faults = { fault } } end, "no such server")
        local seconds
        fault.at, fault.run = 0.1, function(play) seconds = play:now() end
        local it_is = sale_that("a fault in time", function() return seconds end,
            { pause = 0.05, faults = { fault } })
        assert.equal("right", it_is.verdict)
        assert.is_true(seconds >= 0.1)
    end)

    it("a fault after the end does not happen", function()
        local it_is = sale{ faults = { { at = 60, kill = "holder" } } }
        assert.same({ "right", {} }, { it_is.verdict, it_is.faults })
        assert.is_true(it_is.seconds < 30)
    end)
end)


describe("a script with a sale", function()
    local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"
    local SCRIPT = [[
        require("zklock.seckill").sale{
            strategy = "%s", store = "%s", buyers = 500, pause = 0.2,
            session = 60, %s
        }]]

    -- A folder's name with signs that are special in shells and URLs.
    local NAME = "t m'p;>x ?%41$HOME"

    -- Starts the script in its own process group and temporary folder.
    local function start(strategy, store, more)
        local script = {
            folder = rig.shell("mktemp -d /tmp/zklock-sale.XXXXXX"):match "%S+",
        }
        files.write(script.folder .. "/script.lua", SCRIPT:format(strategy, store, more or ""))
        script.temporary = shell.quote(script.folder .. "/" .. NAME)
        rig.shell("mkdir %s", script.temporary)
        script.pid = rig.shell("cd . && TMPDIR=%s setsid %s %s/script.lua >%s/output 2>&1 "
            .. "</dev/null & echo $!", script.temporary, LUA, script.folder, script.folder)
            :match "%d+"
        rig.wait_for("a sale that is under way", function()
            return shell.succeeds(("grep -qs ' sold$' %s/*/sale-1/record-*"):format(
                script.temporary))
        end, 30)
        return script
    end

    -- True if neither processes nor files of the script are left, except its own.
    local function is_clean(script)
        local pattern = script.folder:gsub("sale", "sal[e]") -- does not match this command itself
        return not shell.succeeds(("grep -qsa '%s' /proc/[0-9]*/cmdline"):format(pattern))
            and rig.shell("ls -A %s", script.temporary) == ""
            and rig.shell("ls %s", script.folder) == "output\nscript.lua\n" .. NAME .. "\n"
    end

    local function ends_clean(script)
        rig.wait_for("nothing left behind", function() return is_clean(script) end, 30)
        rig.shell("rm -rf %s", script.folder)
    end

    it("a killed script leaves nothing behind", function()
        local script = start("zookeeper", "mysql")
        assert.is_false(is_clean(script))
        rig.shell("kill -KILL %s", script.pid)
        ends_clean(script)
    end)

    it("a script leaves nothing behind after Ctrl-C", function()
        local script = start("zookeeper", "sqlite")
        rig.shell("kill -INT -%s", script.pid)
        ends_clean(script)
    end)

    it("a failed script leaves nothing behind #slow", function()
        local script = start("zookeeper", "sqlite")
        rig.shell("pkill -KILL -f '%s/.*plan.json'", (script.folder:gsub("sale", "sal[e]")))
        ends_clean(script)
    end)

    it("a script removes its nodes from the user's ZooKeeper", function()
        local script = start("zookeeper", "zookeeper", ("zookeeper = %q,"):format(HOSTS))
        local session = rig.session(HOSTS)
        local path = ("/zklock-seckill%s/sale-1/store/stock-%s"):format(
            rig.shell("ls %s", script.temporary):match "zklock%-seckill(%.%w+)", seed.PRODUCT)
        assert.is_truthy(session:get(path))
        rig.shell("kill -KILL %s", script.pid)
        rig.wait_for("its node gone", function()
            return select(3, session:get(path)) == "no_node"
        end, 30)
        session:close()
        ends_clean(script)
    end)

    it("a script removes its database from the user's MariaDB #slow", function()
        local servers = throwaway.open()
        local function databases()
            local admin = database.open(servers:mysql())
            local rows = admin:rows "SHOW DATABASES LIKE 'zklock%'"
            admin:close()
            return #rows
        end
        assert.equal("right", sale{ store = servers:mysql() }.verdict)
        assert.equal(0, databases())
        local script = start("zookeeper", servers:mysql())
        assert.equal(1, databases())
        rig.shell("kill -KILL %s", script.pid)
        rig.wait_for("its database gone", function() return databases() == 0 end, 30)
        servers:close()
        ends_clean(script)
    end)
end)
