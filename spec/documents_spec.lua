--- [lua] The documents agree with the tree. Links lead to files, commands exist, and the table of a
-- claim's states has the core's words.

local catalogue = require "zklock.seckill.catalogue"
local command_line = require "zklock.seckill.command_line"
local promises = require "spec.promises"
local reference = require "spec.reference"
local rig = require "spec.rig"
local table_of_states = require "spec.sim.states"
local test_names = require "spec.test_names"

local WIDTH = 100

local OTHER_TAGS = {
    clock = true, nginx = true, promtool = true, real = true, server = true, slow = true,
}


local function read(path) return rig.shell("cat %s", path) end


local documents = {}
for path in rig.shell("find *.md docs examples -name '*.md' | sort")
    :gmatch "[^\n]+" do
    documents[path] = read(path)
end


local function prose(text)
    return (("\n" .. text .. "\n"):gsub("\n```.-\n```", "\n"):gsub("\n    [^\n]*", "\n"))
end


-- "·", and "？" and "…", but not "锁".
local PUNCTUATION = { "\194[\128-\191]", "[\226\227\239][\128-\191][\128-\191]" }

local function anchor_of(heading)
    heading = heading:lower():gsub("%]%b()", "")
    for _, mark in ipairs(PUNCTUATION) do heading = heading:gsub(mark, "") end
    return (heading:gsub("[^%w%- _\128-\255]", ""):gsub(" ", "-"))
end


local function anchors(text)
    local found = {}
    for heading in prose(text):gmatch "\n#+ ([^\n]+)" do found[anchor_of(heading)] = true end
    return found
end


-- "docs/design/claims.md", "../tls.md" → "docs/tls.md"
local function resolve(from, link)
    local path = (from:match "^(.*/)" or "") .. link
    local count
    repeat
        path, count = path:gsub("[^/]+/%.%./", "", 1)
    until count == 0
    return path
end


local function exists(path)
    return os.rename(path, path) == true
end


describe("the documents", function()
    it("links lead to a file, and to a heading of it", function()
        local wrong = {}
        for from, text in pairs(documents) do
            for link in prose(text):gmatch "%]%(([^)%s]+)%)" do
                local path, anchor = link:match "^([^#]*)#?(.*)$"
                local to = path == "" and from or resolve(from, path)
                local there = link:find "^%a+:" or exists(to)
                if there and anchor ~= "" and documents[to] then
                    there = anchors(documents[to])[anchor]
                end
                if not there then wrong[#wrong + 1] = from .. ": " .. link end
            end
        end
        assert.same({}, wrong)
    end)

    it("no line has more than a hundred columns but in tables and in code", function()
        local wrong = {}
        for path, text in pairs(documents) do
            for line in prose(text):gmatch "[^\n]+" do
                local _, columns = line:gsub("[^\128-\191]", "")
                if columns > WIDTH and not line:find "^%s*|" then
                    wrong[#wrong + 1] = path .. ": " .. line
                end
            end
        end
        assert.same({}, wrong)
    end)

    -- Below a blank line the rows of a table are shown as raw text.
    it("each table has a head with a line below it, and no blank line", function()
        local wrong, count = {}, 0
        for path, text in pairs(documents) do
            local rows = 0
            for line in prose(text):gmatch "([^\n]*)\n" do
                rows = line:find "^|" and rows + 1 or 0
                if rows == 2 and not line:find "^|[ :|-]+|$" then
                    wrong[#wrong + 1] = path .. ": " .. line
                end
                if rows == 2 then count = count + 1 end
            end
        end
        assert.same({}, wrong)
        assert.is_true(count > 60)
    end)

    -- spec/install/run runs all other blocks of three pages.
    it("a block of commands is exempt from being run only with a reason", function()
        local count, wrong = 0, {}
        for path, text in pairs(documents) do
            for line, below in text:gmatch "\n(<!%-%- not run[^\n]*)\n([^\n]*)" do
                local is_right = line:find "^<!%-%- not run: %a.* %-%->$" and below == "```sh"
                if not is_right then wrong[#wrong + 1] = path .. ": " .. line end
                count = count + 1
            end
        end
        assert.same({}, wrong)
        assert.is_true(count > 3)
    end)

    it("each decision has its date and its text", function()
        local wrong, count = {}, 0
        local page = documents["docs/decisions.md"]:gsub("\n## ", "\1")
        for title, text in page:gmatch "\1([^\n]+)\n\n([^\1]+)" do
            local is_right = text:find "^%d+%-%d+%-%d+%. " and text:find("**Decision.**", 1, true)
            if not is_right then wrong[#wrong + 1] = title end
            count = count + 1
        end
        assert.same({}, wrong)
        assert.is_true(count > 30)
    end)
end)


describe("the reference", function()
    local calls = reference.calls()

    it("the index has each call once", function()
        local there, listed = {}, {}
        for i, call in ipairs(calls) do
            there[i] = call.page .. ".md#" .. anchor_of(call.heading)
        end
        local index = documents["docs/reference/README.md"]:match "^(.-)\n## "
        for link in index:gmatch "\n%* %[.-%]%(([%w_-]+%.md#%S-)%)" do
            listed[#listed + 1] = link
        end
        assert.is_true(#calls > 50)
        table.sort(there)
        table.sort(listed)
        assert.same(there, listed)
    end)

    it("a call has its results, codes, context and cost in that order", function()
        local order, wrong = { Returns = 1, Codes = 2, Context = 3, Cost = 4 }, {}
        for _, call in ipairs(calls) do
            local last = 0
            for label in ("\n" .. call.text):gmatch "\n%* %*%*(%u%l+)%*%* " do
                local number = order[label] or 0
                if number <= last then wrong[#wrong + 1] = call.heading .. ": " .. label end
                last = number
            end
        end
        assert.same({}, wrong)
    end)

    it("each promise has a test, and each test's tag is a promise", function()
        local paths, promised, unknown = {}, {}, {}
        for path in rig.shell("ls spec/*_spec.lua spec/*/*_spec.lua"):gmatch "%S+" do
            paths[#paths + 1] = path
        end
        for _, tag in ipairs(promises.all()) do promised[tag] = true end
        for tag in pairs(promises.tests(paths)) do
            if not promised[tag] and not OTHER_TAGS[tag] then unknown[#unknown + 1] = tag end
        end
        local _, missing = promises.report(paths)
        assert.same({ {}, {} }, { missing, unknown })
    end)

    it("each call with a timeout tells how it waits", function()
        for _, call in ipairs(calls) do
            if call.heading:find "timeout" and not call.heading:find "session:timeout" then
                assert.matches("\n%* %*%*Context%*%* [^\n]*waits", call.text, nil, call.heading)
            end
        end
    end)
end)


describe("the pages in Chinese", function()
    local function blocks(text)
        local found = {}
        for code in text:gmatch "\n```%l*\n(.-)\n```" do
            found[#found + 1] = code:gsub(" *%-%- [^\n]*", ""):gsub(" *# [^\n]*", "")
                :gsub(" *%-%->[^\n]*", "")
        end
        return found
    end

    local function sorted_matches(text, pattern)
        local found = {}
        for each in text:gmatch(pattern) do found[#found + 1] = each end
        table.sort(found)
        return found
    end

    -- Returns the text without anchors in pages that exist in both languages, and in the page
    -- itself, because headings differ.
    local function plain(text)
        text = text:gsub("%.zh%-CN%.md", ".md"):gsub("%]%(#[^)]+", "](#")
        for _, page in ipairs{ "README", "which%-lock", "start", "nginx", "seckill" } do
            text = text:gsub("(" .. page .. "%.md#)[^)]+", "%1")
        end
        return (text:gsub("%.%f[^%d.]", ""))
    end

    for _, page in ipairs{ "README", "docs/start", "docs/which-lock", "docs/nginx" } do
        local english, chinese = documents[page .. ".md"], documents[page .. ".zh-CN.md"]

        it(page .. " has the code of the English page, but for comments", function()
            assert.same(blocks(english), blocks(chinese))
            assert.is_true(#blocks(english) >= 2)
        end)

        it(page .. " has the English page's numbers, links, headings and lists", function()
            for _, pattern in ipairs{ "%d[%d.]*%f[^%d.]", "%]%((%S-)%)", "\n(#+) ",
                                      "\n[*%d]+%.? " } do
                assert.same(sorted_matches(plain(english), pattern),
                            sorted_matches(plain(chinese), pattern))
            end
        end)
    end

    describe("docs/seckill, which teaches, and is no translation,", function()
        local english, chinese = documents["docs/seckill.md"], documents["docs/seckill.zh-CN.md"]
        local NUMBER = "%d[%d.]*%f[^%d.]"

        local function lacking(text, other, pattern)
            local there, missing = {}, {}
            for _, each in ipairs(sorted_matches(plain(other), pattern)) do there[each] = true end
            for _, each in ipairs(sorted_matches(plain(text), pattern)) do
                if not there[each] then missing[#missing + 1] = each end
            end
            return missing
        end

        it("docs/seckill has no line of code, number or link that the English page lacks",
           function()
            local function code(text) return table.concat(blocks(text), "\n") end
            assert.same({}, lacking(code(chinese), code(english), "[^\n]+"))
            assert.is_true(#blocks(chinese) >= 8)
            assert.same({}, lacking(chinese:gsub("DEMO%-%d+", ""), english, NUMBER))
            assert.same({}, lacking(chinese, english .. "](seckill.md)", "%]%((%a%S-)%)"))
        end)

        it("the laboratory takes the commands of docs/seckill", function()
            local count = 0
            for text in chinese:gmatch "make demo DEMO=([^`\n]+)" do
                local words = {}
                text = text:match '^"(.-)"' or text:match "^%S+"
                for word in rig.shell("printf '%%s\n' %s", text):gmatch "[^\n]+" do
                    words[#words + 1] = word
                end
                assert(command_line.parse(words, catalogue))
                count = count + 1
            end
            assert.is_true(count >= 3)
        end)
    end)
end)


describe("the commands of docs/track-record.md", function()
    local text = documents["docs/track-record.md"]

    -- Without comments, which name other specs' tests.
    local function has(path, filter)
        return ("\n" .. read(path)):gsub("\n%s*%-%-[^\n]*", ""):find(filter)
    end

    it("the commands name existing specs and tests", function()
        local wrong, count = {}, 0
        for path, rest in text:gmatch "SPEC=\"?(spec/[%w_/]+%.lua)([^`]*)`" do
            local filter = rest:match "^ %-%-filter='(.-)'\"$"
            count = count + 1
            if not exists(path) or filter and not has(path, filter) then
                wrong[#wrong + 1] = path .. rest
            end
        end
        assert.same({}, wrong)
        assert.is_true(count > 60)
    end)

    it("the commands name existing mutants", function()
        local rows = require("spec.mutants.mutant").rows()
        local wrong, count = {}, 0
        for names in text:gmatch "make mutants MUTANTS=([^`]+)`" do
            for name in names:gsub('"', ""):gmatch "%S+" do
                count = count + 1
                if name ~= "name" and not rows[name] then
                    wrong[#wrong + 1] = name
                end
            end
        end
        assert.same({}, wrong)
        assert.is_true(count > 30)
    end)
end)


describe("the table of docs/design/engines.md", function()
    it("the tests that the table quotes are in their specs", function()
        local names, wrong, count = {}, {}, 0
        for path, title in documents["docs/design/engines.md"]:gmatch
            '`(spec/[%w_/]+_spec%.lua)` "([^"]+)"' do
            names[path] = names[path] or test_names(path)
            count = count + 1
            if not names[path]:find(title, 1, true) then wrong[#wrong + 1] = title end
        end
        assert.same({}, wrong)
        assert.is_true(count >= 15)
    end)
end)


describe("the table of docs/design/states.md", function()
    local header = read "src/core/claim_state.h"
    local states, actions = {}, {}
    for name in header:match "enum zkl_claim_state (%b{})":gmatch "ZKL_([%u_]+)" do
        states[name] = true
    end
    for name in header:gmatch "ZKL_DO_([%u_]+) = 1" do
        actions[name:lower():gsub("_", " ")] = true
    end

    local page = table_of_states.read(documents["docs/design/states.md"])

    -- Returns the state, step or action of an outcome if it does not exist.
    local function unknown_word(outcome)
        local what = outcome.result
        if not states[what:match "^([%u_]+)%*?$"] and not page.steps[what] then return what end
        for _, list in ipairs{ outcome.with, outcome.maybe } do
            for _, action in ipairs(list) do
                if not actions[action] then return action end
            end
        end
    end

    local function each_cell(fn)
        for _, row in ipairs(page.rows) do
            fn(row.wanted)
            fn(row.unwanted)
        end
        for _, forms in pairs(page.steps) do
            for _, outcomes in pairs(forms) do fn(outcomes) end
        end
    end

    it("the table has only existing states, actions and steps, and has each state", function()
        local wrong, met = {}, { GONE = true }
        for _, row in ipairs(page.rows) do met[row.state] = true end
        each_cell(function(outcomes)
            for _, outcome in ipairs(outcomes) do wrong[#wrong + 1] = unknown_word(outcome) end
        end)
        assert.same({}, wrong)
        assert.same(states, met)
    end)

    it("each state of docs/design.md is in the table", function()
        local described = {}
        for name in documents["docs/design.md"]:gmatch "\n| ([%u_]+) |" do
            described[name] = true
        end
        assert.same(states, described)
    end)

    -- Returns the letters of the states in which each event can come, and the letter of each state.
    local function possible_events()
        local source, letters, order = read "spec/sim/coverage.c", {}, {}
        local all = source:match 'letters%[%] = "(%u+)"'
        for event, where in source:gmatch '{%s*"([^"]+)",%s*"(%u*)"' do letters[event] = where end
        for name in header:match "enum zkl_claim_state (%b{})":gmatch "ZKL_([%u_]+)" do
            order[name], all = all:match "^(%u?)(.*)$" -- GONE, the last, has none
        end
        return letters, order
    end

    it("the table has an event only in states in which it can come in the simulator", function()
        local wrong, letters, order = {}, possible_events()
        for _, row in ipairs(page.rows) do
            local state = row.event == "await" and "HELD" or row.state
            local letter, there = order[state], letters[row.event] or ""
            if letter == "" or not there:find(letter, 1, true) then
                wrong[#wrong + 1] = table.concat({ row.form, row.state, row.event }, " ")
            end
        end
        assert.same({}, wrong)
    end)

    it("the table has each event of a state once", function()
        local seen = {}
        for _, row in ipairs(page.rows) do
            local key = table.concat({ row.form, row.state, row.event }, " ")
            assert.is_nil(seen[key], key)
            seen[key] = true
        end
    end)
end)
