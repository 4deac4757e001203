--- [lua] make bench-many, with few waiters: what it prints makes sense, however slow the machine
-- is.

local clients = require "bench.contended.clients"
local markdown = require "spec.markdown"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"


local function bench(words)
    local text = rig.shell("%s bench/many.lua --rounds 1 %s 2>&1; echo status $?", LUA, words)
    assert.matches("status 0\n$", text)
    return markdown.tables(text)
end


-- The cells of a line under their titles, but for those that come twice.
local function named(lines, number)
    local row = {}
    for i, title in ipairs(lines[1]) do row[title] = lines[number][i] end
    return row
end


describe("make bench-many", function()
    for row, who in pairs{ fifo = "zklock,LuaJIT,Curator", turns = "zklock,LuaJIT,Curator" } do
        it("has all waiters of " .. row .. " in line, served, and out of it #slow", function()
            local lines = bench(("--rows %s --waiters 41 --processes 2 --clients %s")
                                :format(row, who))
            local seen = {}
            for i = 2, #lines[1] do
                local cells = named(lines[1], i)
                seen[cells.client] = true
                assert.equal("41 × 2", cells["waiters × processes"])
                assert.same({ "41", "41" }, { cells.served, cells.timeouts })
            end
            assert.is_true(seen[clients.zklock.label])
            if not clients.Curator.missing() then
                assert.equal(row == "fifo" or nil, seen[clients.Curator.label])
            end
        end)
    end

    it("measures locks at once, and two servers #slow", function()
        local lines = bench "--rows locks,ensembles --tasks 5 --cycles 2 --threads 2,3"
        local first = named(lines[1], 2)
        assert.same({ clients.zklock.label, "5", "1.00 (1.00 to 1.00)" },
                    { first.client, first["at once"], first["time / zklock's"] })
        assert.same({ "1", "2" }, { lines[2][2][1], lines[2][3][1] })
        assert.is_true(tonumber(lines[2][3][3]:match "^[%d.e-]+") > 0)
    end)

    it("measures kept locks that another session wants #slow", function()
        local lines = bench "--rows kept --alternations 10"
        for i = 1, 3, 2 do -- loopback, 10 ms
            assert.equal(clients.zklock.label, lines[i][2][1])
            assert.is_true(tonumber(lines[i][2][3]:match "^[%d.e-]+") > 0)
            assert.is_true(tonumber(lines[i + 1][2][3]:match "^[%d.e-]+") > 0)
        end
    end)
end)
