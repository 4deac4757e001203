--- [lua] make bench WHAT=many and WHAT=contended print sensible tables, with few waiters and
-- however slow the machine is.

local clients = require "bench.harness.clients"
local markdown = require "spec.markdown"
local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"
local ZKLOCK = clients.zklock.label


local function bench(what, words)
    local text = rig.shell("%s bench/%s.lua --rounds 1 %s 2>&1; echo status $?", LUA, what, words)
    assert.matches("status 0\n$", text)
    return markdown.tables(text)
end


-- The cells of a line by their titles. The second cell with a title counts.
local function cells_by_title(lines, number)
    local row = {}
    for i, title in ipairs(lines[1]) do row[title] = lines[number][i] end
    return row
end


local function number_in(cell) return tonumber(cell:match "[%d.e-]+") end


describe("make bench WHAT=many", function()
    for row, who in pairs{ fifo = "zklock,LuaJIT,Curator", turns = "zklock,LuaJIT" } do
        it("all waiters of the row " .. row .. " are served, and later all time out #slow",
        function()
            local tables = bench("many", ("--rows %s --waiters 41 --processes 2 --clients %s")
                                 :format(row, who))
            for i, column in ipairs{ "served", "timeouts" } do
                local seen = {}
                for line = 2, #tables[i] do
                    local cells = cells_by_title(tables[i], line)
                    seen[cells.client] = cells[column]
                end
                for name in who:gmatch "[^,]+" do
                    if not clients[name].missing() then
                        assert.equal("41", seen[clients[name].label])
                    end
                end
            end
        end)
    end

    it("the rows locks, ensembles and kept are measured #slow", function()
        local tables = bench("many", "--rows locks,ensembles,kept --tasks 5 --cycles 2 "
                             .. "--threads 2,3 --alternations 10")
        assert.matches("^1; ", cells_by_title(tables[1], 2)[ZKLOCK])
        assert.is_true(number_in(cells_by_title(tables[3], 2)["two servers"]) > 0)
        assert.is_true(number_in(cells_by_title(tables[4], 2)["kept, ms"]) > 0)
        for line = 2, 3 do -- loopback, 10 ms
            assert.is_true(number_in(cells_by_title(tables[5], line)["kept"]) > 0)
        end
    end)
end)


describe("make bench WHAT=contended", function()
    it("a line, turns, and waiters that give up are measured #slow", function()
        local times, _, _, _, leave = table.unpack(bench("contended",
            "--sessions 2 --kinds mutex --delays 0 --waiters 10 --clients zklock,turns"))
        assert.matches("^1; ", cells_by_title(times, 2)[ZKLOCK])
        assert.is_true(number_in(cells_by_title(times, 3)[clients.turns.label]) > 0)
        assert.equal("10", cells_by_title(leave, 2).timeouts)
    end)
end)
