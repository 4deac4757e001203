--- [lua luajit] Mistakes in a sale's options, files, strategies, stores and purchases are named,
--- and the caller's line is blamed, as docs/seckill.md promises.

local demo = require "spec.seckill.demo"
local dkjson = require "dkjson"
local files = require "spec.files"
local is_refused = require "spec.seckill.refused"
local rig = require "spec.rig"
local seckill = require "zklock.seckill"
local zklock = require "zklock"

package.path = "spec/seckill/?.lua;docs/seckill/?.lua;" .. package.path

local LONG = 60 -- seconds, so that no session ends even on a slow machine


local function sale(options)
    options.strategy, options.pause = options.strategy or "local", options.pause or 0.002
    options.servers, options.buyers = options.servers or 1, options.buyers or 4
    options.timeout = options.timeout or LONG
    return seckill.sale(options)
end


describe("a wrong option of a sale", function()
    local NO_MASTERS = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"

    it("a missing interpreter is refused", function()
        is_refused("lua = \"lua9.9\": lua9.9 is not installed", seckill.sale, { lua = "lua9.9" })
    end)

    it("a wrong option is refused on the command line, too", function()
        for word, message in pairs{
            ["--fenced=maybe"] = '"maybe" is neither yes nor no',
            ["--expect=sold"] = '"sold" is nothing to expect, as in sold=100,failed=0',
            ["--expect=bought=1"] = 'has no "bought"',
            ["--arrivals=some"] = '"some" is not a number', ["--arrivals=0"] = "not 0",
            ["--seed=-1"] = "seed must be a whole number", ["--limit=0"] = "limit must be",
            ["--mysql=db"] = 'mysql must be a URL, mysql://USER:PASSWORD@HOST:PORT, not "db"',
            ["--purchase=none"] = 'no purchase "none"', ["--expect=,"] = "expect is a table of",
            ["--strategy=,"] = "--strategy names no strategy",
            ["--products=bun=1,bun=2"] = '"bun=2" names bun again',
            ["--expect=sold=1,sold=2"] = '"sold=2" names sold again',
            ["--expect=answer=1,answer.p99=2"] = '"answer.p99=2" names answer again',
            ["--expect=answer.p99=1,answer=2"] = '"answer=2" names answer again',
        } do
            local status, _, err = demo{ word }
            assert.same({ 2, true }, { status, err:find(message, 1, true) ~= nil }, word .. err)
        end
    end)

    it("an option is refused where it would have no effect", function()
        for _, row in ipairs{
            { "--csv is of a sale of your own: give", "--csv", "sale.csv" },
            { "--only is of the scenarios, and", "--explore", "1", "--only", "DEMO-01" },
            { "--seed-times is of the scenarios", "--explore", "1", "--seed-times" },
            { "--verbose is of the scenarios", "--explore", "1", "--verbose" },
            { "--report and --json name one file", "--report", "sale", "--json", "sale" },
        } do
            local status, _, err = demo{ row[2], row[3], row[4], row[5] }
            assert.same({ 2, true }, { status, err:find(row[1], 1, true) ~= nil }, err)
        end
    end)

    it("a malformed rate of arrivals is refused", function()
        for _, given in ipairs{ 0, -1, "many", { 1 }, { 0, 0 }, { 1, 2, 3 } } do
            is_refused("arrivals must be buyers a second, as in 50, or a ramp, as in { 10, 100 }",
                seckill.sale, { arrivals = given })
        end
        is_refused("arrivals = 0.001: 10 buyers would come within 10000 s, and 3600 s are allowed",
            seckill.sale, { arrivals = 0.001 })
    end)

    it("a strategy in the options of a comparison is refused", function()
        is_refused("options without a strategy, not strategy = \"local\"", seckill.compare,
            { "none" }, { strategy = "local" })
        is_refused("a table of options, not \"none\"", seckill.compare, { "none" }, "none")
    end)

    it("a sale whose masters are all silent is refused", function()
        local ok, message = pcall(sale, { strategy = "redlock", redis = NO_MASTERS })
        assert.is_false(ok)
        assert.matches("^server 1: redlock: no master answers: .*127.0.0.1:3.*refused", message)
    end)
end)


describe("a wrong fault", function()
    it("the message names the mistake, and then the form of a fault", function()
        is_refused("refused.lua:%d+: a kill cannot strike \"me\": it strikes \"holder\", "
            .. "\"server 1\" to \"server 2\" and \"zookeeper\"; a fault is as { at = 0.5, ",
            seckill.sale, { faults = { { kill = "me" } } })
        is_refused("refused.lua:%d+: a pause cannot strike \"me\": it strikes \"zookeeper\"; a ",
            seckill.sale, { faults = { { pause = "me", length = 1 } } })
        is_refused("a cut cannot strike \"server 01\"", seckill.sale,
            { faults = { { cut = "server 01", length = 1 } } })
    end)

    it("the message on the command line has the command line's form of a fault", function()
        local status, _, err = demo{ "--fault", "kill me at 1" }
        assert.equal(2, status)
        assert.matches("a kill cannot strike \"me\": .*; a fault is as \"stop holder at 0.5", err)
        assert.is_nil(err:find("{", 1, true))
    end)
end)


describe("the files of a sale", function()
    local folder, it_is

    setup(function()
        folder = rig.shell "mktemp -d":match "%S+"
        it_is = sale{ parameters = { any = 1 } }
    end)

    teardown(function() rig.shell("rm -rf %s", folder) end)

    it("a report without a file name is refused", function()
        for _, kind in ipairs{ "report", "json", "csv" } do
            is_refused("a report needs the name of its file, not nil", it_is[kind], it_is)
            is_refused("a report needs the name of its file, not \"\"", it_is[kind], it_is, "")
            assert.same({ nil, "/dev/full: No space left on device" },
                { it_is[kind](it_is, "/dev/full") })
        end
    end)

    it("an old file stays if the new one does not fit on the disk", function()
        for _, kind in ipairs{ "report", "json", "csv" } do
            local name = files.write(folder .. "/last." .. kind, "the good one")
            rig.shell("ln -s /dev/full %s.part", name)
            assert.same({ nil, name .. ".part: No space left on device", "the good one" },
                { nil, select(2, it_is[kind](it_is, name)), files.read(name) })
            assert.is_true(it_is[kind](it_is, name))
            assert.is_true(#files.read(name) > 100)
        end
    end)

    it("a report of anything but a sale or a comparison is refused", function()
        for _, kind in ipairs{ "report", "json", "csv" } do
            is_refused("as in sale:report%(file%), and not that of \"a.html\"", it_is[kind],
                "a.html")
        end
        local both = seckill.compare({ "none" }, { buyers = 1, simulated = true })
        is_refused("as in sales:report%(file%), and not that of nil", both.csv)
    end)

    it("the command starts nothing if a file cannot be written", function()
        local status, out, err = demo{ "--strategy", "none", "--csv", folder .. "/none/sale.csv" }
        assert.same({ 2, "", folder .. "/none/sale.csv: No such file or directory\n" },
            { status, out, err })
        assert.equal(3, (demo{ "--only", "DEMO-04", "--json", folder .. "/new.json",
            "--zookeeper", "" }))
        assert.is_nil(io.open(folder .. "/new.json"))
    end)

    it("the command writes to a pipe, and to files that it may not read", function()
        local lua = os.getenv "ZKLOCK_LUA" or "lua5.4"
        rig.shell("mkfifo %s/pipe; touch %s/secret; chmod 200 %s/secret", folder, folder, folder)
        local out = rig.shell("timeout 20 cat %s/pipe >%s/piped & timeout 20 %s "
            .. "lua/zklock/seckill/demo.lua --explore 1 --junit %s/pipe; echo status $?; wait",
            folder, folder, lua, folder)
        assert.matches("status 0\n$", out)
        assert.matches("^<%?xml .*</testsuite>\n$", files.read(folder .. "/piped"))
        assert.equal(3, (demo{ "--only", "DEMO-04", "--json", folder .. "/secret",
            "--zookeeper", "" }))
        assert.equal("yes\n", rig.shell("[ -e %s/secret ] && echo yes", folder))
    end)

    it("the JSON file has all fields of the sale in their shapes", function()
        assert(it_is:json(folder .. "/sale.json"))
        local read = dkjson.decode(files.read(folder .. "/sale.json")).sales[1]
        for _, name in ipairs{ "name", "verdict", "finding", "sold", "refused", "failed", "left",
                               "failures", "notes", "products", "overlaps", "faults", "buyers",
                               "servers", "strategy", "store" } do
            assert.same(it_is[name], read[name], name)
        end
        for _, name in ipairs{ "wait", "hold", "answer" } do
            local times = it_is[name]
            assert.equal(times:count(), read[name].count)
            assert.is_true(math.abs(times:mean() - read[name].mean) < 1e-9)
            assert.is_true(math.abs(times:quantile(0.99) - read[name].quantile["0.99"]) < 1e-9)
        end
        assert.same({ true, "plain", 1 },
            { read.options.fenced, read.options.purchase, read.options.quantity })
    end)

    it("JUnit's XML has a case for each sale, exploration or scenario", function()
            local function cases(...)
                local status = demo{ "--junit", folder .. "/cases.xml", ... }
                local text, list = files.read(folder .. "/cases.xml"), {}
                for name, rest in text:gmatch '<testcase [^>]- name="([^"]+)" [^>]+>(.-)</test' do
                    list[#list + 1] = name
                    list[#list + 1] = rest:match '^<failure message="([^"]+)"/>$' or rest
                end
                assert.matches(('tests="%d" failures="%d"'):format(#list / 2, status), text)
                return list
            end
            local list = cases("--strategy", "local,none", "--servers", "1", "--pause", "0.1")
            assert.same({ "local", "", "none" }, { list[1], list[2], list[3] })
            assert.matches("^none: WRONG, 10 sold and %d+ left of 100 pieces: ", list[4])
            assert.same({ "none", "none: 1 of 3 schedules wrong, 6 sold; the first: seed 3" },
                cases("--explore", "3", "--strategy", "none", "--buyers", "2"))
            assert.same({ "local lock, one server (DEMO-02)", "" }, cases("--only", "DEMO-02"))
        end)

    it("the files show the options of the command line", function()
        assert.equal(0, (demo{ "--strategy", "local", "--servers", "1", "--purchase",
            "commit_then_release", "--fenced", "no", "--seed", "7", "--limit", "20", "--arrivals",
            "100-200", "--expect", "sold=10,failed=0", "--json", folder .. "/sale.json" }))
        local read = dkjson.decode(files.read(folder .. "/sale.json")).sales[1].options
        local wanted = {
            purchase = "commit_then_release", fenced = false, seed = 7, limit = 20,
            arrivals = { 100, 200 }, expect = { sold = 10, failed = 0 },
        }
        for name, value in pairs(wanted) do
            if type(value) == "table" then setmetatable(read[name], nil) end
            assert.same(value, read[name])
        end
    end)

    it("the files of a comparison have each of its sales", function()
        local both = seckill.compare({ "none", "local" }, { buyers = 2, pause = 0 })
        assert(both:json(folder .. "/both.json"))
        local read = dkjson.decode(files.read(folder .. "/both.json"))
        assert.equal("none, local", read.title)
        assert.same({ 2, 2 }, { read.sales[1].wait.count, read.sales[2].wait.count })
    end)
end)


describe("a strategy's words", function()
    it("a state other than \"suspect\" and \"lost\" is an error", function()
        local it_is = sale{ strategy = "moody", buyers = 2, parameters = { every = 9,
            state = "held" } }
        assert.same({ error = 2 }, it_is.failures)
        assert.equal("error: the strategy moody: on_state tells \"suspect\" or \"lost\", not "
            .. "\"held\"", it_is.notes[1].line)
    end)

    it("a strategy that prints much does not stop its server", function()
        local it_is = sale{ strategy = "moody", parameters = { every = 9, prints = 100000 } }
        assert.same({ "right", 4 }, { it_is.verdict, it_is.sold }, tostring(it_is))
    end)

    it("a token that is not a number is an error", function()
        local it_is = sale{ strategy = "moody", buyers = 2,
            parameters = { every = 9, token = "a1" } }
        assert.same({ error = 2 }, it_is.failures)
        assert.equal("error: the strategy moody: its token is \"a1\", not digits",
            it_is.notes[1].line)
    end)
end)


describe("a purchase", function()
    local function of(options)
        options.simulated, options.quiet, options.buyers = true, true, 1
        options.strategy, options.products = "none", { bun = 5 }
        return seckill.sale(options)
    end

    it("a purchase that its strategy or its store cannot serve is named", function()
        assert.matches("purchase optimistic needs a strategy with retry, such as sql%-optimistic, "
            .. "and not none$", of{ purchase = "optimistic" }.finding)
        assert.matches("needs a store with begin, such as sqlite and mysql, and not liar$",
            of{ purchase = "commit_then_release", store = "liar",
                parameters = { lie = "sell" } }.finding)
    end)

    it("pieces that a buyer gives back must be some, of a product", function()
        for _, given in ipairs{ { -1 }, { 0.5 }, { "one" }, { 1, "tea" } } do
            package.loaded.giver = function(buyer) buyer:gave_back(given[1], given[2]) end
            assert.matches("^error: gave_back: ", of{ purchase = "giver" }.notes[1].line)
        end
        package.loaded.giver = nil
    end)
end)


describe("the limit of a sale", function()
    it("the limit is enough for all orders of a buyer", function()
        local it_is = sale{ buyers = 1, orders = 1000, pause = 0.1 }
        assert.is_true(it_is:record().options.limit > 1000 * 0.1)
    end)

    local FOREVER = 1000 + rig.pid -- seconds, unique among tests

    local function is_left()
        return rig.shell("pgrep -cf '^sleep %d$'", FOREVER):match "%d+" ~= "0"
    end

    it("the limit ends a sale whose strategy waits for a command, and ends the command", function()
        local it_is = sale{ strategy = "moody", limit = 1,
            parameters = { every = 1, blocks = FOREVER } }
        assert.same({ "stuck", { unanswered = 4 } }, { it_is.verdict, it_is.failures })
        assert.is_false(is_left())
    end)

    it("the limit ends a sale whose fault does not return", function()
        local function run() zklock.sleep(FOREVER) end
        local it_is = sale{ limit = 2, faults = { { run = run, what = "a", where = "b" } } }
        assert.same({ "stuck", 1, nil }, { it_is.verdict, #it_is.faults, it_is.faults[1].ended })
    end)

    it("the servers of a killed script end without a limit #slow", function()
        local folder = rig.shell "mktemp -d":match "%S+"
        files.write(folder .. "/script.lua", ([[
            package.path = %q
            require("zklock.seckill").sale{
                strategy = "moody", parameters = { every = 1, blocks = %d } }
        ]]):format(package.path, FOREVER))
        local pid = rig.shell("%s %s/script.lua >/dev/null 2>&1 & echo $!",
            os.getenv "ZKLOCK_LUA" or "lua5.4", folder):match "%d+"
        rig.wait_for("a server that waits", is_left, LONG)
        rig.shell("kill -KILL %s", pid)
        rig.wait_for("its end", function() return not is_left() end, LONG)
        rig.shell("rm -r %s", folder)
    end)
end)


describe("a script that is interrupted in a sale", function()
    local folder
    before_each(function() folder = rig.shell "mktemp -d":match "%S+" end)
    after_each(function() rig.shell("rm -r %s", folder) end)

    local lua = os.getenv "ZKLOCK_LUA" or "lua5.4"

    -- The output of a script that is interrupted with its process group, once it is under way.
    local function interrupted(script)
        files.write(folder .. "/script.lua", (script:gsub("FOLDER", folder)))
        local pid = rig.shell("setsid %s %s/script.lua >%s/out 2>&1 & echo $!", lua, folder,
            folder):match "%d+"
        rig.wait_for("a sale that is under way", function()
            return io.open(folder .. "/under-way") ~= nil
        end, LONG)
        rig.shell("kill -s INT -- -%s", pid)
        rig.wait_for("its end", function() return not io.open("/proc/" .. pid) end, LONG)
        return files.read(folder .. "/out")
    end

    -- LuaJIT's interpreter adds a traceback to any message.
    local function is_brief(output)
        local name = lua:match "[^/]*$"
        if name:find "jit" then output = output:match "[^\n]*\n" end
        assert.equal(name .. ": interrupted!\n", output)
    end

    it("an interrupted script ends with one line and no traceback", function()
        is_brief(interrupted [[
            local function run() io.open("FOLDER/under-way", "w"):close() end
            require("zklock.seckill").sale{ strategy = "none", pause = 600, limit = 60,
                faults = { { run = run, what = "a", where = "b" } } }]])
    end)

    it("an interrupted script ends during a command, and ends the command", function()
        is_brief(interrupted [[
            local function run()
                require("zklock.system.shell").succeeds "exec 3>FOLDER/under-way; exec sleep 60"
            end
            require("zklock.seckill").sale{ strategy = "none", pause = 600, limit = 60,
                faults = { { run = run, what = "a", where = "b" } } }]])
    end)
end)


describe("a store that lies", function()
    local function sold(lie)
        return pcall(sale, { store = "liar", products = { bun = 5 }, parameters = { lie = lie } })
    end

    local ends = {
        { "nothing", "it opens to something without stock" },
        { "stock", "its stock of bun is nil, not a whole number" },
        { "half a stock", "its stock of bun is 4.5, not a whole number" },
        { "orders", "its orders are nil, not a list" },
        { "an order", "an order is \"bun\", not a table" },
        { "a product", "an order is of product \"tea\", which is not sold" },
        { "a buyer", "an order has the buyer \"1\", not a whole number" },
        { "a quantity", "an order has the quantity nil, not a whole number" },
        { "a payment", "an order has the payment \"3\", not a number" },
    }

    for _, each in ipairs(ends) do
        it("a store that lies is named: " .. each[1], function()
            local ok, message = sold(each[1])
            assert.is_false(ok)
            assert.equal("the store liar: " .. each[2], message)
        end)
    end

    it("a store whose write has no result is named", function()
        local ok, it_is = sold "sell"
        assert.is_true(ok, it_is)
        assert.same({ error = 4 }, it_is.failures)
        assert.matches("\n4 errors, the first: the store liar: the write has no result",
            tostring(it_is))
    end)

    it("a store that lies is named in a simulated sale, too", function()
        local ok, message = pcall(seckill.sale, { simulated = true, strategy = "none",
            store = "liar", products = { bun = 5 }, parameters = { lie = "orders" } })
        assert.is_false(ok)
        assert.matches("the store liar: its orders are nil, not a list", message)
    end)
end)


describe("a strategy that does not come back", function()
    local function of(how)
        return sale{ strategy = "moody", buyers = 6, timeout = 0.1, session = 0.1,
            parameters = { every = 3, [how] = true } }
    end

    for _, how in ipairs{ "hangs", "yields" } do
        it("a hung strategy is named, and its sale is stuck, if it " .. how .. " #slow", function()
            local it_is = of(how)
            assert.same({ "stuck", 4, { hung = 2 } },
                { it_is.verdict, it_is.sold, it_is.failures })
            assert.equal("error: the strategy moody: enter has not come back after 5.1 s",
                it_is.notes[1].line)
            assert.matches("; 2 buyers waited in vain; 2 of 6 buyers failed %(2 hung%)$",
                it_is.finding)
        end)
    end

    it("a looping strategy is named, and its server is ended #slow", function()
        local it_is = of "loops"
        assert.same({ "stuck", 1 }, { it_is.verdict, it_is.failures.hung })
        assert.equal("hung", it_is.purchases[3].outcome)
        assert.matches("error: server 1 has done nothing for 1%d s: the strategy moody loops",
            it_is.notes[1].line)
    end)

    it("two looping servers are ended together #slow", function()
        local played = sale{ strategy = "moody", servers = 2, buyers = 6, timeout = 0.1,
            session = 0.1, parameters = { every = 3, loops = true } }
        local ended = {}
        for _, note in ipairs(played.notes) do
            local number = note.line:match "server (%d) has done nothing"
            if number then ended[tonumber(number)] = note.at end
        end
        assert.is_true(math.abs(ended[1] - ended[2]) < 10)
    end)

    it("a server that a fault stops for as long does not hang #slow", function()
        local it_is = sale{ strategy = "local", servers = 1, timeout = 0.1, session = 0.1,
            faults = { { stop = "server 1", length = 12 } }, pause = 0.1 }
        assert.equal(1, #it_is.faults)
        assert.same({ nil, nil }, { it_is.failures.hung, it_is.failures.error })
    end)
end)
