--- [lua] make bench WHAT=peers BENCH=--quick runs one short round of each row, with the
-- installed peers, and prints sensible tables, whatever the speed of the machine.

local clients = require "bench.harness.clients"
local dkjson = require "dkjson"
local files = require "spec.files"
local markdown = require "spec.markdown"
local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"


local function bench(words)
    local text = rig.shell("%s bench/peers.lua --quick %s 2>/dev/null; echo status $?", LUA, words)
    assert.matches("status 0\n$", text)
    return markdown.tables(text), text
end


-- The cell of a client in the first row with that label, or nil.
local function cell_of(tables, label, name)
    for _, lines in ipairs(tables) do
        for _, cells in ipairs(lines) do
            if cells[1] == label then
                for i, title in ipairs(lines[1]) do
                    if title == clients[name].label then return cells[i] end
                end
            end
        end
    end
end


-- Checks that each client has a ratio and milliseconds, or no cell if it is missing.
local function assert_measured(tables, label, ...)
    for _, name in ipairs{ ... } do
        local cell = cell_of(tables, label, name)
        if clients[name].missing() then
            assert.is_nil(cell)
        else
            local ratio, ms = cell:match "^([%d.e-]+).*; ([%d.e-]+)$"
            assert.is_true(tonumber(ratio) > 0 and tonumber(ms) > 0, label .. ", " .. name)
        end
    end
end


local PACKAGES = { Curator = "libcurator-framework-java", kazoo = "python3-kazoo",
                   ["go-zookeeper"] = "golang-github-go-zookeeper-zk-dev" }


-- Checks for each peer's version ("Curator: 5.7.1"), or its missing file.
local function assert_versions(text)
    for name, package in pairs(PACKAGES) do
        local said = name .. " is missing: "
        if not clients[name].missing() then
            said = ("%s: %s"):format(name, neighbour.unpacked("build/debian/peers", package))
        end
        assert.is_truthy(text:find(said, 1, true), said)
    end
end


describe("make bench WHAT=peers", function()
    it("a peer that is not unpacked is missing, even if another build folder has it", function()
        local code = [[for _, name in ipairs{ "Curator", "kazoo", "go-zookeeper" } do
            print(require "bench.harness.clients"[name].missing()) end]]
        assert.equal(("/nowhere/debian/peers/packages\n"):rep(3),
                     rig.shell("ZKLOCK_BUILD=/nowhere %s -e '%s'", LUA, code))
    end)

    it("cycles are measured with each client that can do them, and the figures are kept #slow",
    function()
        local path = os.tmpname()
        local tables, text = bench("--rows free,many,try,reentry --delays 0 --json " .. path)
        assert_versions(text)
        assert_measured(tables, "free", "LuaJIT", "Curator", "kazoo", "go-zookeeper", "serial",
                        "pipelined")
        assert_measured(tables, "16 free at once", "pipelined")
        assert.equal("—", cell_of(tables, "16 free at once", "serial"))
        assert_measured(tables, "try, taken", "Curator")
        assert_measured(tables, "re-entry", "LuaJIT")
        assert.matches("^%S+ %+ %S+$", markdown.rows(text).free[2][1]) -- of processors
        local note = dkjson.decode(files.read(path)).rows[1]
        assert.equal("free", note.name)
        assert.is_true(note.rounds[1].ms > 0)
        local compared = bench("--rows free --delays 0 --against " .. path)
        os.remove(path)
        assert.equal("against " .. path, compared[#compared][1][1])
    end)

    it("grants, memory, held locks and an outage are measured #slow", function()
        local tables, text = bench "--rows handoff,8x8,memory,held,outage --sessions 2 --delays 1"
        for _, label in ipairs{ "hand-off, S = 2, 1 ms round trip", "3 × 3, 1 ms round trip" } do
            assert_measured(tables, label, "LuaJIT", "Curator", "kazoo", "go-zookeeper")
        end
        local rows = markdown.rows(text)
        assert.is_not_nil(rows["a waiter"])
        assert.equal("200", rows.held[1][2])
        assert.is_true(tonumber(rows.outage[1][1]:match "^[%d.]+") >= 0.5)
        assert.matches("timeout$", rows.outage[1][1])
    end)

    it("repeated use of a lock by one process is measured #slow", function()
        local tables = bench "--rows kept,turns,combined --delays 0"
        for _, label in ipairs{ "kept", "one lock, 8 tasks, turns",
                                "one lock, 64 tasks, combined" } do
            assert_measured(tables, label, "LuaJIT", "Curator")
        end
    end)

    it("a handler in nginx and an ensemble are measured #slow", function()
        local tables, text = bench "--rows nginx,ensemble"
        for _, cell in ipairs(markdown.rows(text)["in nginx"][2]) do
            assert.is_true(tonumber(cell:match "^%S+") > 0)
        end
        assert_measured(tables, "hand-off, S = 3, ensemble", "LuaJIT")
    end)
end)
