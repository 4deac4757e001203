--- [lua luajit] The scenarios of the engines (make demo-engines) have the expected verdict for the
--- expected reason.

local catalogue = require("zklock.seckill.catalogue").of_engines
local demo = require "spec.seckill.demo"
local engine = require "zklock.engine"
local environment = require "zklock.seckill.engines.environment"
local json_file = require "zklock.seckill.json_file"
local matrix = require "zklock.seckill.engines.matrix"
local command_line = require "zklock.seckill.command_line"
local rig = require "spec.rig"

local IDS = "DEMO-12,DEMO-13,DEMO-18,BUG-15,PIT-15,PIT-24,DEMO-21,Q-08"


local function run(...) return demo({ ... }, catalogue, environment) end


describe("a scenario of the engines #slow", function()
    local status, out, results

    -- Runs all scenarios once, and reads their results by id.
    setup(function()
        local file = os.tmpname()
        status, out = run("--only", IDS, "--session", "4", "--hold", "0.2", "--json", file)
        results = {}
        for _, result in ipairs(json_file.read(file)) do results[result.id] = result end
        os.remove(file)
    end)

    -- A title, and for each scenario its id, verdict and finding.
    for _, row in ipairs{
        { "a patient sale with Redis sells 500 of each product (DEMO-12)",
            "DEMO-12c", "right", "^down by 500 and 500, 0 gave up$" },
        { "the stock falls by the sold pieces, though most buyers give up (DEMO-12, CFG-11)",
            "DEMO-12d", "right", "^down by %d+ and %d+, %d+ gave up$" },
        { "Redisson's snippet sells right, and unlocks only its own lock (DEMO-13, BUG-14)",
            "DEMO-13a", "right", "^stock 97, should be 97; 0 lost$",
            "DEMO-13c", "right", "^stock 97, should be 97; 0 lost$" },
        { "a leaseTime that ends during the work oversells (DEMO-13)",
            "DEMO-13b", "wrong", "^stock 9[89], should be 97; [123] lost$" },
        { "a late DEL that removes another holder's lock oversells (DEMO-18, PIT-07, BUG-16)",
            "DEMO-18a", "wrong", "^stock 98, should be 97; C beside B$" },
        { "a late release does no harm where locks have owners (DEMO-18)",
            "DEMO-18b", "right", "^stock 97, should be 97; B alone$",
            "DEMO-18c", "right", "^stock 97, should be 97; B alone$" },
        { "nobody is served after a death between SETNX and EXPIRE (BUG-15)",
            "BUG-15a", "wrong", "^2 waited 2 s in vain, no TTL$" },
        { "the next buyer is served after a death just after zklock's grant (BUG-15)",
            "BUG-15b", "right", "^next after %S+ s %(session 4 s%)$" },
        { "a lock blocks buyers of another product only without an index (PIT-15)",
            "PIT-15a", "wrong", "^waited 1 s for another product$",
            "PIT-15b", "right", "^both at once$",
            "PIT-15c", "right", "^both at once$" },
        { "a fair lock and an unfair lock sell right, at a shown cost (PIT-24)",
            "PIT-24a", "right", "^%d+/s, %d+ overtakes; unfair %d+/s, %d+$",
            "PIT-24b", "right", "^%d+/s, %d+ overtakes; unfair %d+/s, %d+$" },
        { "the seed's switch loses a sale (DEMO-21, PIT-21)",
            "DEMO-21a", "wrong", "^stock 8%d, should be 80; two at once$" },
        { "a switch that keeps the locks loses no sale, even to an unknown name (CFG-17)",
            "DEMO-21b", "right", "^stock 80, redis%-set to zookeeper$",
            "DEMO-21c", "right", "^stock 80, redis%-set to zookeeper$" },
        { "the next engine takes over when Redis has ended, if it may (Q-08)",
            "Q-08a", "wrong", "^16 of 20 not served$",
            "Q-08b", "right", "^by zookeeper after %S+ s$" },
    } do
        it(row[1], function()
            for i = 2, #row, 3 do
                local result = results[row[i]]
                assert.equal(row[i + 1], result.verdict, out)
                assert.matches(row[i + 2], result.finding)
            end
        end)
    end

    it("the output ends with the table of engines, and a sum of the scenarios", function()
        assert.equal(0, status, out)
        assert.truthy(out:find(matrix.table(), 1, true))
        assert.matches("\n20 scenarios: 14 right, 6 wrong, all as expected in %d+ s\n$", out)
    end)
end)


describe("the command of the engines", function()
    it("--list lists the scenarios without running any", function()
        local status, out = run "--list"
        assert.equal(0, status)
        for _, scenario in ipairs(catalogue) do
            assert.truthy(out:find(" " .. scenario.id .. "\n", 1, true), scenario.id)
        end
        assert.matches("a late DEL, redis%-expire +must be wrong +needs no ZooKeeper +DEMO%-18a\n",
            out)
    end)

    it("the lock is held 3 s with --seed-times (DEMO-13)", function()
        assert.equal(3, command_line.parse({ "--seed-times" }, {}, environment).hold)
    end)

    it("a missing program is named", function()
        local out = rig.shell("PATH=/nonexistent %s lua/zklock/seckill/engines/demo.lua "
            .. "--only DEMO-12 2>&1; echo status $?", rig.shell("command -v %s",
            os.getenv "ZKLOCK_LUA" or "lua5.4"):match "%S+")
        assert.equal("redis-server is not installed\nstatus 3\n", out)
    end)
end)


describe("the table of engines' features", function()
    it("the table has a line for each engine, in columns", function()
        local count = 0
        for line in matrix.table():gmatch "[^\n]+" do
            local name, cells = line:match "^(%S+)%s+(.*)$"
            local expected = name == "engine.has" or engine.has(name)
            assert.truthy(expected)
            assert.equal(9, select(2, cells:gsub("%S+", "")))
            count = count + 1
        end
        assert.equal(1 + #engine.names, count)
        assert.matches("\nredlock +%- +%- +%- +%- +yes +%- +%- +yes +%-\n", matrix.table())
        assert.matches("\nzookeeper .* yes$", matrix.table())
    end)
end)
