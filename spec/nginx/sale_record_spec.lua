--- The record of the sale over HTTP: holds as written by the servers, with the clients' answers.

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

    local function play(id, options)
        open(options or {})
        for _, scenario in ipairs(sale.scenarios) do
            if scenario.id == id then
                local made = scenario.play(scenario, run).sales[1]
                return made, made:record()
            end
        end
    end

    local function count(purchases, is_wanted)
        local n = 0
        for _, purchase in ipairs(purchases) do
            if is_wanted(purchase) then n = n + 1 end
        end
        return n
    end

    local function check_sold(purchase)
        local last = 0
        for _, moment in ipairs{ "asked", "granted", "written", "released", "told" } do
            assert.is_true(purchase[moment] >= last, moment)
            last = purchase[moment]
        end
        assert.equal(seed.PRODUCT, purchase.product)
        assert.is_number(purchase.left)
    end

    it("holds with zklock do not overlap on two servers, and their tokens grow", function()
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

    it("holds without a lock overlap", function()
        local _, told = play("HTTP-01", { pause = 1 })
        assert.equal("wrong", told.verdict)
        assert.is_true(#told.overlaps >= 1)
        assert.is_true(told.overlaps[1].holders > 1)
        assert.equal(10, count(told.purchases, function(p) return p.granted and not p.token end))
    end)

    it("holds with a local lock overlap between two servers, not on one", function()
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

    it("a killed server's record has its holds, and the time of the kill #slow", function()
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

    it("the hold of a killed server ends with the kill", function()
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

    it("an answer that is neither sold nor sold out is recorded as the server's word", function()
        open{ pause = 30 }
        run:serve(1, { strategy = "shared", timeout = 0.1 })
        buy_and_kill(function() run:buy(1) end)
        local first, second = unpack(record.of(run).purchases)
        assert.same({ "unanswered", "timeout" }, { first.outcome, second.outcome })
        assert.is_nil(second.granted)
        assert.is_true(second.told > second.asked)
    end)

    it("combined purchases have a hold for each batch, without an overlap #slow", function()
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

    it("buyers without a number are given different numbers #slow", function()
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
