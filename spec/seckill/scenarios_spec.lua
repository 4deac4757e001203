--- [lua luajit] The flash-sale laboratory's store, record, verdicts and command.

local buyers = require "zklock.seckill.buyer"
local catalogue = require "zklock.seckill.catalogue"
local database = require "zklock.seckill.database"
local evidence = require "zklock.seckill.scenario.evidence"
local files = require "spec.files"
local language = require "zklock.seckill.language"
local command_line = require "zklock.seckill.command_line"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local process = require "zklock.system.process"
local reaper = require "zklock.system.reaper"
local redis = require "zklock.seckill.throwaway.redis"
local relay = require "zklock.throwaway.relay"
local rig = require "spec.rig"
local run = require "spec.seckill.demo"
local runner = require "zklock.seckill.runner"
local s0 = require "zklock.seckill.scenario.s0_oversell"
local s1 = require "zklock.seckill.scenario.s1_locks"
local seed = require "zklock.seckill.seed"
local shell = require "zklock.system.shell"
local sql = require "zklock.seckill.store.sql"


-- The output without the number of tries; a slow machine may need a second try.
local function once(out) return (out:gsub(" %(try %d%)", "")) end


local function scenario_of(id)
    for _, scenario in ipairs(catalogue) do
        if scenario.id == id then return scenario end
    end
end


-- True if the process ended, even before its parent noticed.
local function is_gone(pid)
    return shell.succeeds(
        ("! kill -0 %s 2>/dev/null || grep -q 'State:.Z' /proc/%s/status"):format(pid, pid))
end


describe("the store of the flash sale", function()
    local run_reaper, place, store

    before_each(function()
        run_reaper = reaper.open()
        place = {
            url = run_reaper.folder .. "/store.db",
            products = { [seed.PRODUCT] = seed.STOCK },
        }
        store = sql.create(place)
    end)

    after_each(function()
        store:close()
        run_reaper:close()
    end)

    local function sell(left, token)
        return store:sell{
            product = seed.PRODUCT, quantity = 1, left = left, buyer = 1, server = "server 1",
            token = token,
        }
    end

    local function stock() return store:stock(seed.PRODUCT) end

    it("the store has the columns of the seed's tables, and one for the token (S0, S4)", function()
        local columns = {}
        for i, row in ipairs(store:rows "PRAGMA table_info(tb_commodity_info)") do
            columns[i] = row[2] .. " " .. row[3]
        end
        assert.same({
            "id varchar(64)", "commodity_name varchar(512)", "commodity_price varchar(36)",
            "number int(10)", "description varchar(2048)", "token bigint",
            "version bigint",
        }, columns)
    end)

    it("a stock is written without an order, even below 0 (BUG-08)", function()
        assert.is_true(store:set_stock(seed.PRODUCT, -1))
        assert.equal(-1, stock())
        assert.equal(0, store:ordered(seed.PRODUCT))
        assert.is_false(store:set_stock("no such", 1))
    end)

    it("an older holder's write is refused once the next holder has read (DEMO-17, Q-01)",
       function()
        assert.equal(100, store:stock(seed.PRODUCT, "4"))
        assert.equal(100, store:stock(seed.PRODUCT, "5"))
        assert.is_false(sell(99, "4"))
        assert.equal(100, store:stock(seed.PRODUCT, "4")) -- reading again does not help
        assert.is_false(sell(99, "4"))
        assert.is_true(sell(99, "5"))
        assert.is_true(sell(98, "5"))
        assert.equal(98, stock())
    end)

    it("an older holder's late write is refused; tokens are compared as numbers (BUG-07, DEMO-17)",
       function()
        assert.is_true(sell(99, "9"))
        assert.is_true(sell(98, "10"))
        assert.is_false(sell(42, "9"))
        assert.same({ 98, 2 }, { stock(), store:ordered(seed.PRODUCT) })
    end)

    it("a token above 2^53 is kept exactly", function()
        assert.is_true(sell(99, "9007199254740993"))
        assert.is_false(sell(42, "9007199254740992"))
        assert.is_true(sell(98, "9007199254740994"))
        assert.is_false(sell(42, "9007199254740993"))
    end)

    it("a token must be digits", function()
        assert.has_error(function() sell(1, "1 OR 1") end)
        assert.has_error(function() store:stock(seed.PRODUCT, "1 OR 1") end)
        assert.is_nil(store:stock "x' OR '1'='1")
        assert.equal(100, stock())
    end)

    it("each sale has a database of its own", function()
        assert.is_false(database.is_url(place.url))
        assert.has_error(function() sql.create(place) end)
    end)
end)


-- A sale with these holds { lock, granted, released, token, … }.
local function sale_of(holds)
    local purchases = {}
    for i, hold in ipairs(holds) do
        purchases[i] = {
            buyer = i, lock = hold[1], product = hold[1], granted = hold[2], released = hold[3],
            token = hold[4], shared = hold.shared, outcome = "sold", server = i,
        }
    end
    return { purchases = purchases, notes = {}, failures = {}, faults = {} }
end


describe("the evidence of a sale", function()
    it("the evidence tells whether tokens grow, in the order of grants", function()
        assert.is_true(evidence.tokens_grow(sale_of{ { "a", 2, 3, "10" }, { "a", 1, 2, "9" } }))
        assert.is_false(evidence.tokens_grow(sale_of{ { "a", 1, 2, "10" }, { "a", 2, 3, "10" } }))
        assert.is_false(evidence.tokens_grow(sale_of{ { "a", 1, 2, "10" }, { "a", 2, 3, "9" } }))
    end)

    it("tokens are compared for each lock, as numbers, exactly (BUG-07)", function()
        assert.is_true(evidence.tokens_grow(sale_of{ { "a", 1, 2, "10" }, { "b", 2, 3, "9" } }))
        assert.is_true(evidence.tokens_grow(sale_of{
            { "a", 1, 2, "9007199254740992" }, { "a", 2, 3, "9007199254740993" },
        }))
        assert.is_false(evidence.tokens_grow(sale_of{
            { "a", 1, 2, "9007199254740993" }, { "a", 2, 3, "9007199254740992" },
        }))
        assert.is_true(evidence.tokens_grow(sale_of{ { "a", 1, 2 }, { "a", 2, 3 } }))
    end)

    it("the evidence tells whether two fitting purchases held at once", function()
        local function any() return true end
        local function none() return false end
        assert.is_true(evidence.held_at_once(sale_of{ { "a", 1, 3 }, { "b", 2, 4 } }, any))
        assert.is_false(evidence.held_at_once(sale_of{ { "a", 1, 3 }, { "b", 2, 4 } }, none))
        assert.is_false(evidence.held_at_once(sale_of{ { "a", 1, 2 }, { "b", 2, 4 } }, any))
        assert.is_true(evidence.held_at_once(sale_of{ { "a", 1 }, { "b", 2, 4 } }, any))
        assert.is_true(evidence.held_at_once(
            sale_of{ { "a", 1, 9 }, { "b", 2, 3 }, { "c", 4, 5 } },
            function(a, b) return a.lock == "a" and b.lock == "c" end))
        assert.is_true(evidence.held_at_once(
            sale_of{ { "a", 1, 3 }, { "b", 2, 9 }, { "c", 4, 5 } },
            function(a, b) return a.lock == "b" and b.lock == "c" end))
    end)

    it("the evidence has a story of notes, holds, writes and faults in order of time", function()
        local sale = sale_of{ { "a", 1, 6, "7" }, { "a", 3, nil, "8" } }
        sale.purchases[1].outcome, sale.purchases[1].told = "late", 5.5
        sale.purchases[2].written, sale.purchases[2].left = 4, 99
        sale.notes[1] = { at = 5, buyer = 1, server = 1, line = "wakes", token = "7" }
        sale.faults = {
            { at = 2, ended = 4.5, kind = "stop", target = "server 1" },
            { at = 7, kind = "kill", target = "server 2" },
        }
        local lines = {}
        for i, entry in ipairs(evidence.story(sale, "server %d")) do
            lines[i] = entry.who:match "%d$" .. " " .. entry.line .. " " .. (entry.token or "-")
        end
        assert.same({
            "1 got the lock 7", "1 is stopped -", "2 got the lock 8", "2 wrote a stock of 99 8",
            "1 goes on -", "1 wakes 7", "1 was refused by the store 7", "1 releases the lock 7",
            "2 is killed -",
        }, lines)
    end)

    it("the evidence has the next holder after a time", function()
        local sale = sale_of{ { "a", 5, 6 }, { "a", 3, 4 }, { "a", 1, 2 } }
        assert.equal(3, evidence.next_grant_after(sale, 1).granted)
        assert.is_nil(evidence.next_grant_after(sale, 5))
    end)
end)


describe("a verdict of the laboratory", function()
    local function scenario(words)
        words.id, words.title, words.explanation = "SALE", "a sale", "It sells."
        return s0.oversell(words)
    end

    -- A run ends with that status, and prints these patterns.
    local function ends(status, arguments, scenarios, ...)
        local ended, out = run(arguments, scenarios)
        for _, pattern in ipairs{ ... } do
            assert.matches(pattern, pattern:find "wrong, as" and once(out) or out)
        end
        assert.equal(status, ended)
    end

    -- The run of a sale on one server fails, and prints these patterns.
    local function fails(expect, sale, ...)
        sale.servers = sale.servers or 1
        ends(1, {}, { scenario{ expect = expect, sale = sale } }, ...)
    end

    it("a sale is wrong without a lock, right with one process's lock, and wrong with a lock in "
        .. "each of two (DEMO-01 to DEMO-03, PIT-11)", function()
        ends(0, { "--only", "DEMO-01,DEMO-02,DEMO-03" }, nil,
            "\n[^\n]* should be 90 [^\n]* wrong, as expected +DEMO%-01\n",
            "\n[^\n]* stock 90, 10 sold +right +DEMO%-02\n",
            "\n[^\n]* should be 90 [^\n]* wrong, as expected +DEMO%-03\n",
            "\n3 scenarios: 1 right, 2 wrong, all as expected in %d+ s\n$")
    end)

    it("the report names the scenario of each sale", function()
        local name = os.tmpname()
        ends(0, { "--only", "DEMO-02", "--report", name }, nil, "\n1 scenario: 1 right, 0 wrong")
        local page = rig.shell("cat %s", name)
        os.remove(name)
        local scenarios = page:match '"scenarios":(%[.-%])}</script>'
        assert.matches('"id":"DEMO%-02"', scenarios)
        assert.matches('"sales":%[0%]', scenarios)
        assert.matches('"verdict":"right"', scenarios)
    end)

    it("the run fails when a sale that must be wrong is right, and names the number of tries",
       function()
            ends(1, {}, { scenario{
                expect = "wrong", race = true, sale = { servers = 1, strategy = "local" },
            } }, "RIGHT, but it must go wrong %(try 3%)", "NOT as expected: SALE")
        end)

    it("the run fails at the first try when a sale that must be right is wrong", function()
        fails("right", { strategy = "none" }, "WRONG, must be right +SALE\n")
    end)

    -- A scenario whose first attempts prove nothing.
    local function hesitant(attempts)
        return {
            id = "SLOW", title = "a slow machine", expect = "right",
            play = function(_, _, attempt)
                return { again = attempt <= attempts, finding = "waited", right = true }
            end,
        }
    end

    it("a scenario without proof is played again, and the number of tries is named", function()
        ends(0, {}, { hesitant(1) }, "\na slow machine +waited +right %(try 2%) +SLOW\n")
    end)

    it("the run fails when a scenario never proves anything", function()
        ends(1, {}, { hesitant(3) }, "\na slow machine +waited +FAILED %(try 3%) +SLOW\n")
    end)

    it("the run fails with the server's message when a server cannot start", function()
        fails("wrong", { strategy = "spec.seckill.moody", parameters = { never = true } },
            "server 1: .*it does not open +FAILED", "1 failed, NOT as expected: SALE")
    end)

    it("the run fails when purchases fail", function()
        fails("wrong", { strategy = "none", purchase = "spec.seckill.unlucky" },
            "only 0 of 10 buyers were served +FAILED")
    end)

    it("the run fails when a scenario's options are wrong", function()
        fails("wrong", { servers = 0 }, "servers must be a whole number .* FAILED")
    end)

    it("the run fails at once when a server ends without a message", function()
        ends(1, { "--lua", "true" }, { scenario{ -- a program that does nothing
            expect = "wrong", sale = { servers = 1, strategy = "none" },
        } }, "server 1 ended before the sale began +FAILED")
    end)

    it("no process and no folder is left, even when a scenario breaks off", function()
        local folder, pid
        run({}, { {
            id = "BROKEN", title = "a scenario that breaks off", expect = "right",
            play = function(_, its_run)
                local throwaway = its_run.throwaway
                folder = throwaway.folder
                pid = process.start("sleeper", { "sleep", "60" }, 60, throwaway.reaper).pid
                error "broken"
            end,
        } })
        rig.wait_for("its end", function() return is_gone(pid) end)
        assert.is_false(shell.succeeds("test -e " .. folder))
    end)

    it("a result has the scenario's sales, which tell what the scenario shows", function()
        local chosen = command_line.parse({}, {})
        local throwaway = reaper.open()
        chosen.environment.prepare(chosen, throwaway)
        local result = runner.run_one(scenario {
            expect = "right", sale = { servers = 1, strategy = "local", quantity = 2 },
        }, chosen, throwaway)
        throwaway:close()
        local told = result.sales[1]:record()
        assert.same({ "a sale (SALE)", "right", "It sells.", 10 },
            { told.name, told.expect, told.explanation, told.sold })
        assert.is_nil(result.sales[2])
    end)

    it("several sales of a scenario have different names", function()
        local result = runner.run_one({
            id = "TWO", title = "two sales", expect = "right",
            play = function()
                return { right = true, finding = "", sales = { { name = "a" }, { name = "b" } } }
            end,
        }, command_line.parse({}, {}))
        assert.equal("two sales: b (TWO)", result.sales[2].name)
    end)
end)


describe("the catalogue", function()
    it("each scenario has an explanation of one sentence, and a row that fits", function()
        for _, scenario in ipairs(catalogue) do
            assert.matches("^[%u%d][^.]+%.$", (scenario.explanation:gsub("0%.2", "0,2")))
            assert.is_true(#scenario.title <= 38, scenario.title)
            assert.is_true(#scenario.explanation <= 140, scenario.explanation)
        end
    end)
end)


local function seed_lines()
    local lines = {}
    local function add(times, line)
        for _ = 1, times do lines[#lines + 1] = line end
    end
    add(8, "current stock: 3")
    add(1, "purchase ok, remaining stock: 2")
    add(1, "purchase ok, remaining stock: 1")
    add(1, "purchase ok, remaining stock: 0")
    add(5, "insufficient")
    add(8, "current stock: 0")
    add(8, "insufficient")
    return lines
end


describe("the verdict on the read-write sale (DEMO-08)", function()
    local function sale_with(lines)
        local sale = {
            verdict = "right", sold = 0, refused = 0, left = 0, notes = {}, purchases = {},
            failures = {},
        }
        for n, line in ipairs(lines) do
            sale.notes[n] = { at = n, buyer = 1, server = 1, line = line, token = tostring(n) }
            local told = line:find "^purchase ok" and "sold" or line == "insufficient" and "refused"
            if told then
                sale[told] = sale[told] + 1
                sale.purchases[#sale.purchases + 1] = {
                    lock = "a", granted = n, token = tostring(n),
                }
            end
        end
        return sale
    end

    local function wrong(sale, pattern)
        local outcome = s1.judge_lines(sale)
        assert.is_false(outcome.right)
        assert.matches(pattern, outcome.finding)
    end

    it("the seed's 32 lines are right", function()
        assert.equal(32, #seed_lines())
        local outcome = s1.judge_lines(sale_with(seed_lines()))
        assert.equal("16 reads, 3 sold, 13 refused, 0 left", outcome.finding)
        assert.is_true(outcome.right)
    end)

    it("two different neighbours in exchanged places are wrong", function()
        local right, changes = seed_lines(), 0
        for n = 2, #right do
            if right[n] ~= right[n - 1] then
                local lines = seed_lines()
                lines[n - 1], lines[n] = lines[n], lines[n - 1]
                wrong(sale_with(lines), ("^line %d: %s$"):format(n - 1, right[n]))
                changes = changes + 1
            end
        end
        assert.equal(6, changes)
    end)

    it("a missing line, or an additional line, is wrong", function()
        for _, missing in ipairs { 1, 9, 16, 32 } do
            local lines = seed_lines()
            table.remove(lines, missing)
            wrong(sale_with(lines), "%d+ reads, %d sold, %d+ refused, 0 left")
        end
        local sale = sale_with(seed_lines())
        sale.notes[33] = { at = 33, buyer = 1, server = 1, line = "and one more" }
        wrong(sale, "^33 lines, should be 32$")
    end)

    it("a store or tokens that contradict the lines are wrong", function()
        local sale = sale_with(seed_lines())
        sale.left = 1
        wrong(sale, ", 1 left$")
        sale = sale_with(seed_lines())
        sale.sold = 4
        wrong(sale, ", 4 sold,")
        sale = sale_with(seed_lines())
        sale.verdict = "wrong"
        wrong(sale, "16 reads")
        sale = sale_with(seed_lines())
        for _, purchase in ipairs(sale.purchases) do purchase.token = "1" end
        wrong(sale, "^tokens do not grow$")
    end)
end)


describe("a buyer of the read-write sale (DEMO-08)", function()
    it("a buyer that gave up keeps nobody waiting", function()
        local places = {}
        s1.look_and_buy{
            number = 9, server = { plan = { servers = 8 } },
            wait_for_its_turn = function() end,
            enter = function() return nil, "waited 2 s", "timeout" end,
            come = function(_, place) places[#places + 1] = place end,
        }
        assert.same({ "reads2", "line2" }, places)
    end)

    it("a buyer arrives at a place once only", function()
        local places = {}
        local server = { come = function(_, place) places[#places + 1] = place end }
        local buyer = buyers.new(server, { buyer = 1 })
        buyer:come "line1"
        buyer:come "line1"
        buyer:come "line2"
        assert.same({ "line1", "line2" }, places)
    end)
end)


describe("the reaper", function()
    it("the reaper spares a process that was let go", function()
        local held = reaper.open()
        local pid = shell.first_line "sleep 60 >/dev/null & echo $!"
        held:hold(pid)
        held:let_go(pid)
        held:close()
        assert.is_true(shell.succeeds("kill -0 " .. pid))
        shell.succeeds("kill " .. pid)
    end)
end)


describe("a throwaway server", function()
    it("a throwaway server runs as long as its script", function()
        local servers = reaper.open()
        finally(function() servers:close() end)
        local redis_server = redis.start(servers)
        local _, database_server = mariadb.start(servers)
        local relay_server = relay.start(servers, redis_server.address)
        for _, each in ipairs{ redis_server.process, database_server, relay_server.process } do
            local parent = rig.shell("cut -d' ' -f4 /proc/%s/stat", each.pid):match "%d+"
            local command = files.read("/proc/" .. parent .. "/cmdline"):gsub("%z", " ")
            assert.matches("^timeout %-%-foreground %-k 1 0 ", command) -- 0: without a limit
        end
    end)
end)


describe("the laboratory's command line", function()
    local function refused(arguments, ...)
        local status, _, err = run(arguments)
        assert.equal(2, status)
        for _, pattern in ipairs { ... } do assert.matches(pattern, err) end
    end

    it("an unknown option or scenario, and a malformed time, is refused, with the known ones",
       function()
        refused({ "--fast" }, "unknown option '%-%-fast'", "%-%-pause", "%-%-only")
        refused({ "--only", "DEMO-01,DEMO-99" }, "DEMO%-99", "DEMO%-01 .*DEMO%-17b")
        refused({ "--pause", "long" }, '"long" is not a number of seconds')
        refused({ "--hold", "-1" }, "hold")
        refused({ "--session", "1e9" }, "1e9")
        refused({ "--hold", "1", "--seed-times" }, "can not be used together")
    end)

    it("DEMO-06 means both of its variants, in the catalogue's order", function()
        local chosen = command_line.parse({ "--only", "DEMO-06,DEMO-02" }, catalogue)
        local ids = {}
        for i, scenario in ipairs(chosen.scenarios) do ids[i] = scenario.id end
        assert.same({ "DEMO-02", "DEMO-06a", "DEMO-06b" }, ids)
    end)

    it("the lock is held 5 s with --seed-times (S2), half a second without", function()
        assert.equal(5, command_line.parse({ "--seed-times" }, {}).hold)
        assert.equal(0.5, command_line.parse({}, {}).hold)
    end)

    it("--list lists the scenarios without running any", function()
        local status, out = run{ "--list" }
        assert.equal(0, status)
        assert.matches("\nlocal lock, two servers +must be wrong +needs no ZooKeeper +DEMO%-03\n" ..
            "    Each server has a lock of its own", out)
    end)

    it("--help shows the help", function()
        local status, out = run { "--help" }
        assert.equal(0, status)
        assert.matches("%-%-seed%-times", out)
    end)

    it("a silent ZooKeeper is named once, and nothing runs #slow", function()
        local status, out, err = run { "--only", "DEMO-01,DEMO-04", "--zookeeper", "127.0.0.1:1" }
        assert.equal(3, status)
        assert.equal("", out)
        assert.matches("^connection: 127%.0%.0%.1:1: no ZooKeeper server answered[^\n]*\n$", err)
    end)

    it("a scenario, and a sale of one's own, names what it lacks", function()
        local lua = os.getenv "ZKLOCK_LUA" or "lua5.4"
        -- The output and the exit status of a command with an empty ZK_HOSTS.
        local function outcome(environment, command)
            return rig.shell("env ZK_HOSTS= %s %s %s 2>&1; echo \"status $?\"", environment, lua,
                command)
        end
        assert.matches("^no ZooKeeper: give %-%-zookeeper HOSTS or set ZK_HOSTS; needed by "
            .. "DEMO%-04\nstatus 3\n$", outcome("", "lua/zklock/seckill/demo.lua --only DEMO-04"))
        local no_zookeeper = "no ZooKeeper could be started .*: apt install zoo.*\nstatus 3\n$"
        for _, command in ipairs{ "bin/zklock seckill", "lua/zklock/seckill/demo.lua" } do
            assert.matches(no_zookeeper,
                outcome("ZOOKEEPER_JARS=/nonexistent", command .. " --buyers 2"))
        end
        for _, sells in ipairs{ "--strategy local --servers 1", "--only DEMO-02" } do
            assert.matches("status 0\n$",
                outcome("ZOOKEEPER_JARS=/nonexistent", "bin/zklock seckill " .. sells))
        end
        if not shell.succeeds "PATH=/usr/bin:/bin command -v mariadbd >/dev/null" then
            assert.matches("^no MariaDB could be started: apt install .*\nstatus 3\n$",
                outcome("PATH=/usr/bin:/bin",
                    "lua/zklock/seckill/demo.lua --strategy local --store mysql"))
        end
        local status, out, err = run{ "--buyers", "2", "--zookeeper", "127.0.0.1:1" }
        assert.same({ 3, "" }, { status, out })
        assert.matches("^connection: 127%.0%.0%.1:1: no ZooKeeper server answered[^\n]*\n$", err)
    end)

    it("an empty address is refused", function()
        local status, _, err = run { "--only", "DEMO-04", "--zookeeper", "" }
        assert.equal(3, status)
        assert.matches("%S", err)
    end)
end)


describe("the verdict on the herd (DEMO-14)", function()
    -- Judges the notes of eight waiters, the first of them replaced by `others`.
    local function judge(scenario, line, others, holders)
        local notes = {}
        for n = 1, 8 do
            local at = ("after %.3f s"):format(n / 10)
            notes[n] = {
                line = (others and others[n] or line):gsub("AT", at),
                token = n <= (holders or 1) and "7" or nil,
            }
        end
        local right, finding = s1.judge_herd(scenario, { notes = notes })
        return { right = right, finding = finding }
    end

    it("the finding has the numbers of woken waiters and of creates", function()
        local outcome = judge(scenario_of "DEMO-14a", "1 woken, 1 created, AT")
        assert.equal("8 of 8 woken, 8 creates in 700 ms", outcome.finding)
        assert.is_true(outcome.right)
        assert.is_true(judge(scenario_of "DEMO-14b", "1 woken, 1 created, AT").right)
        local fifo = judge(scenario_of "DEMO-14c", "0 woken, 0 created, stood still",
            { "1 woken, 0 created, stood still", "1 woken, 0 created, stood still" })
        assert.equal("2 of 8 woken, 0 creates", fifo.finding)
        assert.is_true(fifo.right)
    end)

    it("any other count, or another holder, is wrong", function()
        local line, still = "1 woken, 1 created, AT", "0 woken, 0 created, stood still"
        for _, scenario in ipairs { scenario_of "DEMO-14a", scenario_of "DEMO-14b" } do
            assert.is_false(judge(scenario, line, { "1 woken, 2 created, AT" }).right)
            assert.is_false(judge(scenario, line, { "2 woken, 1 created, AT" }).right)
            assert.is_false(judge(scenario, line, { still }).right)
            assert.is_false(judge(scenario, line, { "lost" }).right)
            assert.is_false(judge(scenario, line, nil, 0).right)
            assert.is_false(judge(scenario, line, nil, 2).right)
        end
        assert.is_false(judge(scenario_of "DEMO-14c", line).right)
        assert.is_false(judge(scenario_of "DEMO-14c", still).right)
    end)

    it("jitter that spreads nothing is wrong", function()
        assert.is_false(judge(scenario_of "DEMO-14b", "1 woken, 1 created, after 0.1 s").right)
        assert.is_true(judge(scenario_of "DEMO-14a", "1 woken, 1 created, after 0.1 s").right)
    end)
end)


describe("the verdict on other scenarios", function()
    -- The scenario's verdict on these sales, in order.
    local function judge(scenario, ...)
        local sales, n = { ... }, 0
        return scenario.play(scenario, {
            options = { pause = 0.02, session = 2, hold = 0 },
            session_timeout = function() return 2 end,
            sale = function()
                n = n + 1
                return sales[n]
            end,
        }, 1)
    end

    local function numbers(sale, about)
        for name, value in pairs(about) do sale[name] = value end
        return sale
    end

    it("the next holder must come within the session timeout and a tick (DEMO-15)", function()
            local function next_at(time, about)
                local sale = sale_of{ { "a", 0.1, nil, "1" }, { "a", time, time + 1, "2" } }
                sale.faults = { { at = 0.2, kind = "kill", target = "server 1" } }
                sale.verdict, sale.sold = "right", 1
                return judge(scenario_of "DEMO-15", numbers(sale, about or {}))
            end
            assert.is_true(next_at(3.2).right)
            assert.is_false(next_at(3.6).right)
            assert.is_false(next_at(3.2, { verdict = "wrong" }).right)
            assert.is_false(next_at(3.2, { sold = 2 }).right)
            assert.has_error(function() next_at(0.15) end, "nobody had the lock after that")
        end)

    it("a wrong turn, or a wrong sale, is wrong (DEMO-09)", function()
        local function second_at(at, about)
            local sale = sale_of{ { "a", 1, 2, "1" }, { "a", at, at + 1, "2" } }
            for i, line in ipairs{ "got the lock", "released", "got the lock", "released" } do
                local n = i < 3 and 1 or 2
                sale.notes[i] = {
                    at = n == 1 and i or at + i - 3, buyer = n, server = n, line = line, token = n,
                }
            end
            sale.verdict = "right"
            return judge(scenario_of "DEMO-09", numbers(sale, about or {})).right
        end
        assert.is_true(second_at(2.5))
        assert.is_false(second_at(2.5, { verdict = "wrong", finding = "two had it" }))
    end)

    it("a run without a vanished predecessor proves nothing (DEMO-16)", function()
        local function sum(...)
            local sale = numbers(sale_of{}, { verdict = "right", sold = 2 })
            for i, line in ipairs{ ... } do
                sale.notes[i] = { at = i, buyer = i, server = i, line = line }
            end
            return judge(scenario_of "DEMO-16", sale)
        end
        local none = sum("100 rounds, 9 waits, 0 vanished", "100 rounds, 8 waits, 0 vanished")
        assert.is_true(none.again)
        local some = sum("100 rounds, 9 waits, 0 vanished", "100 rounds, 8 waits, 1 vanished")
        assert.is_false(some.again)
        assert.is_true(some.right)
        assert.equal("vanished before 1 of 17 watches", some.finding)
        local stuck = sum("100 rounds, 9 waits, 4 vanished")
        assert.is_false(stuck.right)
        assert.is_false(stuck.again)
    end)

    it("a lease that does not know of its end is wrong, and so is an early proof (DEMO-17)",
       function()
            local function woke(state, about)
                local sale = sale_of{ { "a", 1, 6, "1" }, { "a", 3, 4, "2" } }
                sale.purchases[1].outcome = "late"
                sale.notes[1] = {
                    at = 5, buyer = 1, server = 1, line = "wakes, and its hold is " .. state,
                }
                sale.faults = { { at = 2, ended = 5, kind = "stop", target = "server 1" } }
                sale.verdict, sale.sold, sale.left = "right", 1, 99
                return judge(scenario_of "DEMO-17b", numbers(sale, about or {}))
            end
            assert.is_true(woke("lost").right)
            assert.is_false(woke("lost", { verdict = "wrong" }).right)
            assert.has_error(function() woke "held" end,
                'the lease said "held" on waking, not "lost"')
            local early = { { at = 2, ended = 2.9, kind = "stop", target = "server 1" } }
            assert.is_true(woke("held", { faults = early }).again)
        end)

    it("a lock that admits two products at once is wrong, and so are two locks that do not " ..
       "(PIT-12)", function()
            local function sales(one, each)
                for _, sale in ipairs{ one, each } do
                    numbers(sale, { verdict = "right", sold = 2, buyers = 2, seconds = 1 })
                    sale.wait = { count = function() return 2 end }
                end
                return judge(scenario_of "PIT-12", one, each).right
            end
            local function alone() return sale_of{ { "a", 1, 2 }, { "b", 2, 3 } } end
            local function together() return sale_of{ { "a", 1, 3 }, { "b", 2, 4 } } end
            assert.is_true(sales(alone(), together()))
            assert.is_false(sales(together(), together()))
            assert.is_false(sales(alone(), alone()))
        end)

    it("a reader with two stocks is wrong, and no shared read proves nothing (REQ-15)", function()
            local function reads(cached, shared)
                local sale = numbers(sale_of{
                    { "a", 1, 3, shared = shared }, { "a", 2, 4, shared = shared },
                }, { sold = 4 })
                for i = 1, 12 do
                    sale.notes[i] = {
                        at = i, buyer = 1, server = 1,
                        line = ("database 99, cache %d"):format(i < 12 and 99 or cached),
                    }
                end
                return judge(scenario_of "REQ-15b", sale)
            end
            assert.is_true(reads(99, true).right)
            assert.is_false(reads(100, true).right)
            assert.is_true(reads(99, nil).again)
            assert.is_false(reads(99, true).again)
        end)

    it("a sale of DEMO-07 must have three buyers, and with a short wait keeps its stock (DEMO-07)",
       function()
            local function sold(i, about)
                local sale = numbers(sale_of{}, { verdict = "right", failed = 0, refused = 0 })
                return judge(scenario_of("DEMO-07" .. i), numbers(sale, about)).right
            end
            assert.is_true(sold("b", { sold = 1, left = 2, failures = { timeout = 98 } }))
            assert.is_false(sold("b", { sold = 3, left = 0, failures = { timeout = 96 } }))
            assert.is_true(sold("c", { sold = 3, left = 0, refused = 96 }))
            assert.is_false(sold("c", { sold = 3, left = 0, refused = 95 }))
            assert.is_false(sold("c", { sold = 2, left = 1, refused = 96 }))
        end)
end)


describe("the laboratory with a ZooKeeper", function()
    local LONG = "20" -- seconds, so that no session ends even on a slow machine

    -- A title, scenarios, and their output.
    for _, row in ipairs{
        { "a sale on two servers is right (DEMO-04, BUG-05)",
            "DEMO-04", "\n[^\n]* stock 90, 10 sold +right +DEMO%-04\n" },
        { "a sale with a timeout for each buyer is right (DEMO-05, BUG-04)",
            "DEMO-05", "\n[^\n]* stock 90, 10 sold +right +DEMO%-05\n" },
        { "a lock released before the commit does not protect a sale (DEMO-06, PIT-04)",
            "DEMO-06", "\n[^\n]* should be 90 +wrong, as expected +DEMO%-06a\n",
            "\n[^\n]* stock 90, 10 sold +right +DEMO%-06b\n" },
        { "a purchase under the lock that readers share oversells (DEMO-08b)",
            "DEMO-08b",
            "\n[^\n]* 16 reads, 16 sold, 0 refused, 1 left +wrong, as expected +DEMO%-08b\n" },
        { "buyers enter one after the other, even if each enters twice (DEMO-09, DEMO-10)",
            "DEMO-09,DEMO-10", "\n[^\n]+ right +DEMO%-09\n", "\n[^\n]+ right +DEMO%-10\n" },
        { "15 clients get 10 orders, and their queue is shown in order (DEMO-11)",
            "DEMO-11", "\n[^\n]* 10 sold, 5 refused, 0 left +right +DEMO%-11\n",
            "Thread%-%d+ +created _c_%S+%-lock%-0000000000%s.*"
                .. "Thread%-%d+ +created _c_%S+%-lock%-0000000001%s", "Thread%-%d+ +got the lock",
            "Thread%-%d+ +watches _c_%S+%-lock%-%d+ of Thread%-%d+\n",
            "Thread%-%d+ +heard the node deletion event!", "Thread%-%d+ +releases the lock" },
        { "a counter below 0 is wrong, and sales with a short or a long wait are right "
            .. "(DEMO-07, BUG-08, BUG-09)",
            "DEMO-07", "\n[^\n]* 3 sold, the counter says %-1 +wrong, as expected +DEMO%-07a\n",
            "\n[^\n]* 1 held until 98 gave up, 2 left +right +DEMO%-07b\n",
            "\n[^\n]* 3 sold, 96 refused, 0 left +right +DEMO%-07c\n" },
        { "1000 purchases of two products are counted, and fewer without a lock (DEMO-12, NUM-03)",
            "DEMO-12", "\n[^\n]* down by 49%d and 49%d +wrong, as expected +DEMO%-12a\n",
            "\n[^\n]* down by 500 and 500 +right +DEMO%-12b\n" },
        { "a check outside the lock sells twice to a customer that clicks twice, and takes two "
            .. "payments (S1, 重复扣款)", "ONE-01,PAY-01",
            "\n[^\n]* [12]%d orders, 10 customers +wrong, as expected +ONE%-01a\n",
            "\n[^\n]* 10 orders, 10 customers +right +ONE%-01b\n",
            "\n[^\n]* 10 orders, [12]%d payments +wrong, as expected +PAY%-01a\n",
            "\n[^\n]* 10 orders, 10 payments +right +PAY%-01b\n" },
        { "a sale can survive an expired session and a lost connection (PIT-02, PIT-03, CFG-04)",
            "PIT-02,PIT-03",
            "\n[^\n]* 0 of 1 bought, 1 failed +wrong, as expected +PIT%-02a\n",
            "\n[^\n]* 1 of 1 bought, 0 failed +right +PIT%-02b\n",
            "\n[^\n]* %d+ of 20 bought, [1-9]%d* failed +wrong, as expected +PIT%-03a\n",
            "\n[^\n]* 20 of 20 bought, 0 failed +right +PIT%-03b\n" },
        { "a waiter hears of a predecessor that vanished early (DEMO-16, PIT-08, BUG-11)",
            "DEMO-16", "\n[^\n]* before [1-9]%d* of %d+ watches +right +DEMO%-16",
            "server %d +100 rounds, %d+ waits, %d+ vanished" },
        { "two products are sold under one lock, and under a lock each (PIT-12, REQ-11)",
            "PIT-12", "\n[^\n]* one lock %d+/s, a lock each %d+/s +right +PIT%-12\n" },
        { "a cache is in step with its database only under a lock (REQ-15)",
            "REQ-15", "\n[^\n]* [1-9]%d* of 12 saw two stocks +wrong, as expected +REQ%-15a\n",
            "\n[^\n]* 0 of 12 saw two stocks, shared reads +right +REQ%-15b\n" },
        { "a release wakes a herd without an order, and no herd with it (DEMO-14, ALG-05, PIT-01)",
            "DEMO-14a,DEMO-14b,DEMO-14c",
            "\n[^\n]* 8 of 8 woken, 8 creates in %d+ ms +right +DEMO%-14a\n",
            "\n[^\n]* 8 of 8 woken, 8 creates in %d+ ms +right +DEMO%-14b\n",
            "\n[^\n]* 2 of 8 woken, 0 creates +right +DEMO%-14c\n" },
        { "the lock of a killed holder is handed on (DEMO-15, PIT-13)",
            "DEMO-15", "\n[^\n]* next after %d[^\n]* right +DEMO%-15\n" },
        { "a late write does damage without a token, or with a token that the store sees too "
            .. "late, and is refused after the next holder's token (DEMO-17, PIT-09)",
            "DEMO-17",
            "\n[^\n]* lease lost, stock 99, should be 98 +wrong, as expected +DEMO%-17a\n",
            "\n[^\n]* lease lost, write refused, stock 99 +right +DEMO%-17b\n",
            "was refused by the store",
            "\n[^\n]* lease lost, stock 99, should be 98 +wrong, as expected +DEMO%-17c\n" },
    } do
        it(row[1] .. " #slow", function()
            local waits_for_its_end = row[2] == "DEMO-15" or row[2] == "DEMO-17"
            local status, out = run{ "--only", row[2], "--verbose", "--session",
                waits_for_its_end and "2" or LONG }
            for i = 3, #row do assert.matches(row[i], once(out)) end
            assert.equal(0, status)
        end)
    end

    it("Chinese output has the same columns", function()
        for _, sentence in ipairs(language.sentences()) do
            local _, count = sentence[1]:gsub("{#?}", "")
            for place in sentence[2]:gmatch "{(%d+)}" do
                assert.is_true(tonumber(place) <= count, sentence[1])
            end
        end
        for _, scenarios in ipairs{ catalogue, catalogue.of_engines,
                                    require("zklock.seckill.http.sale").scenarios } do
            for _, scenario in ipairs(scenarios) do
                for _, text in ipairs{ scenario.title, scenario.explanation } do
                    assert.is_truthy(language.translate(text):find "[\227-\239][\128-\191]", text)
                end
                local title, id = scenario.title, scenario.id
                assert.equal(("%s（%s）"):format(language.translate(title), id),
                             language.translate(("%s (%s)"):format(title, id)))
            end
        end
        local status, out = run{ "--only", "DEMO-02,DEMO-03", "--language", "zh" }
        assert.equal(0, status)
        assert.matches("\n本地锁，一台服务器 +库存 90，卖出 10 件 +正确 +DEMO%-02\n", out)
        assert.matches("\n本地锁，两台服务器 +库存 %d+，应当是 90 +出错，应当如此 +DEMO%-03\n"
            .. "\n2 个场景：1 个正确，1 个出错，全部合乎预期，用时 %d 秒\n", once(out))
        local page = os.tmpname()
        finally(function() os.remove(page) end)
        local _, sale = run{ "--strategy", "none,local", "--servers", "1", "--language", "zh",
            "--report", page }
        assert.is_truthy(files.read(page):find('"language":"zh"', 1, true))
        assert.matches("local：正确，原有 100 件，卖出 10 件，剩下 90 件\n"
            .. "10 个买家：10 个买到，0 个售罄，0 个失败，用时 %S+ 秒；等待 中位数 ", sale)
        assert.matches("（毫秒） +买到 +售罄 +失败 +每秒获锁 +等待 p50", sale)
    end)

    it("a run in which buyers waited too long is not right (BUG-09)", function()
        local status, out = run({ "--pause", "0.1", "--session", LONG }, { s0.oversell {
            id = "HURRY", title = "a timeout that is too short", expect = "right",
            sale = { servers = 2, strategy = "zookeeper", timeout = 0.15 },
        } })
        assert.equal(1, status)
        assert.matches("only %d of 10 buyers were served +FAILED", out)
    end)

    it("no request pays an order that is not written yet (PAY-01)", function()
        local scenario, sale = scenario_of "PAY-01a", nil
        local status = run({ "--session", LONG }, { setmetatable({
            play = function(...)
                local outcome = scenario.play(...)
                sale = outcome.sales[1]
                return outcome
            end,
        }, { __index = scenario }) })
        assert.equal(0, status)
        for _, note in ipairs(sale.notes) do
            local customer = tonumber(note.line:match "pays the order of customer (%d+)")
            assert.is_true(sale.purchases[customer].written < note.at, note.line)
        end
    end)

    it("the seed's 32 lines are printed in the seed's order (DEMO-08)", function()
        local status, out = run({ "--verbose", "--session", LONG }, { scenario_of "DEMO-08" })
        local lines = {}
        for line in out:gmatch "worker%-%d +([^\n]-)  %[token %d+%]\n" do
            lines[#lines + 1] = line
        end
        assert.same(seed_lines(), lines)
        assert.matches("\n[^\n]* 16 reads, 3 sold, 13 refused, 0 left +right +DEMO%-08", once(out))
        assert.equal(0, status)
    end)

    it("equal lines are shown once without --verbose (DEMO-08)", function()
        local _, out = run({ "--session", LONG }, { scenario_of "DEMO-08" })
        assert.matches("8 x current stock: 3\n.*worker%-%d +purchase ok, remaining stock: 2 .*"
            .. "remaining stock: 1 .*remaining stock: 0 .* 5 x insufficient\n"
            .. ".* 8 x current stock: 0\n.* 8 x insufficient\n +… and 25 more lines", out)
    end)

    it("the read-write sale is played again without a limit when a buyer waited too long (DEMO-08)",
       function()
            -- Shorter than the first buyer's hold at its barrier.
            local status, out = run({ "--session", LONG }, { s1.read_write {
                id = "HURRY", title = "a timeout that is too short", expect = "right",
                side = "write", timeout = 0.03,
            } })
            assert.matches("\n[^\n]* 0 left +right %(try 2%) +HURRY\n", out)
            assert.equal(0, status)
        end)
end)
