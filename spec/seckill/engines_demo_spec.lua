--- [lua luajit] The scenarios of the engines (make demo-engines): each comes out as it must, for
--- the reason that it names. Those of zookeeper need one: ZK_HOSTS names it.

local catalogue = require("zklock.seckill.catalogue").of_engines
local demo = require "spec.seckill.demo"
local engine = require "zklock.engine"
local environment = require "zklock.seckill.engines.environment"
local json_file = require "zklock.seckill.json_file"
local matrix = require "zklock.seckill.engines.matrix"
local command_line = require "zklock.seckill.command_line"
local rig = require "spec.rig"

local HOSTS = os.getenv "ZK_HOSTS"
local IDS = "DEMO-12,DEMO-13,DEMO-18,BUG-15,PIT-15,PIT-24,DEMO-21,Q-08"


local function run(...) return demo({ ... }, catalogue, environment) end


describe("a scenario of the engines #slow", function()
    local status, out, results

    -- All of them once, and what the command wrote of them, by id.
    setup(function()
        if not HOSTS then return end
        local file = os.tmpname()
        status, out = run("--only", IDS, "--session", "4", "--hold", "0.2", "--json", file)
        results = {}
        for _, result in ipairs(json_file.read(file)) do results[result.id] = result end
        os.remove(file)
    end)

    -- A name; of each scenario, its id, its verdict and what it finds.
    for _, row in ipairs{
        { "sells 500 of each product with Redis and patience (DEMO-12)",
            "DEMO-12c", "right", "^down by 500 and 500, 0 gave up$" },
        { "takes off the stock what was bought, though most give up (DEMO-12, CFG-11)",
            "DEMO-12d", "right", "^down by %d+ and %d+, %d+ gave up$" },
        { "does Redisson's snippet, and unlocks only what was locked (DEMO-13, BUG-14)",
            "DEMO-13a", "right", "^stock 97, should be 97; 0 lost$",
            "DEMO-13c", "right", "^stock 97, should be 97; 0 lost$" },
        { "oversells when a leaseTime ends under the work (DEMO-13)",
            "DEMO-13b", "wrong", "^stock 9[89], should be 97; [123] lost$" },
        { "oversells when a late DEL removes another's lock (DEMO-18, PIT-07, BUG-16)",
            "DEMO-18a", "wrong", "^stock 98, should be 97; C beside B$" },
        { "does no harm with a late release where locks have owners (DEMO-18)",
            "DEMO-18b", "right", "^stock 97, should be 97; B alone$",
            "DEMO-18c", "right", "^stock 97, should be 97; B alone$" },
        { "serves nobody after a death between SETNX and EXPIRE (BUG-15)",
            "BUG-15a", "wrong", "^2 waited 2 s in vain, no TTL$" },
        { "serves the next after a death just after zklock's grant (BUG-15)",
            "BUG-15b", "right", "^next after %S+ s %(session 4 s%)$" },
        { "stops buyers of another product without an index, and with it does not (PIT-15)",
            "PIT-15a", "wrong", "^waited 1 s for another product$",
            "PIT-15b", "right", "^both at once$",
            "PIT-15c", "right", "^both at once$" },
        { "shows what a fair lock costs, and sells right with both (PIT-24)",
            "PIT-24a", "right", "^%d+/s, %d+ overtakes; unfair %d+/s, %d+$",
            "PIT-24b", "right", "^%d+/s, %d+ overtakes; unfair %d+/s, %d+$" },
        { "loses a sale when the switch of the seed is set (DEMO-21, PIT-21)",
            "DEMO-21a", "wrong", "^stock 8%d, should be 80; two at once$" },
        { "loses none with a switch that keeps the locks, also to no name (CFG-17)",
            "DEMO-21b", "right", "^stock 80, redis%-set to zookeeper$",
            "DEMO-21c", "right", "^stock 80, redis%-set to zookeeper$" },
        { "goes on with the next engine when Redis has ended, if it may (Q-08)",
            "Q-08a", "wrong", "^16 of 20 not served$",
            "Q-08b", "right", "^by zookeeper after %S+ s$" },
    } do
        it(row[1], function()
            if not HOSTS then return pending "ZK_HOSTS is not set" end
            for i = 2, #row, 3 do
                local result = results[row[i]]
                assert.equal(row[i + 1], result.verdict, out)
                assert.matches(row[i + 2], result.finding)
            end
        end)
    end

    it("is one of several, which end with what engines have", function()
        if not HOSTS then return pending "ZK_HOSTS is not set" end
        assert.equal(0, status, out)
        assert.truthy(out:find(matrix.table(), 1, true))
        assert.matches("\n20 scenarios: 14 right, 6 wrong, all as expected in %d+ s\n$", out)
    end)
end)


describe("the command of the engines", function()
    it("lists its scenarios without running any", function()
        local status, out = run "--list"
        assert.equal(0, status)
        for _, scenario in ipairs(catalogue) do
            assert.truthy(out:find(" " .. scenario.id .. "\n", 1, true), scenario.id)
        end
        assert.matches("a late DEL, redis%-expire +must be wrong +needs no ZooKeeper +DEMO%-18a\n",
            out)
    end)

    it("works 3 s with --seed-times (DEMO-13)", function()
        assert.equal(3, command_line.parse({ "--seed-times" }, {}, environment).hold)
    end)

    it("names the program that is missing", function()
        local out = rig.shell("PATH=/nonexistent %s lua/zklock/seckill/engines/demo.lua "
            .. "--only DEMO-12 2>&1; echo status $?", rig.shell("command -v %s",
            os.getenv "ZKLOCK_LUA" or "lua5.4"):match "%S+")
        assert.equal("redis-server is not installed\nstatus 3\n", out)
    end)
end)


describe("the table of what engines have", function()
    it("has a line for each, in columns", function()
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
