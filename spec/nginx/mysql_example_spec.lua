--- The shop of docs/start.md, examples/nginx/mysql, unchanged, with two nginx for two hosts, and a
-- MariaDB. spec/nginx/stub stands in for lua-resty-mysql, which Debian does not package; RESTY
-- names a folder with the original, made as on the page.

local client = require "zklock.seckill.http.client"
local core = require "zklock.core"
local database = require "zklock.seckill.database"
local files = require "spec.files"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local shops = require "spec.nginx.shop"
local waiting = require "spec.nginx.waiting"

local FOLDER = "examples/nginx/mysql"
local RESTY = os.getenv "RESTY" or "spec/nginx/stub"
local NOT_READY = "ZooKeeper has not answered yet"
local PATIENCE = 120 -- seconds for a buyer's answers

local server, db
local product = 100


local function add_product(number)
    product = product + 1
    db:execute(("INSERT INTO product (id, stock) VALUES (%d, %d)"):format(product, number))
end


local function lock_path() return "/locks/product-" .. product end


-- Returns the items left and sold, both at one moment.
local function books()
    local row = db:rows(([[SELECT stock, (SELECT count(*) FROM purchase WHERE product = %d)
        FROM product WHERE id = %d]]):format(product, product))[1]
    return { left = tonumber(row[1]), sold = tonumber(row[2]) }
end


-- Requests a purchase, in a task; by default the buyer's first order. Returns the status and the
-- text.
local function request(host, buyer, order)
    local path = ("/buy?id=%d&buyer=%s&order=%s"):format(product, buyer, order or 1)
    local status, said = client.request(host.port, "POST", path, PATIENCE)
    return status, said:match "^[^\n]*"
end


local function ask_until_served(host, buyer, order)
    local status, said
    repeat status, said = request(host, buyer, order) until said ~= NOT_READY and said ~= "timeout"
    return status, said
end


local function buy(host, buyer)
    local due = core.now() + PATIENCE
    local status, said
    repeat status, said = request(host, buyer) until status ~= 503 or core.now() > due
    return status, said
end


local function take_the_lock_away()
    local node = server:nodes(lock_path())[1]
    rig.wait_for("the holder's watch", function() return server:ask("wchp"):find(node, 1, true) end)
    server:foreign("delete '%s'", node)
    return rig.hold(rig.session(server.hosts):mutex(lock_path()))
end


describe("the shop with MySQL #nginx", function()
    local shop, hosts, gate

    setup(function()
        shop = shops.open(FOLDER)
        server, db = shop.server, shop.db
    end)
    teardown(function() shop:close() end)
    before_each(function()
        gate, hosts = database.open(shop.url), {}
        for i = 1, 2 do
            hosts[i] = nginx.example{ folder = FOLDER, modules = { RESTY },
                                      environment = shop.environment }
        end
    end)
    after_each(function()
        gate:close()
        nginx.stop_all()
    end)

    local function answer_of(way, order)
        local status, said
        way = way or ask_until_served
        client.run{ function() status, said = way(hosts[1], "one", order) end }
        return { status, said }
    end

    local function statuses_of(count)
        local statuses, buyers = {}, {}
        for i = 1, count do
            buyers[i] = function()
                local status, said = buy(hosts[i % 2 + 1], "b" .. i)
                status = status or said
                statuses[status] = (statuses[status] or 0) + 1
            end
        end
        client.run(buyers)
        return statuses
    end

    -- Returns the answer to a buyer whose `statement` waits, because the connection `gate` has run
    -- the statements `close`. Then come fn(), the statement `open`, which lets the buyer go on, and
    -- after().
    local function answer_at_the_gate(close, statement, open, fn, after)
        local status, said
        gate:execute_all(close)
        client.run{
            function() status, said = ask_until_served(hosts[1], "one") end,
            function()
                local due = core.now() + PATIENCE
                repeat
                    client.request(hosts[2].port, "GET", "/buy")
                    assert(core.now() < due, "no statement waits at the gate")
                until waiting(db, statement)[1]
                fn()
                gate:execute(open)
                if after then after() end
            end,
        }
        return { status or false, said }
    end

    it("two hosts sell each item once", function()
        add_product(30)
        assert.same({ [200] = 30, [409] = 30 }, statuses_of(60))
        assert.same({ left = 0, sold = 30 }, books())
        local mine = "product = " .. product
        assert.is_true(db:tokens_grow("purchase", mine))
        assert.equal(30, db:number("SELECT count(DISTINCT buyer) FROM purchase WHERE " .. mine))
        assert.is_nil(hosts[1]:log():find("delayed events patch", 1, true))
    end)

    it("buyers and orders that differ only in case are carried out each", function()
        add_product(4)
        client.run{ function()
            for _, order in ipairs{ { "aB", "x" }, { "Ab", "x" }, { "aB", "X" }, { "aB", "x" } } do
                assert.equal(200, (ask_until_served(hosts[1], order[1], order[2])))
            end
        end }
        assert.same({ left = 1, sold = 3 }, books())
    end)

    it("a repeated order is carried out once, and so is the buyer's next order", function()
        add_product(2)
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ left = 1, sold = 1 }, books())
        assert.same({ 200, "sold" }, answer_of(ask_until_served, 2))
        assert.same({ 409, "sold out" }, answer_of(ask_until_served, 3))
        assert.same({ 200, "sold" }, answer_of(ask_until_served, 2))
        assert.same({ left = 0, sold = 2 }, books())
        assert.has_error(function()
            db:execute("INSERT INTO purchase (product, buyer, number, token) SELECT product, buyer,"
                .. " number, token FROM purchase WHERE product = " .. product)
        end)
    end)

    it("a request that is no purchase is refused", function()
        local function status_of(method, query)
            return (client.once(hosts[1].port, method, "/buy" .. query))
        end
        assert.equal(405, status_of("GET", "?id=1&buyer=b"))
        for _, id in ipairs{ "", "0", "01", "1.5", "1%20OR%201", "1234567890" } do
            assert.equal(400, status_of("POST", ("?id=%s&buyer=b&order=1"):format(id)), id)
        end
        for _, word in ipairs{ "", "b%27", ("b"):rep(33) } do
            assert.equal(400, status_of("POST", ("?id=1&buyer=%s&order=1"):format(word)), word)
            assert.equal(400, status_of("POST", ("?id=1&buyer=b&order=%s"):format(word)), word)
        end
        for _, query in ipairs{ "", "?buyer=b&order=1", "?id=1&order=1", "?id=1&buyer=b" } do
            assert.equal(400, status_of("POST", query), query)
        end
        product = product + 1
        assert.same({ 404, "no such product" }, answer_of())
    end)

    it("the shop sells nothing without the lock #slow", function()
        add_product(10)
        rig.hold(rig.session(server.hosts):mutex(lock_path()))
        local answer
        repeat answer = answer_of(request) until answer[2] ~= NOT_READY
        assert.same({ 503, "timeout" }, answer)
        assert.same({ left = 10, sold = 0 }, books())
    end)

    it("a holder is refused after a later holder's token #slow", function()
        add_product(10)
        local later
        local answer = answer_at_the_gate({ "LOCK TABLES product WRITE" },
            "UPDATE product SET token", "UNLOCK TABLES", function()
                later = take_the_lock_away()
                gate:execute(("UPDATE product SET token = %s WHERE id = %d")
                    :format(later:token_string(), product))
            end)
        assert.same({ 503, "stale" }, answer)
        assert.same({ left = 10, sold = 0 }, books())
        rig.release(later)
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ left = 9, sold = 1 }, books())
    end)

    it("a sale goes through if the lock is lost after its token was written #slow", function()
        add_product(10)
        local later
        local answer = answer_at_the_gate({ "LOCK TABLES purchase READ" }, "INSERT INTO purchase",
            "UNLOCK TABLES", function() later = take_the_lock_away() end)
        assert.same({ 200, "sold" }, answer)
        assert.same({ left = 9, sold = 1 }, books())
        rig.release(later)
        assert.same({ 200, "sold" }, answer_of(ask_until_served, 2))
        assert.same({ left = 8, sold = 2 }, books())
    end)

    it("a failed statement sells nothing, and closes its connection", function()
        add_product(10)
        db:execute "RENAME TABLE purchase TO elsewhere"
        local answer = answer_of()
        db:execute "RENAME TABLE elsewhere TO purchase"
        assert.same({ 503, "failed" }, answer)
        assert.same({ left = 10, sold = 0 }, books())
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ left = 9, sold = 1 }, books())
    end)

    it("an unanswered COMMIT returns unknown, and the repeated order tells the outcome", function()
        add_product(10)
        local answer = answer_at_the_gate({ "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT" },
            "COMMIT", "BACKUP STAGE END", function()
                db:execute("KILL " .. waiting(db, "COMMIT")[1][1])
                rig.wait_for("no COMMIT", function() return not waiting(db, "COMMIT")[1] end)
            end)
        assert.same({ 504, "unknown" }, answer)
        local now = books()
        assert.equal(10, now.left + now.sold)
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ left = 9, sold = 1 }, books())
    end)

    it("a worker killed in the middle of a sale sells nothing twice #slow", function()
        add_product(10)
        local killed_at
        local answer = answer_at_the_gate({ "LOCK TABLES purchase READ" }, "INSERT INTO purchase",
            "UNLOCK TABLES", function()
                local holder = rig.session(server.hosts):mutex(lock_path()):queue()[1]
                rig.signal("KILL", tonumber(holder.identity:match ":(%d+)$"))
                killed_at = core.now()
            end)
        assert.same({ false, "lost" }, answer)
        assert.same({ 200, "sold" }, answer_of())
        if os.getenv "ZKLOCK_FIGURES" then print(("%.3f s"):format(core.now() - killed_at)) end
        assert.same({ [200] = 9, [409] = 11 }, statuses_of(20))
        assert.same({ left = 0, sold = 10 }, books())
    end)

    it("every order is a sale while both hosts are reloaded five times #slow", function()
        add_product(1000000)
        local answers, reloads, workers, due = {}, 0, {}, core.now() + PATIENCE
        -- Reloads both hosts once the workers of before the last reload are gone.
        local function reload()
            for _, pid in ipairs(workers) do
                if nginx.lives(pid) then return end
            end
            reloads, workers = reloads + 1, {}
            for _, host in ipairs(reloads <= 5 and hosts or {}) do
                for _, pid in ipairs(host:workers()) do workers[#workers + 1] = pid end
                host:signal "HUP"
            end
        end
        local buyers = {}
        for i = 1, 16 do
            buyers[i] = function()
                local order = 0
                while reloads <= 5 and core.now() < due do
                    order = order + 1
                    local status, said = request(hosts[(i + order) % 2 + 1], "b" .. i, order)
                    local answer = ("%s %s"):format(status or "no answer", said)
                    answers[answer] = (answers[answer] or 0) + 1
                    reload()
                end
            end
        end
        client.run(buyers)
        local sold = answers["200 sold"]
        assert.same({ ["200 sold"] = sold }, answers)
        assert.is_true(reloads > 5, "the old workers stay")
        assert.same({ left = 1000000 - sold, sold = sold }, books())
    end)

    it("the shop sells on while a worker is stopped in the middle of a sale #slow", function()
        add_product(10)
        local pid
        local answer = answer_at_the_gate({ "LOCK TABLES purchase READ" }, "INSERT INTO purchase",
            "UNLOCK TABLES", function()
                local holder = rig.session(server.hosts):mutex(lock_path()):queue()[1]
                pid = tonumber(holder.identity:match ":(%d+)$")
                rig.signal("STOP", pid)
            end, function()
                assert.equal(200, buy(hosts[2], "other"))
                rig.signal("CONT", pid)
            end)
        assert.same({ 504, "unknown" }, answer)
        assert.same({ 200, "sold" }, answer_of())
        assert.same({ left = 8, sold = 2 }, books())
    end)

    it("docs/start.md shows the example's code", function()
        local page, store = files.read "docs/start.md", files.read(FOLDER .. "/store.lua")
        local code = page:match "\n## OpenResty[^\n]*\n.-\n```lua\n(.-)```\n"
        assert.truthy(store:find(code, 1, true), code)
    end)
end)
