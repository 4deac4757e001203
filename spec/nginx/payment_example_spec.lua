--- The shop that pays, examples/nginx/payment, unchanged, with a MariaDB and a payment provider of
-- its own. Each order is paid once, and takes one item, whatever the provider does and wherever a
-- worker dies. With ZKLOCK_FIGURES it prints the sales per second that docs/start.md names.

local client = require "zklock.seckill.http.client"
local core = require "zklock.core"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local shops = require "spec.nginx.shop"

local FOLDER = "examples/nginx/payment"
local MODULES = { "examples/nginx/mysql", os.getenv "RESTY" or "spec/nginx/stub" }
local PATIENCE = 120 -- seconds for a buyer's answers
local here = rig.shell "pwd":match "%S+"

-- Edits the configuration so that a request chooses the line at which its worker dies.
local function allow_deaths(text)
    return (text:gsub("location = /buy {", "%0 rewrite_by_lua_block { dofile('" .. here
        .. "/spec/nginx/die_at.lua')(ngx.var.arg_die) }"))
end


describe("the shop that pays #nginx", function()
    local shop, db, product, bank, host

    setup(function()
        shop, product = shops.open(FOLDER), 100
        db = shop.db
    end)
    teardown(function() shop:close() end)
    after_each(function() nginx.stop_all() end)

    local function open_shop(stock, environment, edit)
        product = product + 1
        db:execute(("INSERT INTO product (id, stock) VALUES (%d, %d)"):format(product, stock))
        bank = nginx.example{ folder = FOLDER .. "/provider", environment = environment }
        host = nginx.example{ folder = FOLDER, modules = MODULES, edit = edit, environment =
            ("%s PROVIDER=127.0.0.1:%d PATIENCE=30 %s"):format(shop.environment, bank.port,
                                                               environment or "") }
    end

    local function send(buyer, query)
        local path = ("/buy?id=%d&buyer=%s&order=1%s"):format(product, buyer, query or "")
        local status, said = client.request(host.port, "POST", path, PATIENCE)
        return status, said:match "^[^\n]*"
    end

    local function buy(buyer, query)
        local due = core.now() + PATIENCE
        local status, said
        repeat
            status, said = send(buyer, query)
            query = nil
        until status and status < 500 or core.now() > due
        return status, said
    end

    local function answer_of(way, buyer, query)
        local status, said
        client.run{ function() status, said = way(buyer, query) end }
        return { status or false, said }
    end

    local function set_next_charge(query)
        assert.equal(200, (client.once(bank.port, "POST", "/next?" .. query)))
    end

    local function count_of(state)
        return db:number(("SELECT count(*) FROM purchase WHERE product = %d AND state = '%s'")
            :format(product, state))
    end

    -- The stock, the number of orders in each state, and of charged keys.
    local function books()
        local _, charged = client.once(bank.port, "GET", "/charges")
        return { left = db:number("SELECT stock FROM product WHERE id = " .. product),
                 reserved = count_of "reserved", paid = count_of "paid",
                 cancelled = count_of "cancelled", charged = tonumber(charged) }
    end

    local function books_when_sold(paid, left)
        return { left = left, reserved = 0, paid = paid, cancelled = 0, charged = paid }
    end

    local function statuses_of(count)
        local statuses, buyers = {}, {}
        for i = 1, count do
            buyers[i] = function()
                local status, said = buy("b" .. i)
                status = status or said
                statuses[status] = (statuses[status] or 0) + 1
            end
        end
        client.run(buyers)
        return statuses
    end

    it("the shop sells each item once, and charges only for those items", function()
        open_shop(20)
        assert.same({ [200] = 20, [409] = 20 }, statuses_of(40))
        assert.same(books_when_sold(20, 0), books())
        assert.same({ 404, "no such product" }, (function()
            product = product + 1
            return answer_of(send, "b")
        end)())
    end)

    it("buyers that differ only in case are charged for an item each", function()
        open_shop(3)
        for _, buyer in ipairs{ "aB", "Ab", "aB" } do
            assert.same({ 200, "paid" }, answer_of(buy, buyer))
        end
        assert.same(books_when_sold(2, 1), books())
    end)

    it("a refused charge gives the item back, and the refusal is repeated", function()
        open_shop(1)
        set_next_charge "refuse=1"
        assert.same({ 402, "cancelled" }, answer_of(send, "one"))
        assert.same({ 402, "cancelled" }, answer_of(send, "one"))
        assert.same({ 200, "paid" }, answer_of(send, "two"))
        assert.same({ left = 0, reserved = 0, paid = 1, cancelled = 1, charged = 1 }, books())
    end)

    for name, case in pairs{
        ["is slow"] = { "delay=0.5", { 200, "paid" } },
        ["charges, and its answer is late"] = { "delay=3600", { 504, "reserved" }, "PATIENCE=1" },
        ["is silent, and has not charged"] = { "silent=1", { 504, "reserved" }, "PATIENCE=1" },
        ["answers twice"] = { "twice=1", { 200, "paid" } },
        ["refuses, and says so twice"] = { "twice=1&refuse=1", { 402, "cancelled" } },
    } do
        it("an order is settled once, and the shop sells on, when the provider " .. name,
           function()
            open_shop(2, case[3])
            set_next_charge(case[1])
            local first
            client.run{
                function() first = { send "one" } end,
                function()
                    local _, taken
                    repeat _, taken = client.request(bank.port, "GET", "/next") until taken == "0\n"
                    assert.equal(200, (buy "other")) -- the lock is free meanwhile
                end,
            }
            assert.same(case[2], first)
            local refused = case[2][1] == 402
            assert.same(refused and case[2] or { 200, "paid" }, answer_of(buy, "one"))
            assert.same({ left = refused and 1 or 0, reserved = 0, paid = refused and 1 or 2,
                          cancelled = refused and 1 or 0, charged = refused and 1 or 2 }, books())
        end)
    end

    it("an order sent twice at once is settled once", function()
        for _, query in ipairs{ "delay=0.5", "delay=0.5&refuse=1" } do
            open_shop(2)
            set_next_charge(query)
            local answers = {}
            client.run{ function() answers[1] = { send "one" } end,
                        function() answers[2] = { send "one" } end }
            local paid = answers[1][1] == 200 and 1 or 0
            assert.same(answers[1], answers[2])
            assert.equal(query:find "refuse" and 402 or 200, answers[1][1])
            assert.same({ left = 2 - paid, reserved = 0, paid = paid, cancelled = 1 - paid,
                          charged = paid }, books())
            nginx.stop_all()
        end
    end)

    it("an order while the provider is down is reserved, and paid later", function()
        open_shop(1)
        bank:kill()
        assert.same({ 504, "reserved" }, answer_of(send, "one"))
        assert.same({ 409, "sold out" }, answer_of(send, "two"))
        bank:start_again()
        assert.same({ 200, "paid" }, answer_of(buy, "one"))
        assert.same(books_when_sold(1, 0), books())
    end)

    it("/sweep finishes orders whose clients did not come back", function()
        open_shop(2)
        bank:kill()
        assert.same({ 504, "reserved" }, answer_of(send, "one"))
        bank:start_again()
        assert.equal(200, (client.once(host.port, "GET", "/sweep")))
        assert.equal(1, books().reserved)
        local _, said = client.once(host.port, "GET", "/sweep?age=0")
        assert.equal(product .. " one 1: paid\n", said)
        assert.same(books_when_sold(1, 1), books())
    end)

    it("/sweep passes by a hundred older orders that stay unsettled", function()
        open_shop(1)
        finally(function() db:execute "DELETE FROM purchase WHERE product = 1" end)
        for i = 1, 101 do -- of a product that is gone
            db:execute(("INSERT INTO purchase (product, buyer, number, reserved_at) VALUES"
                .. " (1, 'b%d', '1', NOW() - INTERVAL 1 HOUR)"):format(i))
        end
        db:execute(("INSERT INTO purchase (product, buyer, number) VALUES (%d, 'one', '1')")
            :format(product))
        local status, said = client.once(host.port, "GET", "/sweep?age=0")
        assert.equal(200, status)
        assert.equal(101, select(2, said:gsub(": no such product\n", "")))
        assert.equal(1, books().paid)
    end)

    it("/sweep answers 503 if the database fails", function()
        open_shop(1)
        db:execute "RENAME TABLE purchase TO elsewhere"
        local status = client.once(host.port, "GET", "/sweep")
        db:execute "RENAME TABLE elsewhere TO purchase"
        assert.equal(503, status)
    end)

    it("a worker's death at any line charges once and sells one item #slow", function()
        open_shop(1000, nil, allow_deaths)
        local line, status = 0
        repeat
            line = line + 1
            local buyer = "b" .. line
            status = answer_of(send, buyer, "&die=" .. line)[1]
            assert.same({ buyer, { 200, "paid" } }, { buyer, answer_of(buy, buyer) })
            assert.same(books_when_sold(line, 1000 - line), books())
        until status == 200
        assert.is_true(line > 60, "only so many lines: " .. line)
    end)

    -- Both shapes sell all, at the speed that ZKLOCK_FIGURES prints.
    for shape, case in pairs{
        ["holds the lock during the payment"] = { "HOLD=1", 4, 60 },
        ["holds the lock before and after the payment"] = { "HOLD=", 40, 600 },
    } do
        it("the shop sells all when it " .. shape .. " #slow", function()
            local figures = os.getenv "ZKLOCK_FIGURES"
            local count, buyers, sent = case[figures and 3 or 2], {}, 0
            open_shop(count, case[1] == "HOLD=1" and "DELAY=0.25 HOLD=1" or "DELAY=0.25")
            for i = 1, 40 do
                buyers[i] = function()
                    while sent < count do
                        sent = sent + 1
                        assert.equal(200, (buy("b" .. sent)))
                    end
                end
            end
            local from = core.now()
            client.run(buyers)
            if figures then
                print(("%s: %.1f sales a second"):format(shape, count / (core.now() - from)))
            end
            assert.same(books_when_sold(count, 0), books())
        end)
    end
end)
