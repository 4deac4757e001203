--- [lua] The lessons' site (lua/zklock/seckill/lessons). Runs come out as their pages say, pages
--- have the same parts in both languages, links lead somewhere, and nothing is loaded from a
--- network.

local browser = require "spec.seckill.report.browser"
local files = require "spec.files"
local holds = require "zklock.seckill.lessons.site.holds"
local page = require "zklock.seckill.lessons.site.page"
local picture = require "zklock.seckill.lessons.site.picture"
local rig = require "spec.rig"
local runs = require "zklock.seckill.lessons.site.runs"
local site = require "zklock.seckill.lessons.site"
local steps = require "zklock.seckill.lessons.site.steps"
local words = require "zklock.seckill.lessons.site.words"

local folder, lessons
local pages = {} -- by path below the folder

setup(function()
    folder = rig.shell("mktemp -d"):match "[^\n]+"
    rig.shell("mkdir %s/en %s/zh %s/runs", folder, folder, folder)
    site.write(folder)
    lessons = site.lessons()
    for path in rig.shell("cd %s && find . -name '*.html'", folder):gmatch "%./([^\n]+)" do
        pages[path] = rig.shell("cat %s/%s", folder, path)
    end
end)

teardown(function() rig.shell("rm -rf %s", folder) end)


-- Calls fn with each lesson's page as path, text, lesson and language.
local function each_page(fn)
    for _, lesson in ipairs(lessons) do
        for _, language in ipairs(page.languages) do
            local path = ("%s/%s.html"):format(language, lesson.name)
            fn(path, assert(pages[path], path), lesson, language)
        end
    end
end


local function count(text, pattern) return select(2, text:gsub(pattern, "")) end


-- "en/token.html", "../runs/token-first.html" → "runs/token-first.html"
local function resolve(from, link)
    if link == "" then return from end
    return ((from:match "^(.*/)" or "") .. link):gsub("[^/]+/%.%./", ""), nil
end


local function with(table_, others)
    return setmetatable(others, { __index = table_ })
end


describe("a run of a lesson", function()
    it("a run that contradicts its page stops the making of the site", function()
        for _, which in ipairs{ "first", "second" } do
            local lesson = lessons[1]
            local expect = with(lesson.expect, { [which] = { left = 5 } })
            local ok, message = pcall(runs.play, with(lesson, { expect = expect }))
            assert.is_false(ok)
            assert.matches("^the lesson no%-lock says that left of its " .. which
                .. " run is 5, and it is %d", message)
        end
    end)

    -- The numbers of wrong schedules and of all schedules, of the first and of the second sale.
    local SEARCHED = {
        ["lock-in-one-server"] = { 244, 244, 0, 43 },
        ["release-before-commit"] = { 53, 53, 0, 26 },
        ["paused-holder"] = { 66, 66, 0, 66 },
        ["clocks"] = { 31, 34, 0, 67 },
        ["read-write"] = { 36, 36, 0, 56 },
        ["dead-master"] = { 34, 34, 0, 55 },
    }
    it("a small run's page has the numbers of all schedules with one preemption", function()
        each_page(function(path, text, lesson, language)
            local numbers = SEARCHED[lesson.name]
            assert.equal(numbers ~= nil, lesson.searched ~= nil, path)
            if not numbers then return end
            local a, b, c, d = (table.unpack or unpack)(numbers)
            local sentence = language == "en"
                and ("at most 1 preemption. The first sale is wrong in %d of %d, the second in %d "
                    .. "of %d."):format(a, b, c, d)
                or ("最多 1 次抢占的全部调度：第一场 %d 种里有 %d 种出错，第二场 %d 种里有 %d 种。")
                    :format(b, a, d, c)
            assert.is_truthy(text:find(sentence, 1, true), path)
        end)
    end)

    it("a run is the same each time", function()
        for _, lesson in ipairs(lessons) do
            local one, again = runs.play(with(lesson, { facts = false })),
                runs.play(with(lesson, { facts = false }))
            assert.same(one.first.purchases, again.first.purchases)
            assert.same(one.second.purchases, again.second.purchases)
        end
    end)

    it("each page has one right answer, and a number outside the answers is an error", function()
            each_page(function(_, text, lesson)
                assert.equal(#lesson.values, count(text, '<details class="answer">'))
                assert.equal(1, count(text, '<p class="yes">'))
                assert.equal(#lesson.values - 1, count(text, '<p class="no">'))
            end)
            local lesson = with(lessons[1], { predicted = function() return 7 end })
            assert.has_error(function() runs.right_answer(lesson, {}) end,
                "no answer of no-lock is 7")
        end)

    it("the call of a run is shown on its page as valid Lua", function()
        for _, lesson in ipairs(lessons) do
            for _, options in pairs(lesson.runs) do
                local given
                local load_ = loadstring or load -- luacheck: std max
                local text = runs.program_of(options, "sale.html"):gsub("print%(sale%)", "")
                    :gsub("sale:report.*", ""):gsub("^[^\n]*", "local seckill = ...")
                local program = assert(load_(text))
                program{ sale = function(read) given = read end }
                assert.same(options, given)
            end
        end
    end)
end)


describe("the cause", function()
    local function sale(purchases) return { purchases = purchases, faults = {}, notes = {} } end

    it("the cause is two buyers, one of whom read before the other had written", function()
        local one = { product = "bun", server = 1, granted = 0, read = 10, written = 2, left = 9 }
        local other = { product = "bun", server = 2, granted = 1, read = 10, written = 3, left = 9 }
        local found = {}
        for i, step in ipairs(steps.of(sale{ other, one })) do
            found[i] = ("%g %s %d"):format(step.at, step.what, step.detail)
        end
        assert.same({ "0 reads 10", "1 reads 10", "2 writes 9", "3 writes 9" }, found)
    end)

    it("there is no cause where buyers come in turn, or buy different things", function()
        local one = { product = "bun", server = 1, granted = 0, read = 10, written = 2, left = 9 }
        local later = { product = "bun", server = 2, granted = 2, written = 3, left = 8 }
        local tea = { product = "tea", server = 2, granted = 1, written = 3, left = 8 }
        assert.same({}, steps.of(sale{ one, later }))
        assert.same({}, steps.of(sale{ one, tea }))
    end)

    -- Iterates over the steps of a page's cause, as a buyer's number and its deed.
    local function told_by(path)
        local part = pages[path]:match '<section id="cause">(.-)</section>'
        return part:gmatch "buyer (%d+): <strong>(.-)</strong>"
    end

    it("the cause of a lock in its holder's own way is the holder's second request", function()
        local holder, found = nil, {}
        for buyer, what in told_by "en/re-entry.html" do
            if what == "gets the lock" then holder = holder or buyer end
            found[#found + 1] = (buyer == holder and "it " or "another ") .. what
        end
        local gives_up = "has waited too long, and gives up"
        assert.same({
            "it gets the lock", "it asks for the lock that it has", "another " .. gives_up,
            "another " .. gives_up, "it " .. gives_up, "it gives up the lock",
        }, found)
    end)

    it("the cause of a deadlock is two buyers who ask for each other's locks", function()
        local found = {}
        for buyer, what in told_by "en/deadlock.html" do
            found[#found + 1] = buyer .. " " .. what
        end
        assert.same({
            "1 gets stock", "2 gets account", "1 asks for account", "2 asks for stock",
            "1 has waited too long, and gives up", "2 gets stock",
        }, found)
    end)

    it("the cause of a wrong run is told and marked on each of its pages", function()
        each_page(function(path, text, lesson)
            local part = text:match '<section id="cause">(.-)</section>'
            local first = text:match '<section id="run">(.-)</section>'
            local told = count(part, "<li>")
            if lesson.expect.first.verdict == "wrong" then assert.is_true(told >= 4, path) end
            local marked = 0
            for signs in first:gmatch '<b[^>]* style="left:[%d%.]+%%">([^%w<]+)</b>' do
                marked = marked + #signs / #"①"
            end
            assert.equal(told, marked, path)
        end)
    end)
end)


-- The parts of a hold as text, "hold 0 2, two 2 5".
local function parts_of(row, sale)
    local found = {}
    for i, part in ipairs(holds.parts(row, sale)) do
        found[i] = ("%s %g %g"):format(part.what, part.from, part.to)
    end
    return table.concat(found, ", ")
end


describe("a hold", function()
    local function sale_of(rows, others)
        return with({ rows = rows, overlaps = {}, faults = {}, options = {}, finish = 10 },
            others or {})
    end
    local first = { buyer = 1, server = 1, lock = "bun", granted = 0, released = 5 }
    local next_ = { buyer = 2, server = 2, lock = "bun", granted = 2, released = 4 }

    it("a hold is a mere belief once another buyer holds the lock by right", function()
        local sale = sale_of{ first, next_ }
        assert.equal("hold 0 2, two 2 5", parts_of(first, sale))
        assert.equal("hold 2 4", parts_of(next_, sale))
        assert.equal("believes", holds.meaning(sale))
    end)

    it("a hold is a mere belief once its lock has ended", function()
        local sale = sale_of({ first }, { ends = function() return 3 end })
        assert.equal("hold 0 3, two 3 5", parts_of(first, sale))
    end)

    it("a hold is never a mere belief with a lock for each server, or without a lock", function()
        local overlaps = { { lock = "bun", from = 2, to = 4 } }
        for strategy, meaning in pairs{ none = "many", ["local"] = "apart" } do
            local sale = sale_of({ first, next_ }, {
                overlaps = overlaps, options = { strategy = strategy },
            })
            assert.equal("hold 0 2, two 2 4, hold 4 5", parts_of(first, sale))
            assert.equal("two 2 4", parts_of(next_, sale))
            assert.equal(meaning, holds.meaning(sale))
        end
    end)

    it("a hold after a kill is a dead process's until the lock ends or another buyer gets it",
       function()
        local dead = { buyer = 1, server = 1, lock = "bun", granted = 0, ended = 1 }
        local others = {
            faults = { { kind = "kill", target = "server 1" } }, ends = function() return 1e9 end,
        }
        assert.equal("hold 0 1, dead 1 10", parts_of(dead, sale_of({ dead }, others)))
        assert.equal("hold 0 1, dead 1 2", parts_of(dead, sale_of({ dead, next_ }, others)))
        others.ends = nil -- nothing is known of the lock
        assert.equal("hold 0 1", parts_of(dead, sale_of({ dead }, others)))
    end)
end)


local facts_of = {} -- by the lesson's name

-- Calls fn with each sale of each lesson, its name, and the facts of its lesson.
local function each_sale(fn)
    for _, lesson in ipairs(lessons) do
        local facts = facts_of[lesson.name] or runs.play(with(lesson, { facts = false }))
        facts_of[lesson.name] = facts
        for _, which in ipairs{ "first", "second" } do
            fn(facts[which], lesson.name .. " " .. which, facts)
        end
    end
end


describe("a picture", function()
    it("a picture has a bar for each part of a hold, and spans, red where holds overlap", function()
        each_sale(function(sale, name)
            local lanes, expected = picture.of(sale, words.en):match "^(.-)<ul", {}
            for _, row in ipairs(sale.rows) do
                for _, part in ipairs(row.granted and holds.parts(row, sale) or {}) do
                    expected[part.what] = (expected[part.what] or 0) + 1
                end
            end
            for _, what in ipairs{ "hold", "share", "two", "dead" } do
                assert.equal(expected[what] or 0, count(lanes, '<i class="' .. what .. '"'), name)
            end
            assert.equal(#sale.spans, count(lanes, '<i class="span"'), name)
            assert.equal(#sale.overlaps > 0, expected.two ~= nil, name)
            for place, width in lanes:gmatch "left:([%d%.]+)%%;width:([%d%.]+)%%" do
                assert.is_true(place + width <= 100.02, name)
            end
        end)
    end)

    it("a picture has the whole stock, with one scale in both runs of a lesson", function()
        each_sale(function(sale, name, facts)
            local html = picture.of(sale, words.en)
            local numbers = sale.sold == 0 and 0 or sale.apart == 0 and 2 or 3
            assert.equal(numbers, count(html, '<b style="top:'), name)
            assert.equal(facts.first.finish, facts.second.finish)
        end)
    end)

    it("the key explains all that the picture shows, and nothing else", function()
        each_sale(function(sale, name)
            local lanes, key = picture.of(sale, words.en):match "^(.-)(<ul.*)$"
            for _, class in ipairs{ "wait", "hold", "share", "two", "dead", "commit", "stop" } do
                local mark = '<i class="' .. class .. '"'
                assert.equal(lanes:find(mark, 1, true) ~= nil, key:find(mark, 1, true) ~= nil,
                    name .. class)
            end
            for sign in lanes:gmatch '<span class="told">([^<]+)' do
                assert.is_truthy(key:find("<b>" .. sign .. "</b>", 1, true), name)
            end
        end)
    end)
end)


describe("a table", function()
    it("a table has what a buyer read, even if it wrote nothing", function()
        local html = pages["en/lock-in-one-server.html"]
        assert.equal(3, count(html, "<td>0</td><td>–</td><td>–</td>")) -- read, wrote, at
        html = pages["en/killed-holder.html"]
        assert.equal(2, count(html, "<td>9</td><td>–</td><td>–</td>")) -- it was killed
    end)

    it("a table has no lock where there is none, and no token before the lesson about tokens",
       function()
        assert.is_nil(pages["en/no-lock.html"]:match('id="run".-</section>'):find("token", 1, true))
        for _, name in ipairs{ "lock-in-one-server", "paused-holder" } do
            assert.is_nil(pages["en/" .. name .. ".html"]:find("<th scope=\"col\">token", 1, true))
        end
        assert.is_truthy(pages["en/token.html"]:find("<th scope=\"col\">token", 1, true))
    end)
end)


describe("the pages", function()
    it("the pages have a report of each run, and links to existing files and parts", function()
        local wrong = {}
        for from, text in pairs(pages) do
            if not from:find "^runs/" then
                for link in text:gmatch 'href="([^"]*)"' do
                    local path, anchor = link:match "^([^#?]*)%??[^#]*#?(.*)$"
                    local to = pages[resolve(from, path)]
                    local there = link:find "^https://" or to and
                        (anchor == "" or to:find('id="' .. anchor .. '"', 1, true))
                    if not there then wrong[#wrong + 1] = from .. ": " .. link end
                end
            end
        end
        assert.same({}, wrong)
        each_page(function(_, text)
            assert.equal(2, count(text, 'href="%.%./runs/'))
        end)
    end)

    it("the pages have the same parts in both languages", function()
        local shapes = {}
        each_page(function(_, text, lesson, language)
            local parts = {}
            for id in text:gmatch '<section id="([^"]+)"' do parts[#parts + 1] = id end
            for _, tag in ipairs{ "details", "figure", "pre", "tr", "li", "i class", "a href" } do
                parts[#parts + 1] = tag .. count(text, "<" .. tag)
            end
            shapes[lesson.name] = shapes[lesson.name] or parts
            assert.same(shapes[lesson.name], parts, lesson.name)
            assert.equal("question prediction run cause mend same try where",
                table.concat(parts, " ", 1, 8))
            assert.is_truthy(text:find(language == "zh" and '<html lang="zh-CN">'
                or '<html lang="en">', 1, true))
        end)
    end)

    it("the pages are in Chinese and in English, except for code and names", function()
        each_page(function(path, text, _, language)
            text = text:gsub("<style>.-</style>", ""):gsub("<pre>.-</pre>", "")
                :gsub("<a lang=.-</a>", "")
            if language == "en" then
                return assert.is_nil(text:find "[\228-\233][\128-\191]", path)
            end
            for _, tag in ipairs{ "h1", "h2", "p", "li", "th", "summary" } do
                for line in text:gmatch("<" .. tag .. "[ >].-</" .. tag .. ">") do
                    assert.is_truthy(line:find "[\228-\233][\128-\191]", path .. line)
                end
            end
        end)
    end)

    -- The scheduler's page has a script; spec/seckill/scheduler_spec.lua tests it.
    it("the pages load no script, picture or style of another file", function()
        for path, text in pairs(pages) do
            if not path:find "^runs/" and not path:find "/scheduler%.html$" then
                for _, tag in ipairs{ "script", "img", "link", "iframe" } do
                    assert.is_nil(text:find("<" .. tag, 1, true), path)
                end
                assert.is_truthy(text:find("default-src 'none'", 1, true))
            end
        end
    end)

    it("the pages cite real incidents", function()
        for _, lesson in ipairs(lessons) do
            assert.is_true(#lesson.where.en >= 1)
            for i, each in ipairs(lesson.where.en) do
                assert.matches("^https://", each.url)
                assert.equal(each.url, lesson.where.zh[i].url)
            end
        end
    end)
end)


-- Counts in a browser the visible sections of a page before and after an answer is opened, and the
-- pixels by which the page is then too wide.
local function shape_of(path, width)
    local frame = ([[<iframe src="file://%s" style="width:%dpx;height:900px;border:0"></iframe>
<script>addEventListener("load", () => {
const page = document.querySelector("iframe").contentDocument;
const count = () => [...page.querySelectorAll("main > section")].filter(each =>
each.checkVisibility()).length, before = count(), answer = page.querySelector(".answer");
if (answer) answer.open = true;
const { scrollWidth, clientWidth } = page.documentElement;
document.title = `${before} ${count()} ${scrollWidth - clientWidth}`; });</script>]])
        :format(path, width)
    files.write(folder .. "/frame.html", frame)
    return browser.title(folder, "frame.html")
end


describe("a page in a browser", function()
    it("a page fits a telephone, and shows a run after a prediction #slow", function()
        local function check(path, _, lesson)
            local shape = shape_of(folder .. "/" .. path, 360)
            assert.matches(lesson and "^2 8 0$" or " 0$", shape, path)
        end
        each_page(check)
        for _, language in ipairs(page.languages) do check(language .. "/scheduler.html") end
    end)
end)
