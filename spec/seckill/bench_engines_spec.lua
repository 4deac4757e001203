--- [lua] make bench WHAT=engines for a few seconds, in one short round of some engines; and the
-- tables of docs/performance/engines.md, which must have all that it measures.

local contenders = require "bench.engines.contenders"
local engine = require "zklock.engine"
local markdown = require "spec.markdown"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"


local function bench(words)
    local text = rig.shell("%s bench/engines.lua %s 2>&1; echo status $?", LUA, words)
    assert.matches("status 0\n$", text)
    return markdown.rows(text)
end


local function numbers(cell)
    local list = {}
    for number in cell:gmatch "[%d.]+" do list[#list + 1] = tonumber(number) end
    return list
end


describe("make bench WHAT=engines", function()
    it("make bench measures the number, the requests and the order of grants #slow",
       function()
        local rows = bench("--rows grants --rounds 1 --seconds 0.2 --contenders 1,8 "
            .. "--engines redis-set,sql-optimistic,sql-table,zookeeper")
        for label, requests in pairs{ ["redis-set"] = 2, ["sql-table, SQLite"] = 3,
                                      ["sql-table, MariaDB"] = 3 } do
            local alone, among, crowd = rows[label][1], rows[label][2], rows[label][3]
            assert.is_true(numbers(alone[1])[1] >= 0, label) -- 0 if the machine stood still
            assert.equal(requests, tonumber(alone[5]), label) -- SELECT, INSERT, DELETE; SET, EVAL
            assert.is_nil(alone[6]) -- a single client has no order
            assert.is_true(tonumber(among[5]) >= requests)
            assert.is_true(tonumber(among[6]) >= 0 and tonumber(among[7]) <= 1)
            assert.is_true(numbers(crowd[1])[1] > 0)
        end
        assert.equal("1.00", rows.zookeeper[2][2])
        local jain = tonumber(rows.zookeeper[2][7])
        assert.is_true(jain > 0 and jain <= 1, jain) -- some may begin late
        assert.equal("—", rows["sql-optimistic, MariaDB"][2][6])
    end)

    it("make bench measures the numbers that seed articles claim (NUM-01, NUM-02, NUM-04) #slow",
       function()
        local rows = bench("--rows claims --rounds 1 --seconds 0.1 --locks 2000 "
            .. "--engines redis-expire,redis-set,redlock,zookeeper")
        assert.equal(2, #rows.zookeeper) -- own locks, and many held locks
        assert.is_true(tonumber(rows["redis-expire"][2][2]) > 20, "bytes of a lock")
        assert.is_true(tonumber(rows["2 of 5"][1][2]) >= 90, "two silent masters")
        assert.is_true(tonumber(rows["2 of 5"][1][1]) >= 8)
    end)

    it("make bench strikes holders, servers and clocks #slow", function()
        local rows = bench("--rows faults --faults killed,promoted,clock --fault-rounds 1 "
            .. "--lease 4 --engines redis-set,sql-pessimistic,zookeeper")
        assert.matches("^%d+%.%d s", rows["sql-pessimistic"][1][1])
        assert.equal("—", rows["sql-pessimistic"][1][2])
        for fault = 1, 3 do
            assert.matches("^%d+%.%d s", rows["redis-set"][1][fault])
            assert.matches("^%d+%.%d s", rows.zookeeper[1][fault])
        end
    end)
end)


describe("the tables of docs/performance/engines.md (CMP-01)", function()
    it("the tables have each engine, and all that is measured", function()
        local rows, measured = markdown.rows(rig.shell("cat docs/performance/engines.md")), {}
        for _, contender in ipairs(contenders) do
            measured[contender.engine] = true
            assert.is_true(#(rows[contender.label] or {}) >= 4, contender.label)
        end
        measured.cerberus = true -- made of other engines
        for _, name in ipairs(engine.names) do assert.is_true(measured[name], name) end
    end)
end)
