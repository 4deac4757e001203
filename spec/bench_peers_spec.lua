--- [lua] make bench-peers --quick: one short round of each row, with the peers that are here. What
-- it prints makes sense, whatever the speed of the machine.

local clients = require "bench.contended.clients"
local dkjson = require "dkjson"
local markdown = require "spec.markdown"
local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"


local function bench(words)
    local text = rig.shell("%s bench/peers.lua --quick %s 2>/dev/null; echo status $?", LUA, words)
    assert.matches("status 0\n$", text)
    return markdown.rows(text), text
end


-- The cell of a client in a table of times: nil if there is no such column.
local function cell_of(lines, label, head, name)
    for i, title in ipairs(lines[head][1]) do
        if title == clients[name].label then
            return lines[label][head == "ms" and 2 or 1][i]
        end
    end
end


local function numbers(cell)
    local list = {}
    for number in cell:gmatch "[%d.e-]+" do list[#list + 1] = tonumber(number) end
    return list
end


local function assert_measured(lines, label, name)
    local ratio = cell_of(lines, label, "time / zklock's", name)
    if clients[name].missing() then
        assert.equal("missing", ratio)
    else
        assert.is_true(numbers(ratio)[1] > 0, label .. ", " .. name)
        assert.is_true(numbers(cell_of(lines, label, "ms", name))[1] > 0, label .. ", " .. name)
    end
end


local PACKAGES = { Curator = "libcurator-framework-java", kazoo = "python3-kazoo",
                   ["go-zookeeper"] = "golang-github-go-zookeeper-zk-dev" }


-- Says that of each peer which is here: "Curator: 5.7.1".
local function assert_versions(text)
    for name, package in pairs(PACKAGES) do
        if not clients[name].missing() then
            local said = ("%s: %s"):format(name, neighbour.unpacked("build/debian/peers", package))
            assert.is_truthy(text:find(said, 1, true), said)
        end
    end
end


describe("make bench-peers", function()
    it("does not take another package for a peer whose own cannot be had", function()
        local code = [[for _, name in ipairs{ "Curator", "kazoo", "go-zookeeper" } do
            print(require "bench.contended.clients"[name].missing()) end]]
        assert.equal(("/nowhere/debian/peers/packages\n"):rep(3),
                     rig.shell("ZKLOCK_BUILD=/nowhere %s -e '%s'", LUA, code))
    end)

    it("measures cycles, with each client that can do them, and keeps the figures #slow", function()
        local path = os.tmpname()
        local lines, text = bench("--rows free,many,try,reentry --delays 0 --json " .. path)
        assert_versions(text)
        for _, name in ipairs{ "LuaJIT", "Curator", "kazoo", "go-zookeeper", "serial",
                               "pipelined" } do
            assert_measured(lines, "free", name)
        end
        assert_measured(lines, "16 free at once", "pipelined")
        assert.equal("—", cell_of(lines, "16 free at once", "ms", "serial"))
        assert_measured(lines, "try, taken", "Curator")
        assert_measured(lines, "re-entry", "LuaJIT")
        assert.matches("^%S+ %+ %S+$", lines.free[3][1]) -- of processors: client, server
        local file = assert(io.open(path))
        local rows = dkjson.decode(file:read "*a").rows
        file:close()
        assert.equal("free", rows[1].name)
        assert.is_true(rows[1].rounds[1].ms > 0)
        local compared = bench("--rows free --delays 0 --against " .. path)
        os.remove(path)
        assert.is_not_nil(compared["against " .. path])
    end)

    it("measures grants, memory, locks that are held, and an outage #slow", function()
        local lines = bench "--rows handoff,8x8,memory,held,outage --sessions 2 --delays 1"
        for _, name in ipairs{ "LuaJIT", "Curator", "kazoo", "go-zookeeper" } do
            assert_measured(lines, "hand-off, S = 2, 1 ms round trip", name)
            assert_measured(lines, "3 × 3, 1 ms round trip", name)
        end
        assert.is_not_nil(lines["a waiter"])
        assert.is_not_nil(lines["200"]) -- locks that are held
        assert.matches("timeout$", lines.outage[1][1])
        assert.is_true(numbers(lines.outage[1][1])[1] >= 0.5)
    end)

    it("measures what one process does with a lock again and again #slow", function()
        local lines = bench "--rows kept,turns,combined --delays 0"
        for _, label in ipairs{ "kept", "one lock, 8 tasks, turns",
                                "one lock, 64 tasks, combined" } do
            assert_measured(lines, label, "LuaJIT")
            assert_measured(lines, label, "Curator")
        end
    end)

    it("measures a handler in nginx #slow", function()
        local lines = bench "--rows nginx"
        for _, label in ipairs{ "nothing", "a lock of its own", "one lock for all, in order" } do
            assert.is_true(numbers(lines[label][1][2])[1] > 0, label)
        end
    end)

    it("measures an ensemble #slow", function()
        local lines = bench "--rows ensemble"
        assert_measured(lines, "hand-off, S = 3, ensemble", "LuaJIT")
    end)
end)
