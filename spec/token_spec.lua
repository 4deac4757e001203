--- [lua luajit asan tsan] The recipe of tokens of README.md and docs/which-lock.md, unchanged, on
-- MariaDB. There a SELECT sees committed rows and locks none, so the recipe's first UPDATE must
-- lock the row (Q-01, Q-03).

local database = require "zklock.seckill.database"
local files = require "spec.files"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local reapers = require "zklock.system.reaper"
local rig = require "spec.rig"
local zklock = require "zklock"

local load_text = loadstring or load -- luacheck: globals loadstring

local SKU, STOCK = "42", 10
local TABLE = "CREATE TABLE product (id varchar(64) PRIMARY KEY, stock int, token bigint)"

local function block_of(path, language, word)
    local text = files.read(path)
    return text:match("\n```" .. language .. "\n(.-)```", text:find(word, 1, true))
end


-- The statements of the page without the first and the last, which begin and commit.
local function read_statements()
    local found = {}
    for statement in block_of("docs/which-lock.md", "sql", "## When a token is needed")
        :gmatch "%s*(%u[^;\n]+);" do
        found[#found + 1] = statement
    end
    assert.equal(5, #found)
    return { show = found[2], read = found[3], write = found[4] }
end


describe("the recipe of tokens #server", function()
    local reaper, url, server, recipe, opened

    setup(function()
        server, reaper, recipe = rig.shared(), reapers.open(), read_statements()
        url = mariadb.start(reaper):gsub("/%?", "/recipe?")
    end)
    teardown(function() reaper:close() end)

    -- Returns a holder with a connection of its own. meanwhile() runs between read and write.
    local function open(meanwhile)
        local db = database.open(url)
        db:execute "SET innodb_lock_wait_timeout = 1"
        opened[#opened + 1] = db
        local function run(statement, values)
            return db:execute((statement:gsub(":(%l+)", values)))
        end
        local holder = { sold = 0 }
        function holder.show_token(_, id, token)
            holder.shows = true
            return run(recipe.show, { id = db:text(id), token = token })
        end
        function holder.stock(_, id)
            local stock = db:number((recipe.read:gsub(":id", db:text(id))))
            holder.has_read = true
            if meanwhile then meanwhile() end
            return stock
        end
        function holder.set_stock(_, id, left, condition)
            local values = { id = db:text(id), left = ("%d"):format(left) }
            local written = run(recipe.write .. (condition or ""), values)
            holder.sold = holder.sold + written
            return written
        end
        function holder.transaction(_, fn)
            db:begin()
            local result = fn()
            db:commit()
            return result
        end
        return holder
    end

    local function left()
        return opened[1]:number "SELECT stock FROM product"
    end

    before_each(function()
        opened = {}
        database.create(url)
        opened[1] = database.open(url)
        opened[1]:execute(TABLE)
        opened[1]:execute(("INSERT INTO product VALUES ('%s', %d, 0)"):format(SKU, STOCK))
    end)
    after_each(function()
        for _, db in ipairs(opened) do db:close() end
        database.drop(url)
        rig.close_sessions()
    end)

    local function load_purchase()
        local source, count = block_of("README.md", "lua", "")
            :gsub('zklock%.connect%b()', 'require("spec.rig").session(...)')
        assert.equal(1, count)
        return assert(load_text(source .. "\nreturn purchase, session"))(server.hosts)
    end

    it("the recipe sells, and tells when it is sold out", function()
        local purchase, db = load_purchase(), open()
        assert.same({ true, "bought" }, { purchase(db, SKU, 3) })
        assert.same({ true, "bought" }, { purchase(db, SKU, 7) })
        assert.same({ true, "sold out" }, { purchase(db, SKU, 1) })
        assert.equal(0, left())
    end)

    -- The first transaction is open, and the next holder's first statement waits for the row.
    it("no update is lost when the lock is taken from a holder that has read #slow", function()
        local second = open()
        local first = open(function()
            rig.wait_for("the next holder", function() return second.shows end)
        end)
        local purchase, session = load_purchase()
        zklock.run(function()
            local ok, message, code, result = purchase(first, SKU, 1)
            rig.check_refused("lost", nil, ok, message, code)
            assert.equal("bought", result)
        end, function()
            rig.wait_for("a reader", function() return first.has_read end)
            server:foreign("delete '%s'", server:nodes("/locks/" .. SKU)[1])
            rig.wait_for("the loss", function() return session:stats().losses == 1 end)
            assert.same({ true, "bought" }, { purchase(second, SKU, 1) })
        end)
        assert.same({ 2, STOCK - 2 }, { first.sold + second.sold, left() })
    end)

    it("a late holder that shows its token and writes in two transactions is refused", function()
        local first, second = open(), open()
        assert.equal(1, first:show_token(SKU, "5"))
        local stock = first:stock(SKU)
        assert.equal(1, second:show_token(SKU, "6"))
        assert.equal(0, first:set_stock(SKU, stock - 1, " AND token <= 5"))
        assert.equal(0, first:show_token(SKU, "5"))
        assert.equal(1, second:show_token(SKU, "6"))
        assert.equal(1, second:set_stock(SKU, second:stock(SKU) - 1, " AND token <= 6"))
        assert.same({ 1, STOCK - 1 }, { first.sold + second.sold, left() })
    end)

    -- Shows why the recipe shows the token first.
    it("a token that is shown with the write alone loses an update", function()
        local first, second = open(), open()
        local function write(holder, stock, token)
            assert.equal(1, holder:set_stock(SKU, stock - 1, " AND token <= " .. token))
            assert.equal(1, holder:show_token(SKU, token))
        end
        local stock, same = first:stock(SKU), second:stock(SKU)
        write(first, stock, "5")
        write(second, same, "6")
        assert.same({ 2, STOCK - 1 }, { first.sold + second.sold, left() })
    end)
end)
