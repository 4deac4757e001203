--- The flash-sale laboratory: what its store, its verdicts and its command
--- promise. The scenarios that need a ZooKeeper run if ZK_HOSTS names one.

local laboratory = require "zklock.seckill.laboratory"
local reaper = require "zklock.seckill.reaper"
local options = require "zklock.seckill.options"
local herd = require "zklock.seckill.scenario.herd"
local oversell = require "zklock.seckill.scenario.oversell"
local read_write = require "zklock.seckill.scenario.read_write"
local shell = require "zklock.seckill.shell"
local stores = require "zklock.seckill.store"


-- A file that keeps what is written to it.
local function memory()
    local file = { text = "" }
    function file:write(...) self.text = self.text .. table.concat { ... } end
    function file.flush() end
    return file
end


-- Runs the laboratory; gives its exit status, what it printed, its complaints.
local function run(arguments, scenarios)
    local out, err = memory(), memory()
    local status = laboratory.main(arguments, out, err, scenarios)
    return status, out.text, err.text
end


describe("the store of the flash sale", function()
    local run_reaper, store

    before_each(function()
        run_reaper = reaper.open()
        store = stores.create(run_reaper.folder .. "/store.db")
    end)

    after_each(function()
        store:close()
        run_reaper:close()
    end)

    it("has the columns of the seed's table, and one for the token (S0)", function()
        local columns = {}
        for i, row in ipairs(store:rows "PRAGMA table_info(tb_commodity_info)") do
            columns[i] = row[2] .. " " .. row[3]
        end
        assert.same({
            "id varchar(32)", "commodity_name varchar(512)", "commodity_price varchar(36)",
            "number int(10)", "description varchar(2048)", "token bigint",
        }, columns)
    end)

    it("starts with 100 items (DEMO-01) and 10 orders (DEMO-11)", function()
        assert.equal(100, store:stock())
        assert.equal(10, store:orders_left())
    end)

    it("writes the number it is given: two that read the same lose an update (DEMO-01)", function()
        local mine, yours = store:stock(), store:stock()
        assert.is_true(store:set_stock(mine - 1))
        assert.is_true(store:set_stock(yours - 1))
        assert.equal(99, store:stock())
    end)

    it("refuses a late write of an older holder (DEMO-17, Q-01, Q-03)", function()
        assert.is_true(store:set_stock_fenced(99, "8589934595"))
        assert.is_false(store:set_stock_fenced(42, "8589934594"))
        assert.equal(99, store:stock())
    end)

    it("compares tokens as numbers, not as text (BUG-07)", function()
        assert.is_true(store:set_stock_fenced(99, "9"))
        assert.is_true(store:set_stock_fenced(98, "10"))
        assert.is_false(store:set_stock_fenced(42, "9"))
    end)

    it("keeps a token above 2^53 exactly", function()
        assert.is_true(store:set_stock_fenced(99, "9007199254740993"))
        assert.is_false(store:set_stock_fenced(42, "9007199254740993"))
        assert.is_true(store:set_stock_fenced(98, "9007199254740994"))
    end)

    it("takes nothing for a token but digits", function()
        assert.has_error(function() store:set_stock_fenced(1, "1 OR 1") end)
    end)

    it("shows others the old stock until the commit (PIT-04, DEMO-06)", function()
        local other = stores.open(store.path)
        store:begin()
        store:set_stock(99)
        assert.equal(100, other:stock())
        store:commit()
        assert.equal(99, other:stock())
        other:close()
    end)

    it("counts what buyers were told", function()
        store:tell("1", "8080", "sold")
        store:tell("2", "8081", "sold")
        store:tell("3", "8080", "timeout")
        assert.equal(2, store:told "sold")
        assert.equal(0, store:told "refused")
    end)

    it("keeps the journal in order, with quotes in it", function()
        store:note("a", "it's mine", "12")
        store:note("b", "waits")
        local journal = store:journal()
        assert.equal("it's mine", journal[1].line)
        assert.equal("12", journal[1].token)
        assert.equal("b", journal[2].who)
        assert.is_nil(journal[2].token)
        assert.is_true(journal[1].at <= journal[2].at)
    end)

    it("tells whether tokens grow", function()
        store:tell("1", "8080", "sold", "9")
        store:tell("2", "8080", "sold", "10")
        assert.is_true(store:tokens_grow "answer")
        store:tell("3", "8080", "sold", "10")
        assert.is_false(store:tokens_grow "answer")
    end)
end)


describe("a verdict of the laboratory", function()
    local function sale(words)
        words.id, words.title = words.id or "SALE", "a sale"
        return oversell.scenario(words)
    end

    it("is wrong without a lock, and that is as expected (DEMO-01)", function()
        local status, out = run { "--only", "DEMO-01" }
        assert.matches("\nDEMO%-01 .* should be 90 .* wrong, as expected\n", out)
        assert.equal(0, status)
    end)

    it("is right with a local lock in one process (DEMO-02)", function()
        local status, out = run { "--only", "DEMO-02" }
        assert.matches("\nDEMO%-02 .* stock 90, 10 sold +right\n", out)
        assert.equal(0, status)
    end)

    it("is wrong with a local lock in two processes (DEMO-03, PIT-11)", function()
        local status, out = run { "--only", "DEMO-03" }
        assert.matches("\nDEMO%-03 .* should be 90 .* wrong, as expected\n", out)
        assert.equal(0, status)
    end)

    it("sums up in the last line", function()
        local _, out = run { "--only", "DEMO-01,DEMO-02" }
        assert.matches("\n2 scenarios: 1 right, 1 wrong, all as expected in %d+ s\n$", out)
    end)

    it("fails the run when what must go wrong comes out right, and says after how many tries",
        function()
            local status, out = run({}, { sale {
                expect = "wrong", race = true, servers = { "8080" }, strategy = "local",
            } })
            assert.equal(1, status)
            assert.matches("RIGHT, but it must go wrong %(try 3%)", out)
            assert.matches("NOT as expected: SALE", out)
        end)

    it("fails the run when what must be right goes wrong, at the first try", function()
        local status, out = run({}, { sale {
            expect = "right", servers = { "8080", "8081" }, strategy = "local",
        } })
        assert.equal(1, status)
        assert.matches("WRONG, must be right\n", out)
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

    it("plays again what proved nothing, and says after how many tries", function()
        local status, out = run({}, { hesitant(1) })
        assert.matches("\nSLOW .* waited +right %(try 2%)\n", out)
        assert.equal(0, status)
    end)

    it("fails the run when nothing is ever proved", function()
        local status, out = run({}, { hesitant(3) })
        assert.matches("\nSLOW .* waited +FAILED %(try 3%)\n", out)
        assert.equal(1, status)
    end)

    it("fails the run when a process does, with its message", function()
        local status, out = run({}, { sale {
            expect = "wrong", servers = { "8080" }, strategy = "none", purchase = "no such",
        } })
        assert.equal(1, status)
        assert.matches("8080: .* FAILED", out)
        assert.matches("1 failed, NOT as expected: SALE", out)
    end)

    it("fails the run when a process ends without a word", function()
        local status, out = run({}, { {
            id = "SILENT", title = "a killed server", expect = "wrong",
            play = function(_, run)
                run.options.lua = "true" -- the program that does nothing
                run:start("oversell", "8080")
                run:open_barrier()
            end,
        } })
        assert.equal(1, status)
        assert.matches('8080 ended before it said "ready" .* FAILED', out)
    end)

    it("leaves no process and no folder behind, also when a scenario breaks off", function()
        local folder, pid
        run({}, { {
            id = "BROKEN", title = "a scenario that breaks off", expect = "right",
            play = function(_, run)
                folder = run.reaper.folder
                pid = run:start("oversell", "8080", {
                    buyers = "1", strategy = "none", purchase = "plain",
                }).pid
                error "broken"
            end,
        } })
        assert.is_false(shell.succeeds(("kill -0 %s 2>/dev/null"):format(pid)))
        assert.is_false(shell.succeeds("test -e " .. folder))
    end)
end)


-- What the seed prints, line by line.
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
    local run_reaper, store

    before_each(function()
        run_reaper = reaper.open()
        store = stores.create(run_reaper.folder .. "/store.db")
    end)

    after_each(function()
        store:close()
        run_reaper:close()
    end)

    -- The store after a sale that printed these lines.
    local function sale(lines)
        for _, table_name in ipairs { "journal", "answer" } do
            store:execute("DELETE FROM " .. table_name)
        end
        for n, line in ipairs(lines) do
            store:note("worker-1", line, tostring(n))
            local said = line:find "^purchase ok" and "sold" or line == "insufficient" and "refused"
            if said then store:tell("worker-1", "worker-1", said, tostring(n)) end
        end
        store:set_stock(0)
        return lines
    end

    local function wrong(pattern)
        local outcome = read_write.judge(store)
        assert.is_false(outcome.right)
        assert.matches(pattern, outcome.finding)
    end

    it("is right for the seed's 32 lines", function()
        assert.equal(32, #sale(seed_lines()))
        local outcome = read_write.judge(store)
        assert.equal("16 reads, 3 sold, 13 refused, 0 left", outcome.finding)
        assert.is_true(outcome.right)
    end)

    it("is wrong when any two neighbours that differ have changed places", function()
        local seed, changes = seed_lines(), 0
        for n = 2, #seed do
            if seed[n] ~= seed[n - 1] then
                local lines = seed_lines()
                lines[n - 1], lines[n] = lines[n], lines[n - 1]
                sale(lines)
                wrong(("^line %d: %s$"):format(n - 1, seed[n]))
                changes = changes + 1
            end
        end
        assert.equal(6, changes)
    end)

    it("is wrong when a line is missing, or one too many", function()
        for _, missing in ipairs { 1, 9, 16, 32 } do
            local lines = seed_lines()
            table.remove(lines, missing)
            sale(lines)
            wrong "%d+ reads, %d sold, %d+ refused, 0 left"
        end
        sale(seed_lines())
        store:note("worker-1", "and one more")
        wrong "^33 lines, should be 32$"
    end)

    it("is wrong when the store does not agree with the lines", function()
        sale(seed_lines())
        store:set_stock(1)
        wrong ", 1 left$"
        sale(seed_lines())
        store:tell("worker-1", "worker-1", "sold", "33")
        wrong ", 4 sold,"
        sale(seed_lines())
        store:execute "UPDATE answer SET token = 1"
        wrong "^tokens do not grow$"
    end)
end)


describe("the reaper", function()
    it("kills what it holds when the demo is no more", function()
        local held = reaper.open()
        local pid = shell.first_line "sleep 60 >/dev/null & echo $!"
        held:hold(pid)
        held:close()
        assert.is_true(shell.succeeds(
            ("! kill -0 %s 2>/dev/null || grep -q 'State:.Z' /proc/%s/status"):format(pid, pid)))
    end)

    it("spares a process that it was told to let go", function()
        local held = reaper.open()
        local pid = shell.first_line "sleep 60 >/dev/null & echo $!"
        held:hold(pid)
        held:let_go(pid)
        held:close()
        assert.is_true(shell.succeeds("kill -0 " .. pid))
        shell.succeeds("kill " .. pid)
    end)
end)


describe("the laboratory's command line", function()
    local function refused(arguments, ...)
        local status, _, err = run(arguments)
        assert.equal(2, status)
        for _, pattern in ipairs { ... } do assert.matches(pattern, err) end
    end

    it("refuses an unknown option and says which there are", function()
        refused({ "--fast" }, "unknown option '%-%-fast'", "%-%-pause", "%-%-only")
    end)

    it("refuses an unknown scenario and says which there are", function()
        refused({ "--only", "DEMO-01,DEMO-99" }, "DEMO%-99", "DEMO%-01 .*DEMO%-17b")
    end)

    it("refuses times that are none", function()
        refused({ "--pause", "long" }, '"long" is not a number of seconds')
        refused({ "--hold", "-1" }, "hold")
        refused({ "--session", "1e9" }, "1e9")
    end)

    it("refuses --hold together with --seed-times", function()
        refused({ "--hold", "1", "--seed-times" }, "can not be used together")
    end)

    it("takes DEMO-06 for both of its variants, in the catalogue's order", function()
        local chosen = options.parse({ "--only", "DEMO-06,DEMO-02" },
            require "zklock.seckill.catalogue")
        local ids = {}
        for i, scenario in ipairs(chosen.scenarios) do ids[i] = scenario.id end
        assert.same({ "DEMO-02", "DEMO-06a", "DEMO-06b" }, ids)
    end)

    it("holds 5 s with --seed-times (S2), half a second without", function()
        assert.equal(5, options.parse({ "--seed-times" }, {}).hold)
        assert.equal(0.5, options.parse({}, {}).hold)
    end)

    it("lists the scenarios without running any", function()
        local status, out = run { "--list" }
        assert.equal(0, status)
        assert.matches("DEMO%-03 +local lock, two servers +must be wrong", out)
    end)

    it("shows its help", function()
        local status, out = run { "--help" }
        assert.equal(0, status)
        assert.matches("%-%-seed%-times", out)
    end)

    it("says what is missing when there is no ZooKeeper to use", function()
        local chosen = options.parse({ "--only", "DEMO-04" }, require "zklock.seckill.catalogue")
        if chosen.zookeeper then return end -- ZK_HOSTS is set
        local status, _, err = run { "--only", "DEMO-04" }
        assert.equal(3, status)
        assert.matches("DEMO%-04 needs a ZooKeeper.*ZK_HOSTS", err)
    end)

    it("says once that no ZooKeeper answers, and runs nothing", function()
        local status, out, err = run { "--only", "DEMO-01,DEMO-04", "--zookeeper", "127.0.0.1:1" }
        assert.equal(3, status)
        assert.equal("", out)
        assert.matches("^connection: 127%.0%.0%.1:1: no ZooKeeper server answered[^\n]*\n$", err)
    end)

    it("refuses an address that is none", function()
        local status, _, err = run { "--only", "DEMO-04", "--zookeeper", "" }
        assert.equal(3, status)
        assert.matches("%S", err)
    end)
end)


describe("the verdict on the herd (DEMO-14)", function()
    local run_reaper, store

    before_each(function()
        run_reaper = reaper.open()
        store = stores.create(run_reaper.folder .. "/store.db")
    end)

    after_each(function()
        store:close()
        run_reaper:close()
    end)

    -- What eight waiters noted; those of `others` instead of the first ones.
    local function judge(scenario, line, others, holders)
        store:execute "DELETE FROM journal"
        for n = 1, 8 do
            local at = ("after %.3f s"):format(n / 10)
            local told = (others and others[n] or line):gsub("AT", at)
            store:note("waiter-" .. n, told, n <= (holders or 1) and "7" or nil)
        end
        return herd.judge(scenario, store)
    end

    it("counts who was woken, and what that made of it", function()
        local outcome = judge(herd.scenarios[1], "1 woken, 1 created, AT")
        assert.equal("8 of 8 woken, 8 creates in 700 ms", outcome.finding)
        assert.is_true(outcome.right)
        assert.is_true(judge(herd.scenarios[2], "1 woken, 1 created, AT").right)
        local fifo = judge(herd.scenarios[3], "0 woken, 0 created, stood still",
            { "1 woken, 0 created, stood still" })
        assert.equal("1 of 8 woken, 0 creates", fifo.finding)
        assert.is_true(fifo.right)
    end)

    it("is wrong for any other count, or holder", function()
        local line, still = "1 woken, 1 created, AT", "0 woken, 0 created, stood still"
        for _, scenario in ipairs { herd.scenarios[1], herd.scenarios[2] } do
            assert.is_false(judge(scenario, line, { "1 woken, 2 created, AT" }).right)
            assert.is_false(judge(scenario, line, { "2 woken, 1 created, AT" }).right)
            assert.is_false(judge(scenario, line, { still }).right)
            assert.is_false(judge(scenario, line, { "lost" }).right)
            assert.is_false(judge(scenario, line, nil, 0).right)
            assert.is_false(judge(scenario, line, nil, 2).right)
        end
        assert.is_false(judge(herd.scenarios[3], line).right)
        assert.is_false(judge(herd.scenarios[3], still).right)
    end)

    it("is wrong when jitter spreads nothing", function()
        assert.is_false(judge(herd.scenarios[2], "1 woken, 1 created, after 0.1 s").right)
        assert.is_true(judge(herd.scenarios[1], "1 woken, 1 created, after 0.1 s").right)
    end)
end)


describe("the laboratory with a ZooKeeper", function()
    local function as_expected(only, ...)
        if not os.getenv "ZK_HOSTS" then return pending "ZK_HOSTS is not set" end
        local status, out = run { "--only", only, "--verbose" }
        for _, pattern in ipairs { ... } do assert.matches(pattern, out) end
        assert.equal(0, status)
    end

    it("sells right on two servers (DEMO-04, BUG-05)", function()
        as_expected("DEMO-04", "\nDEMO%-04 .* stock 90, 10 sold +right\n")
    end)

    it("sells right with a timeout for each buyer (DEMO-05, BUG-04)", function()
        as_expected("DEMO-05", "\nDEMO%-05 .* stock 90, 10 sold +right\n")
    end)

    it("does not call a run right in which buyers waited too long (BUG-09)", function()
        if not os.getenv "ZK_HOSTS" then return pending "ZK_HOSTS is not set" end
        local status, out = run({ "--pause", "0.1" }, { oversell.scenario {
            id = "HURRY", title = "a timeout that is too short", expect = "right",
            servers = { "8080", "8081" }, strategy = "zookeeper",
            lock = "/locks/hurry", timeout = 0.15,
        } })
        assert.equal(1, status)
        assert.matches("only %d of 10 buyers were served +FAILED", out)
    end)

    it("shows that a lock given up before the commit is none (DEMO-06, PIT-04)", function()
        as_expected("DEMO-06a", "\nDEMO%-06a .* should be 90 +wrong, as expected\n")
        as_expected("DEMO-06b", "\nDEMO%-06b .* stock 90, 10 sold +right\n")
    end)

    it("prints the seed's 32 lines in the seed's order (DEMO-08)", function()
        if not os.getenv "ZK_HOSTS" then return pending "ZK_HOSTS is not set" end
        local status, out = run({ "--verbose" }, { read_write.scenarios[1] })
        local lines = {}
        for line in out:gmatch "worker%-%d +([^\n]-)  %[token %d+%]\n" do
            lines[#lines + 1] = line
        end
        assert.same(seed_lines(), lines)
        assert.matches("\nDEMO%-08 .* 16 reads, 3 sold, 13 refused, 0 left +right", out)
        assert.equal(0, status)
    end)

    it("shows a line for each run of equal ones without --verbose (DEMO-08)", function()
        if not os.getenv "ZK_HOSTS" then return pending "ZK_HOSTS is not set" end
        local _, out = run({}, { read_write.scenarios[1] })
        assert.matches("8 x current stock: 3\n.*worker%-%d +purchase ok, remaining stock: 2 .*"
            .. "remaining stock: 1 .*remaining stock: 0 .* 5 x insufficient\n"
            .. ".* 8 x current stock: 0\n.* 8 x insufficient\n +… and 25 more lines", out)
    end)

    it("oversells when a purchase is made under the lock that readers share (DEMO-08b)", function()
        as_expected("DEMO-08b",
            "\nDEMO%-08b .* 16 reads, 16 sold, 0 refused, 1 left +wrong, as expected\n")
    end)

    it("plays the read-write sale again without a limit when somebody waited too long (DEMO-08)",
        function()
            if not os.getenv "ZK_HOSTS" then return pending "ZK_HOSTS is not set" end
            -- Shorter than the first buyer holds the lock, at its barrier.
            local status, out = run({}, { read_write.scenario {
                id = "HURRY", title = "a timeout that is too short", expect = "right",
                purchase = "write", timeout = 0.03,
            } })
            assert.matches("\nHURRY .* 0 left +right %(try 2%)\n", out)
            assert.equal(0, status)
        end)

    it("lets one in after the other, also when each enters twice (DEMO-09, DEMO-10)", function()
        as_expected("DEMO-09,DEMO-10", "\nDEMO%-09 [^\n]+ right\n", "\nDEMO%-10 [^\n]+ right\n")
    end)

    it("gives 10 orders to 15 clients, and shows their line (DEMO-11)", function()
        as_expected("DEMO-11", "\nDEMO%-11 .* 10 sold, 5 refused, 0 left +right\n",
            "Thread%-%d+ +created _c_%S+%-lock%-%d+\n", "Thread%-%d+ +got the lock",
            "Thread%-%d+ +watches _c_%S+%-lock%-%d+ of Thread%-%d+\n",
            "Thread%-%d+ +heard the node deletion event!", "Thread%-%d+ +releases the lock")
    end)

    it("wakes a herd without an order, and one with it (DEMO-14, ALG-05, PIT-01)", function()
        as_expected("DEMO-14a,DEMO-14b,DEMO-14c",
            "\nDEMO%-14a .* 8 of 8 woken, 8 creates in %d+ ms +right\n",
            "\nDEMO%-14b .* 8 of 8 woken, 8 creates in %d+ ms +right\n",
            "\nDEMO%-14c .* 1 of 8 woken, 0 creates +right\n")
    end)

    it("hands the lock of a killed holder on (DEMO-15, PIT-13)", function()
        as_expected("DEMO-15", "\nDEMO%-15 .* next after %d.* right\n")
    end)

    it("loses to a late write without a token, and refuses it with one (DEMO-17, PIT-09)",
        function()
            as_expected("DEMO-17",
                "\nDEMO%-17a .* lease lost, stock 99, should be 98 +wrong, as expected\n",
                "\nDEMO%-17b .* lease lost, write refused, stock 99 +right\n",
                "was refused by the store")
        end)
end)
