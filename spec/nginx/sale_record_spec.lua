--- The record of the sale over HTTP: who had the lock when, as the servers wrote it down, and what
-- clients saw of that.

local client = require "zklock.seckill.http.client"
local dkjson = require "dkjson"
local nginx = require "spec.nginx.nginx"
local reapers = require "zklock.system.reaper"
local record = require "zklock.seckill.http.record"
local rig = require "spec.rig"
local runs = require "zklock.seckill.http.run"
local sale = require "zklock.seckill.http.sale"
local seed = require "zklock.seckill.seed"


describe("the record of a sale over HTTP #nginx", function()
    local reaper, server, run
    local number = 0

    setup(function()
        server = rig.shared()
        reaper = reapers.open()
    end)
    teardown(function() reaper:close() end)
    before_each(function() run = nil end)
    after_each(function() run:close() end)

    local function open(options)
        number = number + 1
        run = runs.open("record" .. number, {
            ports = { nginx.two_ports() }, store = "sqlite", pause = options.pause or 0.02,
            session = options.session or 20, zookeeper = server.hosts,
        }, reaper)
    end

    -- The sale that a scenario makes, and its record.
    local function play(id, options)
        open(options or {})
        for _, scenario in ipairs(sale.scenarios) do
            if scenario.id == id then
                local made = scenario.play(scenario, run).sales[1]
                return made, made:record()
            end
        end
    end

    -- How many of the purchases are as wanted.
    local function count(purchases, is_wanted)
        local n = 0
        for _, purchase in ipairs(purchases) do
            if is_wanted(purchase) then n = n + 1 end
        end
        return n
    end

    -- A purchase that was made: all that is known of it, in the order in which it happened.
    local function check_sold(purchase)
        local last = 0
        for _, moment in ipairs{ "asked", "granted", "written", "released", "told" } do
            assert.is_true(purchase[moment] >= last, moment)
            last = purchase[moment]
        end
        assert.equal(seed.PRODUCT, purchase.product)
        assert.is_number(purchase.left)
    end

    it("has holds that do not overlap with zklock, on both servers, with growing tokens", function()
        local made, told = play "HTTP-04"
        assert.same({ "right", "10 sold, 90 left" }, { told.verdict, told.finding })
        assert.same({ 10, 10, 0, 0 }, { told.buyers, told.sold, told.refused, told.failed })
        assert.same({ { [seed.PRODUCT] = 100 }, { [seed.PRODUCT] = 90 }, { [seed.PRODUCT] = 10 } },
            { told.products, told.left, told.ordered })
        assert.same({}, told.overlaps)
        assert.same({}, told.faults)
        assert.same({ "server 1", "server 2" }, told.servers)
        for _, purchase in ipairs(told.purchases) do check_sold(purchase) end
        for each = 1, 2 do
            assert.equal(5, count(told.purchases, function(p) return p.server == each end))
        end
        table.sort(told.purchases, function(a, b) return a.granted < b.granted end)
        for i, purchase in ipairs(told.purchases) do
            assert.equal(100 - i, purchase.left)
            assert.is_true(i == 1 or tonumber(purchase.token)
                > tonumber(told.purchases[i - 1].token))
        end
        assert.equal(10, made.wait:count())
    end)

    it("has holds that overlap without a lock", function()
        local _, told = play("HTTP-01", { pause = 1 })
        assert.equal("wrong", told.verdict)
        assert.is_true(#told.overlaps >= 1)
        assert.is_true(told.overlaps[1].holders > 1)
        assert.equal(10, count(told.purchases, function(p) return p.granted and not p.token end))
    end)

    it("has holds that overlap between two servers with a local lock, and on one do not", function()
        local _, told = play("HTTP-03", { pause = 0.2 })
        assert.is_true(#told.overlaps >= 1)
        for each = 1, 2 do
            local own, last = {}, 0
            for _, purchase in ipairs(told.purchases) do
                if purchase.server == each then own[#own + 1] = purchase end
            end
            table.sort(own, function(a, b) return a.granted < b.granted end)
            for _, purchase in ipairs(own) do
                assert.is_true(purchase.granted >= last)
                last = purchase.released
            end
        end
    end)

    it("has what a server held before it was killed, and when that was #slow", function()
        local _, told = play("HTTP-05", { session = 4 })
        assert.same({}, told.overlaps)
        assert.equal(1, #told.faults)
        local fault = told.faults[1]
        assert.same({ "kill", "server 2" }, { fault.kind, fault.target })
        local function of_the_dead(purchase) return purchase.server == 2 and purchase.granted end
        assert.is_true(count(told.purchases, of_the_dead) > 0)
        for _, purchase in ipairs(told.purchases) do
            if of_the_dead(purchase) then
                assert.is_true((purchase.released or purchase.ended) <= fault.at)
            end
            if purchase.outcome == "unanswered" or purchase.outcome == "unreachable" then
                assert.same({ 2 }, { purchase.server, purchase.told })
            end
        end
        assert.equal(told.buyers, told.sold + told.refused + told.failed)
    end)

    -- A purchase at the first server, which is killed when it has the lock; before that, fn().
    local function buy_and_kill(fn)
        client.run{
            function() run:buy(1) end,
            function()
                repeat
                    local _, state = client.request(run.servers[1].port, "GET", "/mall/state")
                until dkjson.decode(state).holding > 0
                if fn then fn() end
                run.servers[1]:kill()
            end,
        }
    end

    it("ends the hold of a server that is killed with it", function()
        open{ pause = 30, session = 3 }
        run:serve(1, { strategy = "zookeeper" })
        buy_and_kill()
        local known = record.of(run)
        local purchase = known.purchases[1]
        assert.equal("unanswered", purchase.outcome)
        assert.is_nil(purchase.released)
        assert.is_nil(purchase.told)
        assert.is_string(purchase.token)
        assert.is_true(purchase.asked < purchase.granted)
        assert.is_true(purchase.granted <= purchase.ended)
        assert.equal(known.faults[1].at, purchase.ended)
    end)

    it("has the server's word for an answer that is neither sold nor sold out", function()
        open{ pause = 30 }
        run:serve(1, { strategy = "shared", timeout = 0.1 })
        buy_and_kill(function() run:buy(1) end)
        local first, second = unpack(record.of(run).purchases)
        assert.same({ "unanswered", "timeout" }, { first.outcome, second.outcome })
        assert.is_nil(second.granted)
        assert.is_true(second.told > second.asked)
    end)

    it("has a hold for each batch when purchases are combined, and none overlap #slow", function()
        local _, told = play("HTTP-11", { session = 4 })
        assert.same({}, told.overlaps)
        assert.equal("right", told.verdict)
        local written = count(told.purchases, function(p) return p.written end)
        local holds = count(told.purchases, function(p) return p.granted end)
        assert.is_true(holds >= 1 and holds < written)
        assert.is_true(written >= told.sold)
        for _, purchase in ipairs(told.purchases) do
            if purchase.outcome == "sold" and purchase.granted then check_sold(purchase) end
        end
    end)

    it("has numbers of its own for who says none, and no two have the same #slow", function()
        local _, told = play "HTTP-08"
        assert.same({}, told.overlaps)
        assert.equal(told.ordered[seed.PRODUCT], told.sold)
        assert.equal(told.ordered[seed.PRODUCT],
            count(told.purchases, function(p) return p.written end))
        for i = 2, #told.purchases do
            assert.is_true(told.purchases[i].buyer > told.purchases[i - 1].buyer)
        end
        for each = 1, 2 do
            assert.is_true(count(told.purchases, function(p) return p.server == each end) > 0)
        end
    end)
end)
