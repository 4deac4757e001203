--- [lua luajit] The workshop (docs/lessons/teaching.md). Each exercise fails as given, with a
--- sentence about the missing answer; its solution passes, and typical wrong answers do not.

local files = require "spec.files"
local rig = require "spec.rig"
local shop = require "zklock.seckill.lessons.workshop.shop"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"
local GIVEN = "lua/zklock/seckill/lessons/workshop"
local SOLVED = GIVEN .. "/solutions"
local PAGE = files.read "docs/lessons/teaching.md"

local folder

before_each(function()
    folder = rig.shell("mktemp -d"):match "%S+"
    rig.shell("cp %s/*.lua %s", SOLVED, folder)
end)
after_each(function() rig.shell("rm -rf %s", folder) end)


-- The output of an exercise's check for the files of a folder.
local function check(exercise, where)
    return rig.shell('WORKSHOP=%s %s "$(command -v busted)" -o plainTerminal %s/%s_spec.lua 2>&1',
                     where, LUA, GIVEN, exercise)
end


local function passes(exercise, where)
    local printed = check(exercise, where)
    assert.is_truthy(printed:find "%f[%d]0 failures / 0 errors / 0 pending", printed)
end


-- The check fails with that sentence, and without an error of its own.
local function fails(exercise, where, sentence)
    local printed = check(exercise, where)
    assert.is_truthy(printed:find "[1-9]%d* failures? / 0 errors", printed)
    assert.is_truthy(printed:find(sentence, 1, true), printed)
end


-- The sentence of each check for the given file, and the tag of its tests.
local MISSING = {
    { "1_predict", "1_predict.lua lacks a prediction: `sold` is still nil" },
    { "2_run", "2_run.lua lacks an answer: `wrong` is still nil" },
    { "3_break", "The bun is not sold twice: when does server 1 have the lock" },
    { "4_mend", "Does one server hold the lock from the read to the write, and release it" },
    { "5_prove", "The property is true of 200 sales of a shop that takes no lock", " #slow" },
}


describe("the exercise", function()
    for _, row in ipairs(MISSING) do
        local exercise, sentence, tag = row[1], row[2], row[3] or ""

        it(exercise .. " says what is missing" .. tag, function()
            fails(exercise, GIVEN, sentence)
        end)

        it(exercise .. " passes when it is solved" .. tag, function() passes(exercise, SOLVED) end)

        it(exercise .. " is read at once, and is on the page", function()
            local text = files.read(("%s/%s.lua"):format(GIVEN, exercise))
            assert.is_true(select(2, text:gsub("\n", "")) <= 40)
            assert.is_truthy(PAGE:find(("\nlua5.4 \"$(command -v busted)\" %s/%s_spec.lua\n")
                :format(GIVEN, exercise), 1, true))
        end)
    end
end)


-- --- wrong answers ----------------------------------------------------------------------------

-- The solution with a change in one place.
local function differs(exercise, from, to)
    local text = files.read(("%s/%s.lua"):format(SOLVED, exercise))
    local first, last = text:find(from, 1, true)
    assert.is_truthy(first, from)
    return text:sub(1, first - 1) .. to .. text:sub(last + 1)
end


local function is_wrong(exercise, text, sentence)
    files.write(("%s/%s.lua"):format(folder, exercise), text)
    fails(exercise, folder, sentence)
end


describe("a wrong prediction", function()
    for what, text in pairs{
        ["three are sold, as there are no more"] = "return { sold = 3, left = 0 }",
        ["one is sold, as the others are refused"] = "return { sold = 1, left = 2 }",
    } do
        it("the check refuses the prediction that " .. what, function()
            is_wrong("1_predict", text, 'The number of buyers who are told "sold"')
        end)
    end

    it("the check refuses the prediction that none is left when all are served", function()
        is_wrong("1_predict", "return { sold = 6, left = 0 }", "The number of buns that are left")
    end)
end)


describe("a wrong answer about the run", function()
    it("the check refuses the answer that all schedules are wrong", function()
        is_wrong("2_run", differs("2_run", "37", "100"), "`wrong` is another number")
    end)
    it("the check refuses the answer that the first server wrote last", function()
        is_wrong("2_run", differs("2_run", "last = 1", "last = 2"), "`last` is the other server")
    end)
    it("the check refuses the answer that a wrong schedule is right", function()
        is_wrong("2_run", differs("2_run", "right = 2", "right = 1"),
                 "the schedule of seed 1 is wrong: 2 sold, 0 left of 1")
    end)
    it("the check refuses the answer that only the payment lies between read and write", function()
        is_wrong("2_run", differs("2_run", "0.51 }", "0.5 }"), "`gap` is another time")
    end)
end)


describe("a fault sells no bun twice", function()
    local TTL = "The bun is not sold twice: when does server 1 have the lock"
    local STOP = 'world:stop("server 1", 10)'

    for what, to in pairs{
        ["when a stop is shorter than the lock"] = 'world:stop("server 1", 0.5)',
        ["when the holder is killed"] = 'world:kill("server 1")',
        ["when the holder has no network"] = 'world:cut("server 1", 10)',
        ["when the waiter is stopped"] = 'world:stop("server 2", 10)',
    } do
        it("a fault sells no bun twice " .. what, function()
            is_wrong("3_break", differs("3_break", STOP, to), TTL)
        end)
    end

    it("a fault after the write sells no bun twice", function()
        is_wrong("3_break", differs("3_break", "world:at(0.3", "world:at(0.6"), TTL)
    end)

    it("a stop shorter than the session sells no bun twice under zklock's lock", function()
        local text = differs("3_break", STOP, 'world:stop("server 1", 1.5)')
        is_wrong("3_break", text, "1 success / 1 failure")
        is_wrong("3_break", text, "The bun is not sold twice under zklock's lock")
    end)

    it("an invalid fault ends with an error", function()
        is_wrong("3_break", differs("3_break", STOP, 'world:stop("server 7", 10)'),
                 "3_break.lua ends with an error")
    end)
end)


describe("a shop is not mended", function()
    local CALM, FAULTS = "It goes wrong although nothing fails", "It goes wrong when a server fails"

    it("a lock in each server does not mend the shop", function()
        is_wrong("4_mend", [[
            local zklock = require "zklock"
            local taken = false
            return function(store)
                while taken do zklock.sleep(0.01) end
                taken = true
                local left, answer = store:read(), "sold out"
                if left > 0 then
                    zklock.sleep(0.5)
                    answer = store:write(left - 1) and "sold" or "failed"
                end
                taken = false
                return answer
            end]], CALM)
    end)

    -- A fault of the shop, the text of the solution, its replacement, the check's sentence.
    local ROWS = {
        { "by a lock that is released before the write", "zklock.sleep(0.5)",
          "zklock.sleep(0.5) lease:release()", CALM },
        { "by a lock that is not released", "lease:release()", "", CALM },
        { "by a purchase that goes on when it has waited too long",
          'lock:acquire(60)\n    if not lease then return "failed" end',
          'lock:acquire(0.1) or { release = function() end }', CALM },
        { "by a purchase that always fails", "store:write(left - 1, lease.token) and", "nil and",
          CALM },
        { "by a purchase that returns nothing", "return answer", "", "'sold', 'sold out' or" },
        { "by a look at the lease before the write", "store:write(left - 1, lease.token)",
          "lease:held() and store:write(left - 1)", FAULTS },
        { "by a token that is shown at the write alone", "store:read(lease.token)", "store:read()",
          FAULTS },
        { "by a token that is shown at the read alone", "store:write(left - 1, lease.token)",
          "store:write(left - 1)", FAULTS },
        { "if a buyer is told that it has bought, and the write was refused",
          'and "sold" or "failed"', 'and "sold" or "sold"', FAULTS },
    }
    for _, row in ipairs(ROWS) do
        it("the shop is not mended " .. row[1], function()
            is_wrong("4_mend", differs("4_mend", row[2], row[3]), row[4])
        end)
    end
end)


describe("a property is refused #slow", function()
    -- A fault of the property, its text, the check's sentence.
    local ROWS = {
        { "that says only how much is sold", "sale.told.sold <= sale.stock",
          'of a shop that tells its buyer "failed" when the lock is lost' },
        { "that believes the store, and asks no buyer", "sale.left == sale.stock - sale.orders",
          'of a shop that tells its buyer "sold" when the store has refused the write' },
        { "that forgets a buyer whose server was killed",
          "sale.told.sold == sale.stock - sale.left",
          "The property is false of a sale of a right shop" },
        { "that wants all buns sold, whatever fails", "sale.told.sold == sale.stock",
          "The property is false of a sale of a right shop" },
    }
    for _, row in ipairs(ROWS) do
        it("a property is refused " .. row[1], function()
            is_wrong("5_prove", ("return function(sale) assert(%s) end"):format(row[2]), row[3])
        end)
    end

    it("a property is refused if the student's own shop is not mended", function()
        rig.shell("cp %s/4_mend.lua %s", GIVEN, folder)
        fails("5_prove", folder, "The property is false of a sale of 4_mend.lua")
    end)
end)


describe("a sale of the workshop", function()
    it("the answers of a sale and its untold buyers add up to all buyers", function()
        local found = shop.explore(SOLVED .. "/4_mend.lua", shop.with(shop.THREE_BUNS, {
            seeds = 20, faults = shop.FAULTS,
            property = function(sale)
                local told = sale.told
                assert.equal(4, told.sold + told["sold out"] + told.failed + sale.untold)
            end,
        }))
        assert.same({ 20, 0 }, { found.schedules, found.wrong })
    end)
end)


-- --- the teacher's page -----------------------------------------------------------------------

describe("the page of the workshop", function()
    local function run(command)
        assert.is_truthy(PAGE:find("\n" .. command:gsub("%W", "%%%0") .. "%f[%s]"), command)
        return rig.shell(command:gsub("^lua5%.4", LUA) .. " 2>&1")
    end

    -- The block of the page with that beginning.
    local function block(start)
        local first = assert(PAGE:find("\n```\n" .. start, 1, true), start)
        return PAGE:match("^\n```\n(.-\n)```\n", first)
    end

    it("the page shows the output of the hundred schedules", function()
        assert.equal(block "100 schedules",
                     run "lua5.4 lua/zklock/seckill/lessons/workshop/schedules.lua")
    end)

    it("the page tells the number of schedules of the solution with one stop", function()
        local found = shop.explore(SOLVED .. "/4_mend.lua", shop.with(shop.THREE_BUNS, {
            all = { preemptions = 0 }, faults = shop.ONE_STOP,
        }))
        local words = ("all %d schedules of the solution with at most 0 preemptions and 1 stop")
            :format(found.schedules)
        assert.is_truthy(PAGE:find(words, 1, true), words)
        assert.same({ true, 0 }, { found.complete, found.wrong })
    end)

    it("the program of the schedules shows one that is right by luck", function()
        local printed = run "lua5.4 lua/zklock/seckill/lessons/workshop/schedules.lua 2"
        assert.matches("\nright\n$", printed)
    end)
end)
