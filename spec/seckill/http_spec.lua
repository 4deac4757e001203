--- [lua luajit] Parts of the sale over HTTP that need no server. spec/nginx/sale_spec.lua has the
-- rest.

local core = require "zklock.core"
local database = require "zklock.seckill.database"
local distributions = require "zklock.seckill.distribution"
local files = require "spec.files"
local latency = require "zklock.seckill.http.latency"
local rig = require "spec.rig"
local reapers = require "zklock.system.reaper"
local sale = require "zklock.seckill.http.sale"
local seed = require "zklock.seckill.seed"
local sql = require "zklock.seckill.store.sql"

local PRODUCT = seed.PRODUCT


describe("the store of the sale over HTTP", function()
    local reaper, store

    before_each(function()
        reaper = reapers.open()
        store = sql.create{ url = reaper.folder .. "/store.db", products = { [PRODUCT] = 100 } }
    end)
    after_each(function()
        store:close()
        reaper:close()
    end)

    local function sell(left, token)
        return store:sell{
            product = PRODUCT, quantity = 1, left = left, buyer = 1, server = "8080", token = token,
        }
    end

    it("a batch writes all its orders and the last stock, or nothing", function()
        local function batch(token, ...)
            local orders = {}
            for i, left in ipairs{ ... } do
                orders[i] = { product = PRODUCT, quantity = 1, left = left, buyer = i,
                              server = "8080", token = token }
            end
            return store:sell_all(orders)
        end
        assert.is_true(batch("5", 99, 98, 97))
        assert.is_false(batch("4", 96, 95))
        assert.same({ 97, 3 }, { store:stock(PRODUCT), store:ordered(PRODUCT) })
        assert.is_true(batch("6", 96))
        assert.is_true(sale.judge(store, 100, { sold = 4, lost = 0 }, true).right)
        assert.is_false(sale.judge(store, 100, { sold = 4, lost = 0 }).right) -- a hold, an order
        store:execute "DROP TABLE tb_order"
        assert.has_error(function() batch("7", 95, 94) end)
        assert.equal(96, store:stock(PRODUCT))
    end)

    it("nothing is written when the order fails", function()
        store:execute "DROP TABLE tb_order"
        assert.has_error(function() sell(99) end)
        assert.equal(100, store:stock(PRODUCT))
    end)

    it("only an error of COMMIT leaves the outcome in doubt", function()
        store:execute "PRAGMA foreign_keys = ON"
        store:execute "CREATE TABLE late (id REFERENCES tb_order DEFERRABLE INITIALLY DEFERRED)"
        local function in_doubt(statement)
            local ok, problem = pcall(store.transaction, store, function()
                return store:execute(statement) == 1
            end)
            return not ok and database.leaves_in_doubt(problem)
        end
        assert.is_true(in_doubt "INSERT INTO late VALUES (7)") -- there is no such order
        store:rollback()
        assert.is_false(in_doubt "INSERT INTO nowhere VALUES (7)")
        assert.is_false(database.leaves_in_doubt(nil))
    end)

    -- Written stocks with an order each, answers "sold", lost answers, the verdict.
    for _, row in ipairs{
        { "right when stock and orders add up to the initial stock", { 99, 98 }, 2, 0,
            true, "2 sold, 98 left" },
        { "right when an order has no answer, and an answer was lost", { 99 }, 0, 1,
            true, "1 sold, 99 left" },
        { "wrong when no answer was lost", { 99 }, 0, 0, false, "1 orders, only 0 sold" },
        { "wrong after a lost update", { 99, 99 }, 2, 0, false, "2 sold and 99 left of 100" },
        { "wrong after an oversell", { 0, -1 }, 2, 0,
            false, "2 sold and -1 left of 100" },
        { "wrong when buyers were told of more sales than the store has", { 99 }, 2, 0,
            false, "2 sold, 1 orders" },
    } do
        it("a sale is " .. row[1], function()
            for i, left in ipairs(row[2]) do sell(left, tostring(i)) end
            local outcome = sale.judge(store, 100, { sold = row[3], lost = row[4] })
            assert.same({ row[5], row[6] }, { outcome.right, outcome.finding })
        end)
    end

    it("a sale is wrong when tokens do not grow", function()
        sell(99, "2")
        sell(98, "3")
        store:execute "UPDATE tb_order SET token = 2"
        local outcome = sale.judge(store, 100, { sold = 2, lost = 0 })
        assert.same({ false, "tokens do not grow" }, { outcome.right, outcome.finding })
        local function of_batches()
            return sale.judge(store, 100, { sold = 2, lost = 0 }, true).right
        end
        assert.is_true(of_batches())
        store:execute "UPDATE tb_order SET token = 3 WHERE token = 2 AND id = 1"
        assert.is_false(of_batches())
    end)
end)


describe("a database's URL", function()
    it("a URL is split into its parts", function()
        assert.same({ user = "me", password = "p@ss/", host = "db", port = 3307, name = "shop" },
            database.parts "mysql://me:p%40ss%2F@db:3307/shop")
        assert.same({ user = "root", password = "", host = "localhost", name = "",
            socket = "/tmp/a.b/s" }, database.parts "mysql://root:@localhost/?socket=/tmp/a.b/s")
        assert.same({ user = "me", password = "", host = "db", name = "" },
            database.parts "mysql://me@db")
    end)

    it("a file is not taken for a URL", function()
        assert.is_nil(database.parts "/tmp/store.db")
        assert.is_nil(database.parts "mysql://db")
        assert.is_false(database.is_url "/tmp/store.db")
    end)
end)


describe("the script of wrk", function()
    if not rawget(_G, "jit") then return end -- wrk embeds LuaJIT

    -- Three threads, which get answers until more than a second after the first has begun, so that
    -- the clock's seconds differ.
    local PROGRAM = [[
        wrk = { lookup = function(_, port) return { port } end }
        dofile "lua/zklock/seckill/http/wrk.lua"
        local ports, stopped = {}, 0
        local threads = {}
        for i = 1, 3 do
            threads[i] = { get = function(self, name) return self[name] end }
            setup(threads[i])
            ports[i] = threads[i].addr
        end
        print(table.concat(ports, " "))
        for _, thread in ipairs(threads) do
            wrk.thread = { stop = function() stopped = stopped + 1 end }
            init()
            os.execute "sleep 0.36"
            for _, status in ipairs{ 200, 200, 409, 503 } do response(status) end
            for _, name in ipairs{ "sold", "sold_out", "other", "first", "last" } do
                thread[name] = _G[name]
            end
        end
        done({ errors = { connect = 1, read = 2, write = 3, timeout = 4 } },
            { percentile = function(_, part) return 10 * part end, max = 999 })
        print(stopped, wrk.method)
    ]]

    it("the script counts answers, and measures from the first start to the last answer #slow",
       function()
        local name = os.tmpname()
        files.write(name, PROGRAM)
        finally(function() os.remove(name) end)
        local began = core.now()
        local out = rig.shell("ZKLOCK_PORTS=8080,8081 %s %s 2>&1",
            os.getenv "ZKLOCK_LUA" or "luajit", name)
        local most = 1e6 * (core.now() - began)
        local duration = out:match("^8080 8081 8080\nresult sold=6 sold_out=3 other=3 lost=10 "
            .. "duration=(%d+) median=500 p99=990 max=999\n3\tPOST\n$")
        assert.is_truthy(duration, out)
        assert.is_true(1.08e6 <= tonumber(duration) and tonumber(duration) <= most, out)
    end)
end)


describe("latencies", function()
    it("latencies summarize all answers, and at least one is required", function()
        assert.same({ answers = 3, seconds = 5, median = 2, p99 = 4, max = 4 },
            latency.of(distributions.new{ 4, 1, 2 }, 5))
        assert.is_nil(latency.of(distributions.new{}, 5))
    end)

    it("the table of latencies is in milliseconds, and skips results without them", function()
        local text = latency.table{
            { id = "A", title = "first" },
            { id = "B", title = "second", latency = {
                answers = 10, seconds = 2, median = 0.001, p99 = 0.0205, max = 1,
            } },
        }
        assert.matches("\nsecond +10 +5 +1%.0 +20%.5 +1000%.0 +B\n$", text)
        assert.not_matches("first", text)
        assert.equal("", latency.table{ { id = "A", title = "first" } })
    end)
end)
