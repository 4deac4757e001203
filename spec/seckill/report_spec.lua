--- [lua luajit] The report of sales as a file and in a browser.

local browser = require "spec.seckill.report.browser"
local check = require "spec.torture.checker"
local columns = require "zklock.seckill.report.columns"
local dkjson = require "dkjson"
local history = require "spec.torture.history"
local record_of_history = require "spec.torture.record"
local report = require "zklock.seckill.report"
local rig = require "spec.rig"
local sales = require "spec.seckill.report.sales"
local uplot = require "zklock.seckill.report.uplot"
local utf8 = require "zklock.value.utf8"
local words = require "zklock.seckill.report.words"

local unpack = table.unpack or unpack -- luacheck: std max

local folder

setup(function() folder = rig.shell("mktemp -d"):match "[^\n]+" end)
teardown(function() rig.shell("rm -rf %s", folder) end)


local function read(path) return rig.shell("cat %s", path) end


local function written(kind, records)
    local path = folder .. "/report." .. kind
    assert.is_true(report[kind == "html" and "write" or kind](path, records))
    return read(path)
end


local function look(records, options)
    written("html", records)
    return browser.look(folder .. "/report.html", options)
end


-- Opens a page once for several tests.
local function once(open)
    local seen
    return function()
        seen = seen or open()
        return seen
    end
end


local HOSTILE = '</script><script>problems.push("injected")</script><img src=x '
    .. 'onerror=problems.push(1)> {{data}} %1 "\'&amp; \226\128\168 \255\192\128 \0\27\12'

-- Records with hostile names everywhere.
local function hostile()
    local record = sales.refused()
    local stock = record.products["10000001"]
    record.products = { [HOSTILE] = stock, [HOSTILE .. "2"] = 1 }
    record.left, record.ordered = { [HOSTILE] = 32 }, { [HOSTILE] = 28 }
    for _, name in ipairs{ "name", "strategy", "store", "finding", "explanation" } do
        record[name] = name .. HOSTILE
    end
    record.servers[1] = HOSTILE
    for _, fault in ipairs(record.faults) do fault.kind, fault.target = HOSTILE, HOSTILE end
    for _, purchase in ipairs(record.purchases) do
        purchase.product, purchase.outcome = HOSTILE, HOSTILE
        purchase.buyer, purchase.lock, purchase.token = HOSTILE, HOSTILE, HOSTILE
    end
    for _, overlap in ipairs(record.overlaps) do overlap.lock = HOSTILE end
    return { title = HOSTILE, sales = { record } }
end


describe("the files of a report", function()
    it("uPlot is unmodified, with its licence", function()
        for name, sum in pairs(uplot.sha256) do
            local path = "lua/zklock/seckill/report/" .. name
            assert.equal(sum, rig.shell("sha256sum < %s", path):match "%x+")
        end
        assert.is_truthy(uplot.sha256[uplot.script] and uplot.sha256[uplot.style]
                         and uplot.sha256[uplot.license])
        local page = written("html", { sales = {} })
        assert.is_truthy(page:find("uPlot (v" .. uplot.version .. ")", 1, true))
        assert.is_truthy(page:find("Copyright (c) 2022 Leon Sorokin", 1, true))
    end)

    it("the page of 10 000 purchases is smaller than 2 MB", function()
        local size = #written("html", { sales = { sales.right(10000) } })
        assert.is_true(size < 2e6, size .. " bytes")
    end)

    it("the page has each hold and write of a buyer, and its last answer", function()
        local record = sales.right(2)
        local first = record.purchases[1]
        first.earlier = { {
            buyer = 1, server = 1, product = first.product, granted = 0, released = 0.0005,
            shared = true, writes = { { product = first.product, left = 9, at = 0.0004 } },
        } }
        local data = columns.of(record, false)
        assert.same({ 3, { 1, 0, 0 } }, { #data.purchases.granted, data.purchases.shared })
        assert.same({ 0 }, data.writes.purchase)
        assert.matches("^Each lock had readers, or one writer", data.why)
        assert.same({}, data.reasons)
    end)

    it("equal records give equal files", function()
        local records = { title = "twice", sales = { sales.wrong(20), sales.three_lanes() } }
        for _, kind in ipairs{ "html", "json", "csv" } do
            assert.equal(written(kind, records), written(kind, records))
        end
    end)
end)


-- Rounds numbers to microseconds, because JSON does not keep all digits.
local function round(value)
    for key, inner in pairs(value) do
        if type(inner) == "number" then value[key] = ("%.6f"):format(inner) end
        if type(inner) == "table" then round(setmetatable(inner, nil)) end
    end
end


describe("the picture of README.md", function()
    local picture = rig.shell "cat docs/pictures/lanes.svg"

    it("the picture is the output of its program", function()
        local lua = os.getenv "ZKLOCK_LUA" or "lua5.4"
        assert.equal(picture, rig.shell("%s docs/pictures/lanes.lua", lua))
    end)

    it("the picture has an axis of time and a key, and hatches what is red", function()
        assert.matches(">0 s</text>.*>0%.2 s</text>.*>time since the sale began</text>", picture)
        assert.matches(">the server holds the lock</text>.*>both servers hold it at once</text>",
            picture)
        local _, red = picture:gsub("#c8102e", "")
        assert.equal(1, red) -- in the pattern
        assert.matches('<pattern.-fill="#c8102e".-stroke="#fff".-</pattern>', picture)
    end)
end)


describe("the text of a report", function()
    it("each byte that is not UTF-8 becomes a sign (cut off, long, a surrogate, beyond)", function()
        local good = "a\194\169\224\160\128\237\159\191\240\144\128\128\244\143\191\191"
        assert.equal(good, utf8.clean(good))
        for _, bad in ipairs{
            "\128", "\194", "\194A", "\193\191", "\224\159\191", "\237\160\128", "\224\160\192",
            "\240\143\191\191", "\244\144\128\128",
        } do
            assert.not_equal(bad, utf8.clean(bad))
            assert.equal("\239\191\189", utf8.clean(bad):sub(1, 3))
        end
    end)
end)


describe("a report as JUnit's XML", function()
    it("XML has no character that it must not have, and no sign unquoted", function()
        local path = folder .. "/cases.xml"
        assert(report.junit(path, { { name = "a\239\191\191<", seconds = 1,
            problem = "b\239\191\190\1\255\"&" } }))
        assert.matches(' name="a\239\191\189&lt;" time="1.000"><failure '
            .. 'message="b\239\191\189 \239\191\189&quot;&amp;"/>', read(path))
    end)
end)


describe("a report as JSON", function()
    it("the records are unchanged in JSON", function()
        local records = { title = "A sale", sales = { sales.refused() },
                          histories = { sales.right(2) } }
        records.sales[1].purchases[1].token = "9007199254740993"
        local decoded = dkjson.decode(written("json", records))
        round(records)
        round(decoded)
        assert.same(records, setmetatable(decoded, nil))
    end)

    it("an empty map is an object in JSON, and an empty list a list", function()
        local record = sales.right(1)
        record.left, record.purchases[1].wants = {}, {}
        record.options = { parameters = {}, expect = {} }
        local text = written("json", { sales = { record } })
        for _, name in ipairs{ "left", "wants", "parameters", "expect" } do
            assert.is_truthy(text:find(('"%s":{}'):format(name), 1, true), name)
        end
        assert.is_truthy(text:find('"overlaps":[]', 1, true))
    end)

    it("an empty column of the page is a list", function()
        local record = sales.right(1)
        record.purchases = {}
        local text = written("html", { sales = { record } })
        for _, name in ipairs{ "left", "products", "buyer" } do
            assert.is_truthy(text:find(('"%s":[]'):format(name), 1, true), name)
        end
    end)

    it("JSON is valid whatever bytes a name has", function()
        local text = written("json", hostile())
        assert.is_truthy(dkjson.decode(text))
        assert.equal("", rig.shell("iconv -f utf-8 -t utf-8 %s/report.json 2>&1 >%s/out", folder,
                                   folder))
        assert.equal(text, read(folder .. "/out"))
    end)
end)


describe("a report as CSV", function()
    it("CSV has a line for each purchase, and a column with the sale's name", function()
        local text = written("csv", { sales = { sales.right(2), sales.refused() } })
        local lines = {}
        for line in text:gmatch "(.-)\r\n" do lines[#lines + 1] = line end
        assert.equal(1 + 2 + 30, #lines)
        assert.equal("sale,buyer,server,product,lock,shared,asked,granted,released,token,left,"
                     .. "written,outcome,quantity,told,notes", lines[1])
        assert.is_truthy(lines[2]:find "^zookeeper,1,server 2,10000001,10000001,,0%.001001,")
        assert.is_truthy(lines[2]:find ",8589934595,3,0%.%d+,sold,,,$")
        assert.is_truthy(lines[#lines]:find ",,8589934682,,,killed,,,$")
        assert.equal(text, table.concat(lines, "\r\n") .. "\r\n")
    end)

    it("CSV has the purchases of histories, too", function()
        local text = written("csv", { sales = {}, histories = { sales.right(2) } })
        assert.equal(1 + 2, select(2, text:gsub("\r\n", "")))
        assert.matches("\r\nzookeeper,2,server %d,", text)
    end)

    it("CSV has the wanted pieces, the time of the answer, and the reason for a failure", function()
        local record = sales.right(1)
        record.purchases[1].quantity, record.purchases[1].told = 2, 0.5
        record.notes = { { buyer = 1, line = "first" }, { buyer = 1, line = "error: a" } }
        assert.matches(",sold,2,0.500000,first; error: a\r\n$",
            written("csv", { sales = { record } }))
    end)

    it("CSV has a line for each earlier purchase of a buyer, and notes in its last", function()
        local record = sales.right(1)
        local last = record.purchases[1]
        last.earlier = { { buyer = 1, server = 1, product = "tea", outcome = "late", told = 0.1 } }
        record.notes = { { buyer = 1, line = "again" } }
        local text = written("csv", { sales = { record } })
        assert.equal(1 + 2, select(2, text:gsub("\r\n", "")))
        assert.is_truthy(text:find("\r\nzookeeper,1,server 1,tea,tea,,,,,,,,late,,0.100000,\r\n", 1,
            true))
        assert.matches(",sold,,,again\r\n$", text)
    end)

    it("CSV has no control characters but tabs and line ends", function()
        local text = written("csv", hostile())
        assert.is_nil(text:find "[^%C\t\r\n]")
        assert.is_nil(written("html", hostile()):find "[^%C\t\r\n]")
    end)

    it("CSV quotes commas, quotes and line ends (RFC 4180)", function()
        local record = sales.right(1)
        record.name = 'one, "two"\nthree'
        record.purchases[1].shared = true
        local text = written("csv", { sales = { record } })
        assert.is_truthy(text:find('\r\n"one, ""two""\nthree",1,server 2,10000001,10000001,true,',
                                   1, true))
    end)
end)


describe("the sentence of a sale", function()
    local function why(record) return words.why(record, false) end

    it("the sentence says that store and record agree", function()
        assert.is_truthy(why(sales.right(3)):find "one holder at a time")
    end)

    it("the sentence counts concurrent holders, not stretches of time", function()
        local crowd = sales.crowd(200)
        assert.equal(2, #crowd.overlaps)
        assert.matches("^Up to 100 buyers held one lock at once. Those who did may", why(crowd))
        assert.matches("^Two buyers held one lock at once", why(sales.three_lanes()))
    end)

    it("the sentence on a sale without a lock says that buyers bought, not that they held a lock",
       function()
        local crowd = sales.crowd(200)
        crowd.unlocked = true
        assert.matches("^Up to 100 buyers bought at once, for there is no lock. Those", why(crowd))
        crowd.verdict = "right"
        assert.matches("^Up to 100 buyers bought at once, .* the result is right", why(crowd))
        crowd.overlaps = {}
        assert.equal("No lock kept buyers apart, and the numbers in the store add up.", why(crowd))
    end)

    it("the sentence on a stuck sale says what it lacks", function()
        assert.matches("^Nothing false was sold, but buyers waited in vain, nobody was served, or",
            why(sales.stuck()))
    end)

    -- A fault of a wrong sale, the change that makes it, and the expected words.
    for _, row in ipairs{
        { "without an overlap: a write after the release", function(record)
            assert.is_truthy(why(record):find "that the record does not show")
            record.purchases[2].written = record.purchases[2].released + 0.001
        end, "1 write reached the store after the lock had been rel" },
        { "without an overlap: another lock", function(record)
            record.purchases[2].lock, record.purchases[3].lock = "other", "third"
        end, "2 purchases were made under another lock" },
        { "without an overlap: several locks", function(record)
            record.purchases[2].lock = "other + 10000001"
        end, "that the record does not show" },
        { "without an overlap: purchases of readers", function(record)
            for _, purchase in ipairs(record.purchases) do purchase.shared = true end
        end, "^Each lock had readers, or one writer, at a time.* 3 purchases .* a read lock" },
        { "without an overlap: more has gone than was ordered", function(record)
            record.left["10000001"] = 2
        end, "more was taken off the stock than was ordered" },
        { "in which the stock is right", function(record)
            record.left["10000001"] = record.left["10000001"] - 1
        end, "The numbers in the store add up. Wrong is what buyers got, or were told" },
        { "in which nothing false was sold", function(record)
            record.in_vain = true
        end, "add up. Wrong is that buyers waited in vain" },
    } do
        it("the sentence gives the reason of a wrong sale " .. row[1], function()
            local record = sales.right(3)
            record.verdict, record.left["10000001"] = "wrong", record.left["10000001"] + 1
            row[2](record)
            assert.matches(row[3], why(record))
        end)
    end

    it("the sentence of a right sale with an overlap names a refused late write, or luck",
       function()
        local record = sales.refused()
        assert.is_truthy(why(record):find "the store refused 1 late write, because")
        record.purchases[10].outcome = "sold"
        assert.is_truthy(why(record):find "by luck")
    end)

    it("the sentence of a right sale with an overlap says that nobody wrote then", function()
        local record = sales.right(3)
        local first, second = record.purchases[1], record.purchases[2]
        record.overlaps[1] = { lock = first.lock or first.product, from = first.written + 0.0001,
                               to = first.written + 0.0002, holders = 2 }
        assert.is_truthy(why(record):find "nobody wrote while they did")
        second.lock = "other + 10000001"
        second.written = record.overlaps[1].to
        assert.is_truthy(why(record):find "by luck")
    end)

    it("the sentence groups digits of large numbers", function()
        local record = sales.wrong(3)
        record.overlaps[1] = { lock = "10000001", from = 1, to = 2, holders = 49500 }
        assert.is_truthy(why(record):find("Up to 49,500 buyers", 1, true))
    end)

    it("the sentence takes no side when the store could not be judged", function()
        local record = sales.wrong(3)
        record.verdict = "failed"
        assert.is_truthy(why(record):find "neither right nor wrong")
    end)
end)


-- c1 is stopped while it holds /l, and notices the loss late; c2 holds /l meanwhile. On /rw a
-- writer becomes a reader, and another writer is granted; c2 waits to write, until its deadline. On
-- /sem each client holds a permit.
local HISTORY = [[
1.00 c1.1 - connected session=a1 timeout=2
1.00 c2.1 - connected session=b2 timeout=2
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=5
2.01 zookeeper c1.1-1 created path=/l name=x-lock-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held=2.02 begun=2 limit=5
2.50 torture - fault id=1 name=stop,_long scope=c1
3.00 c2.1 c2.1-1 invoked path=/l kind=mutex way=acquire limit=5
3.01 zookeeper c2.1-1 created path=/l name=x-lock-1 session=b2 zxid=101
4.00 zookeeper c1.1-1 deleted path=/l name=x-lock-0 session=a1 zxid=102 cause=close
4.02 c2.1 c2.1-1 granted token=101 state=held held=4.02 begun=3 limit=5
5.00 torture - healed id=1
5.01 c1.1 c1.1-1 noticed state=lost
5.50 c2.1 c2.1-1 released result=ok begun=5.5 limit=0 held=5.5
5.51 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=103 cause=delete
6.00 c1.1 c1.1-2 invoked path=/rw kind=write way=acquire limit=5
6.02 c1.1 c1.1-2 granted token=104 state=held held=6.02 begun=6 limit=5
6.03 c2.1 c2.1-2 invoked path=/rw kind=write way=acquire limit=1
6.10 c1.1 c1.1-3 invoked path=/rw kind=read way=acquire limit=5
6.50 c1.1 c1.1-2 downgrading held=6.5
6.52 c1.1 c1.1-2 downgraded result=ok begun=6.5 limit=2 held=6.52
6.53 c1.1 c1.1-3 granted token=105 state=held held=6.53 begun=6.1 limit=5
7.00 c1.1 c1.1-2 released result=ok begun=7 limit=0 held=7
7.03 c2.1 c2.1-2 failed code=timeout begun=6.03 limit=1
7.10 c1.1 c1.1-3 released result=ok begun=7.1 limit=0 held=7.1
7.20 c1.1 c1.1-4 invoked path=/sem kind=permit way=acquire limit=5 permits=1
7.22 c1.1 c1.1-4 granted token=106 state=held held=7.22 begun=7.2 limit=5
7.30 c2.1 c2.1-3 invoked path=/sem kind=permit way=acquire limit=5 permits=1
7.32 c2.1 c2.1-3 granted token=107 state=held held=7.32 begun=7.3 limit=5
7.40 c1.1 c1.1-4 released result=ok begun=7.4 limit=0 held=7.4
7.50 c2.1 c2.1-3 released result=ok begun=7.5 limit=0 held=7.5
9.01 c1.1 - ended
9.01 c2.1 - ended
10.0 torture - residue nodes=0 watches=0
]]

local function records_of_history()
    local events = {}
    for line in HISTORY:gmatch "[^\n]+" do
        events[#events + 1] = history.parse((line:gsub(" ", "\t")))
    end
    return record_of_history.of(check(events))
end


describe("the records of a history", function()
    local mutex, rwlock, semaphore = unpack(records_of_history())

    it("a history gives a record for each path, with a lane for each place", function()
        assert.equal("/l", mutex.name)
        assert.equal("/rw", rwlock.name)
        assert.same({ "c1", "c2" }, mutex.servers)
        assert.same({ { at = 1.5, ended = 4, kind = "stop,_long", target = "c1" } }, mutex.faults)
        assert.equal(2, #mutex.purchases)
        assert.equal(3, #rwlock.purchases)
    end)

    it("the holds of a history are as its clients saw them", function()
        local stopped, failed = mutex.purchases[1], rwlock.purchases[2]
        assert.same({ 1, "100", "lost" }, { stopped.server, stopped.token, stopped.outcome })
        assert.is_true(math.abs(stopped.released - 4.01) < 1e-6)
        assert.equal("released", mutex.purchases[2].outcome)
        assert.equal("timeout", failed.outcome)
        assert.is_nil(failed.granted)
        assert.is_true(rwlock.purchases[3].shared)
    end)

    it("holders that exclude each other overlap, and readers or permits do not", function()
        assert.equal(1, #mutex.overlaps)
        local overlap = mutex.overlaps[1]
        assert.same({ "/l", 2 }, { overlap.lock, overlap.holders })
        assert.is_true(math.abs(overlap.from - 3.02) < 1e-6)
        assert.is_true(math.abs(overlap.to - 4.01) < 1e-6)
        assert.same({}, rwlock.overlaps)
        assert.same({}, semaphore.overlaps)
    end)

    it("a history's record is right or wrong by the rules on its path", function()
        assert.equal("right", mutex.verdict)
        assert.equal("wrong", rwlock.verdict) -- grants without a node
        assert.matches("^%d+ violations of rules; order at 5.020 s, c1.1%-2: token 104 is of no "
            .. "lock node;", rwlock.finding)
        assert.is_truthy(words.why(mutex, true):find "a fault explains each")
    end)

    it("a history makes a page #slow", function()
        local seen = look{ title = "Torture", sales = {}, histories = records_of_history() }
        assert.same({}, seen.problems)
        assert.is_truthy(seen.text:find("3 histories: 1 right, 2 wrong.", 1, true))
        assert.same({ "Who held when", "Grants a second", "Order of arrival, and order of grant" },
                    seen.sales[1].pictures)
        assert.equal(1, #seen.sales[1].whole.runs)
        assert.same({}, seen.sales[2].whole.runs)
    end)
end)


describe("the page of a report, in Chromium,", function()
    local function list(texts) return "|" .. table.concat(texts, "|") .. "|" end

    local PIXELS = 3 -- drawn width of anything shorter than two pixels

    local function is_near(runs, at, distance)
        for _, run in ipairs(runs) do
            if at >= run[1] - distance and at <= run[2] + distance then return true end
        end
        return false
    end

    -- Each red column is at an overlap, and each overlap in view is red, within a few pixels. Both
    -- are compared by their ends and by their middles.
    local function check_red(record, red)
        local spans, distance = {}, PIXELS * red.pixel
        for i, overlap in ipairs(record.overlaps) do spans[i] = { overlap.from, overlap.to } end
        for _, run in ipairs(red.runs) do
            for part = 0, 10 do
                local at = run[1] + (run[2] - run[1]) * part / 10
                assert.is_true(is_near(spans, at, distance), "red at " .. at)
            end
        end
        return spans, distance
    end

    local function check_all_red(record, red)
        local spans, distance = check_red(record, red)
        for _, span in ipairs(spans) do
            for part = 0, 2 do
                local at = span[1] + (span[2] - span[1]) * part / 2
                assert.is_true(is_near(red.runs, at, distance), "no red at " .. at)
            end
        end
    end

    -- The page of the step with that text.
    local function step(steps, text)
        for _, each in ipairs(steps.pages) do
            if each[2] == text then return table.concat(each, "\n") end
        end
        error("no step says: " .. text)
    end

    local three = { sales.right(50), sales.wrong(50), sales.refused() }
    three[2].name = "nobody waits, and several buyers read the stock at once, all of them"
    three[1].expect, three[2].expect, three[3].expect = "right", "wrong", "right"
    local light = once(function() return look{ title = "Three sales", sales = three } end)
    local dark = once(function() return look({ sales = three }, { dark = true }) end)

    local lanes = once(function()
        local record = sales.three_lanes()
        record.purchases[1].token = "9007199254740993"
        record.purchases[3].token = "9007199254740995"
        local slow = sales.right(10)
        slow.seconds = 100
        slow.fairness = { overtakes = 3, lead = 0.0041, jain = 1 }
        return look{ sales = { record, slow } }
    end)

    it("the page is drawn without an error, and shows the verdicts #slow", function()
        local seen = light()
        assert.same({}, seen.problems)
        assert.equal(0, seen.loaded)
        assert.equal("Three sales", seen.title)
        assert.is_truthy(seen.text:find("3 sales: 2 right, 1 wrong. All as expected.\n", 1, true))
        assert.is_truthy(seen.text:find("As expected: this one must be wrong.", 1, true))
        assert.equal(0, seen.unnamed)
        local others = { "Stock", "Grants a second", "Order of arrival, and order of grant" }
        for i, sale in ipairs(seen.sales) do
            local pictures = { "Who held when", unpack(others) }
            if i ~= 2 then table.insert(pictures, 2, "Messages to and from ZooKeeper") end
            assert.same(pictures, sale.pictures) -- the second sale has no lock
        end
    end)

    it("the page has a line with a link for each of many sales #slow", function()
        local records = { sales.right(3), sales.wrong(30) }
        for i = 3, 8 do records[i] = sales.right(2) end
        records[1].expect, records[3].expect = "wrong", "right"
        local seen = look({ sales = records }, { width = 400 })
        assert.same({}, seen.problems)
        assert.equal(8, #seen.lines)
        for _, line in ipairs(seen.lines) do
            assert.is_true(line.width > 0.6 * seen.width, line.width)
        end
        assert.same({ "NOT as expected", "as expected", "as expected" }, {
            seen.lines[1].expectation, seen.lines[2].expectation, seen.lines[3].expectation })
        for i, line in ipairs(seen.lines) do
            assert.equal(line.name, line.leads_to)
            assert.equal(records[i].name, line.name)
        end
        assert.is_truthy(seen.text:find(records[1].explanation, 1, true))
        assert.is_truthy(seen.text:find("Not as expected: zookeeper.", 1, true))
        assert.is_truthy(seen.text:find("NOT as expected: this one must be wrong.", 1, true))
    end)

    it("zooming and moving, by button and by key, moves all pictures of a sale together #slow",
       function()
        local seen = lanes()
        assert.same({ "0.438 s to 0.563 s", "0.469 s to 0.594 s", "0.000 s to 1.000 s" },
                    seen.sales[1].spans)
        -- Lanes, messages, stock and grants have time, the order has none.
        assert.same({ { true, true, true, true, false }, { false, false, false, false, false } },
                    seen.sales[2].changed)
    end)

    it("the page is light or dark like the reader's system, and changes by a button #slow",
       function()
        assert.same({ "light", "dark", "light" }, light().themes)
        assert.same({ "dark", "light", "dark" }, dark().themes)
    end)

    it("two exclusive holds of one lock are red where they overlap, and nothing else is", function()
        for _, seen in ipairs{ light(), dark() } do
            for i, record in ipairs(three) do
                local sale = seen.sales[i]
                assert.equal(#record.overlaps, tonumber(sale.count))
                assert.equal(#record.overlaps, #sale.table)
                check_all_red(record, sale.whole)
                check_red(record, sale.zoomed)
            end
            assert.same({}, seen.sales[1].whole.runs)
            assert.is_true(#seen.sales[2].whole.runs > 5)
            assert.is_true(#seen.sales[2].zoomed.runs > 1)
        end
    end)

    it("a crowd of holders is painted as one stretch #slow", function()
        local record = sales.crowd(2000)
        assert.equal(20, #record.overlaps)
        local seen = look{ sales = { record } }
        assert.same({}, seen.problems)
        assert.equal(20, #seen.sales[1].whole.runs)
        check_all_red(record, seen.sales[1].whole)
    end)

    it("the lanes of both holders are red, and lanes between them are not", function()
        local seen = lanes()
        local red = seen.sales[1].whole
        assert.equal(1, #red.runs)
        assert.is_true(math.abs(red.runs[1][1] - 0.4) < PIXELS * red.pixel)
        assert.is_true(math.abs(red.runs[1][2] - 0.6) < PIXELS * red.pixel)
        assert.equal(3, #red.rows) -- at the top, server 1, server 3
        local height = red.rows[2][2] - red.rows[2][1]
        assert.is_true(red.rows[3][1] - red.rows[2][2] > height)
        assert.is_truthy(seen.sales[1].caption:find("two buyers held one lock at once, the first "
            .. "time at 0.400 s, for 200 ms in 1 stretch of time.", 1, true))
    end)

    it("a hold of several locks is red beside a hold of each #slow", function()
        local record = sales.both_locks()
        local sale = look{ sales = { record } }.sales[1]
        assert.same({ 2, 3 }, { #sale.whole.runs, #sale.whole.rows })
        check_all_red(record, sale.whole)
        assert.is_truthy(sale.caption:find("the first time at 0.200 s, for 200 ms in 2 stretches "
            .. "of time and 2 locks.", 1, true))
        assert.matches("lock a: holds\nbuyer 1 [^\n]*\n.*\nlock b: 2 HOLD IT AT ONCE\n"
            .. "buyer 1 %(one%), token 8, knows: held; buyer 2 %(two%), token 9, knows: held\n",
            step(sale.steps, "buyer 1 (one) writes a stock of 8, too late."))
    end)

    it("the page tells the rate of grants, and the lead of overtaken buyers", function()
        local text = lanes().text
        assert.is_truthy(text:find("over the whole sale 3 a second.", 1, true))
        assert.is_truthy(text:find("over the whole sale one every 10 s.", 1, true))
        assert.is_truthy(text:find("A buyer was overtaken by 3 later ones, which had asked up to "
            .. "4.1 ms after it.", 1, true))
    end)

    it("the pointer shows a hold's buyer, server, times and token", function()
        local tips = table.concat(lanes().sales[1].tips, "\n")
        assert.is_truthy(tips:find("token 9007199254740993", 1, true))
        assert.is_truthy(tips:find("token 9007199254740995", 1, true))
        assert.is_truthy(tips:find("held 400 ms", 1, true))
        assert.is_truthy(tips:find("with others at once for 200 ms", 1, true))
    end)

    it("any name is shown as text #slow", function()
        local records = hostile()
        local seen = look(records)
        assert.same({}, seen.problems)
        assert.is_truthy(seen.text:find('</script><script>problems.push("injected")</script>', 1,
                                        true))
        assert.is_truthy(seen.title:find("{{data}} %1", 1, true))
        assert.equal(#records.sales[1].overlaps, #seen.sales[1].table)
    end)

    it("the page fits a narrow screen and a wide one #slow", function()
        local narrow = look({ sales = { sales.wrong(50), sales.refused() } }, { width = 400 })
        assert.is_true(narrow.width <= 510, narrow.width) -- Chromium has a minimal width
        assert.is_true(narrow.wide.count > 0)
        assert.matches("|share served %(logarithmic%)|", list(narrow.waits.words))
        for _, seen in ipairs{ narrow, light() } do
            assert.equal(0, seen.wide.unsaid)
            assert.equal(0, seen.tooWide)
            assert.same({}, seen.clipped)
            assert.same({}, seen.problems)
        end
    end)

    it("the page is in Chinese, except for names, on request #slow", function()
        local records = { language = "zh", sales = {
            sales.refused(), sales.late_write(), sales.products(), sales.stuck(),
            sales.messages(), sales.wrong(20),
        } }
        records.sales[1].expect, records.sales[2].expect = "right", "right"
        local seen, names = look(records, { probe = "speaker.js", width = 360 }), {}
        assert.same({}, seen.problems)
        assert.same({ "zh-CN", 0 }, { seen.lang, seen.tooWide })
        assert.matches("6 场秒杀：%d 场正确，%d 场出错，1 场卡死。", seen.text)
        for _, name in ipairs{ -- of sales, products, options, keys, and the link to English
            "English", "Home", "End", "Left", "Right", "zookeeper", "none", "shared", "sqlite",
            "ZooKeeper", "bun", "cake", "pie", "tea", "true", "false", "products", "buyers",
            "fenced", "hold", "a holder is stopped", "a late write",
            "Every buyer takes the lock before it reads the stock.",
        } do
            names[name] = true
        end
        for _, text in ipairs(seen.english) do
            assert.is_truthy(names[text] or not text:find "%a%a", text)
        end
        assert.is_nil(light().text:find "[\228-\233][\128-\191][\128-\191][\228-\233]文")
    end)

    it("the printed page is white, with the important tables open", function()
        local seen = dark()
        assert.equal("light", seen.printed.theme)
        local open = table.concat(seen.printed.tables, "; ")
        for _, name in ipairs{ "waits", "what the store says", "two or more at once", "faults",
                           "options", "notes" } do
            assert.is_truthy(open:find("Table: " .. name, 1, true), open)
        end
        assert.is_nil(open:find("purchases", 1, true))
    end)

    it("10 000 purchases open without a problem #slow", function()
        assert.same({}, look{ sales = { sales.right(10000) } }.problems)
    end)

    -- A page with all signs.
    local signs = once(function()
        return look{ sales = { sales.refused(), sales.late_write(), sales.products(),
                               sales.stuck(), sales.crowd(100), sales.right(4) } }
    end)

    local function picture(seen, sale, title)
        for _, each in ipairs(seen.sales[sale].painted) do
            if each.title == title then return each end
        end
    end

    it("each kind of thing has a sign besides its colour #slow", function()
        local seen, count = signs(), 0
        assert.same({}, seen.problems)
        for _, sale in ipairs(seen.sales) do
            for _, each in ipairs(sale.painted) do
                assert.same({}, each.signs.alike, sale.title .. ": " .. each.title)
                assert.same({}, each.signs.empty, sale.title .. ": " .. each.title)
                count = count + #each.signs.words
            end
        end
        assert.is_true(count > 40, count)
        assert.same({ "a holder is stopped", "a late write", "none", "a crowd", "zookeeper" }, {
            seen.waits.signs.words[1], seen.waits.signs.words[2], seen.waits.signs.words[3],
            seen.waits.signs.words[5], seen.waits.signs.words[6] })
        assert.same({}, seen.waits.signs.alike)
    end)

    it("the legend names only lines #slow", function()
        local seen = signs()
        assert.equal(6, #seen.waits.signs.words)
        assert.same({ "as written", "less what was sold" },
            picture(seen, 1, "Stock").signs.words)
        assert.same({ "in turn", "served as number" },
            picture(seen, 1, "Order of arrival, and order of grant").signs.words)
    end)

    it("each axis has words, and a logarithmic axis says so #slow", function()
        local seen = signs()
        local words_of_waits = list(seen.waits.words)
        assert.matches("|waited %(logarithmic%)|", words_of_waits)
        assert.matches("|share that was served within that time %(logarithmic", words_of_waits)
        for title, word in pairs{
            ["Who held when"] = "server 1", ["Stock"] = "items left",
            ["Grants a second"] = "grants a second",
            ["Order of arrival, and order of grant"] = "came as number",
        } do
            assert.matches("|" .. word .. "|", list(picture(seen, 1, title).words))
        end
        for _, title in ipairs{ "Who held when", "Stock", "Grants a second" } do
            assert.matches("|0%.0+ s|", list(picture(seen, 1, title).words))
        end
    end)

    it("the waits of each sale have a picture of their own, with the same axes #slow", function()
        local seen = light()
        assert.equal(3, #seen.shapes)
        for i, shape in ipairs(seen.shapes) do
            assert.equal(three[i].name, shape.title)
            assert.same(seen.shapes[1].words, shape.words)
            assert.matches("|waited %(logarithmic%)|", list(shape.words))
        end
        assert.same({ seen.tops[1], seen.tops[1], seen.tops[1] }, seen.tops)
        assert.same({}, look{ sales = { sales.right(3) } }.shapes)
    end)

    it("the distance of several sales from right is told in pieces and in money #slow", function()
        local unknown = sales.right(3)
        unknown.left, unknown.name = {}, "not known"
        local seen = look{ sales = { sales.products(), unknown, sales.right(3) } }
        assert.same({}, seen.problems)
        local distances = seen.distances
        -- Bun is oversold by 1, and off by 1; cake is off by 3, pie by 1.
        assert.same({ "none", "1", "5" }, distances.pieces[2])
        assert.same({ "not known", "–", "–" }, distances.pieces[3])
        assert.same({ "zookeeper", "0", "0" }, distances.pieces[4])
        assert.same({ "none", "1", "19.99", "5", "99.95" }, distances.money[2])
        assert.same({ "not known", "–", "–", "–", "–" }, distances.money[3])
        assert.same(distances.pieces, distances.again)
        assert.same(distances.pieces, distances.below)
        assert.is_nil(look{ sales = { sales.right(3) } }.distances)
    end)

    it("the lanes show late writes, and beliefs of holders #slow", function()
        local seen = signs()
        local stopped, late = picture(seen, 1, "Who held when"), picture(seen, 2, "Who held when")
        assert.matches("|✕|", list(stopped.words))
        assert.is_nil(list(stopped.words):find("|?|", 1, true))
        assert.matches("|hold lost|late write, refused|", list(stopped.signs.words))
        assert.matches("|✕|", list(late.words))
        assert.is_truthy(list(late.words):find("|?|", 1, true))
        assert.matches("|hold suspect|hold lost|late write, made|", list(late.signs.words))
        local other = list(picture(seen, 6, "Who held when").signs.words)
        assert.equal("|sold|", other)
    end)

    it("beliefs are taken from buyers' notes about their holds", function()
        local record = sales.refused()
        record.purchases[10].lost = nil
        local _, packed = written("html", { sales = { record } }):match
            '<script type="application/json" id="data">()(.-)</script>'
        local lost = dkjson.decode(packed).sales[1].purchases.lost
        assert.equal(math.floor(record.notes[1].at * 1e6 + 0.5), lost[10])
        assert.equal(-1, lost[9])
    end)

    it("the number of concurrent holders is told in the lanes and above them #slow", function()
        local seen = signs()
        local words_of_lanes = list(picture(seen, 5, "Who held when").words)
        assert.matches("|100 at once|", words_of_lanes)
        assert.matches("|100|", words_of_lanes)
        assert.matches("^Red and hatched: up to 100 buyers held one lock at once",
            seen.sales[5].caption)
        assert.matches("Up to 100 buyers held one lock at once", seen.text)
    end)

    it("the page has notes, options, failures, and whether late writes were refused #slow",
       function()
        local text = signs().text
        for _, word in ipairs{
            "Table: notes (1 row)", "Table: options (4 rows)", "fenced: the store refuses late",
            "not fenced: the store takes late writes", "2 failed (1 killed, 1 late)",
            "22 failed (20 timeout, 2 unanswered)", "Answers, from the shortest to the longest",
        } do
            assert.is_truthy(text:find(word, 1, true), word)
        end
        local page = written("html", { sales = { sales.refused() } })
        assert.is_truthy(page:find('{"name":"products","value":"{\\"10000001\\":60}"}', 1, true))
    end)

    it("a stuck sale has a verdict of its own #slow", function()
        local seen = signs()
        assert.matches("^‖ Stuck", seen.sales[4].title)
        assert.matches("6 sales: 2 right, 3 wrong, 1 stuck%.", seen.text)
        assert.matches("Stuck: nothing false was sold", seen.text)
        assert.is_nil(light().text:find("Stuck", 1, true))
        assert.same({ "Who held when" }, seen.sales[4].pictures)
    end)

    it("the steps go forward and back by keys and by buttons #slow", function()
        local steps = signs().sales[2].steps
        -- Each buyer asked, got the lock, wrote and released; one of them learned twice about its
        -- hold.
        assert.equal(3 * 4 + 2, steps.count)
        assert.equal(steps.count + 1, #steps.pages)
        assert.equal("Nothing has happened yet.", steps.pages[1][2])
        assert.equal(steps.count, steps.back)
        assert.same(steps.last, steps.pages[#steps.pages])
        assert.is_true(steps.home)
        assert.is_true(steps.moved)
    end)

    it("each step tells the waiting buyers, the holders and their beliefs, and the stock #slow",
       function()
        local steps = signs().sales[2].steps
        assert.matches("lock 10000001: holds\nnobody\nlock 10000001: waits\n"
            .. "3 buyers: 1, 2, 3\nstock of 10000001\n6 as written",
            step(steps, "buyer 3 (server 2) asks for lock 10000001."))
        assert.matches("holds\nbuyer 2 %(server 1%), token 8589934598, knows: suspect\n.*waits\n"
            .. "1 buyer: 3\n", step(steps, "buyer 2 (server 1) knows that its hold is suspect."))
        assert.matches("2 HOLD IT AT ONCE\nbuyer 2 %(server 1%), token %d+, knows: lost; "
            .. "buyer 3 %(server 2%), token %d+, knows: held\n.*waits\nnobody\n",
            step(steps, "buyer 3 (server 2) gets lock 10000001, token 8589934601."))
        assert.matches("holds\nbuyer 2 .*\n4 as written",
            step(steps, "buyer 2 (server 1) writes a stock of 4, too late."))
    end)

    it("each message has an arrow, and a step shows those sent by then #slow", function()
        local record = sales.messages()
        local seen = look{ sales = { record } }
        assert.same({}, seen.problems)
        local sale = seen.sales[1]
        local messages = picture(seen, 1, "Messages to and from ZooKeeper")
        assert.matches("|request|answer|event of a watch|lost with its connection|",
            list(messages.signs.words))
        assert.same({}, messages.signs.alike)
        for _, word in ipairs{ "ZooKeeper", "server 1", "server 2", "create lock", "delete #0",
                               "#0 was deleted" } do
            assert.is_truthy(list(messages.words):find("|" .. word .. "|", 1, true), word)
        end
        assert.equal(0, sale.arrows[1].count)
        local moments = {}
        for i, page in ipairs(sale.steps.pages) do
            moments[i] = tonumber(page[1]:match "at ([%d.]+)")
        end
        assert.equal(2 * 4 + 7, sale.steps.count)
        for i = 2, sale.steps.count + 1 do
            local sent = 0
            for _, each in ipairs(record.messages) do
                if each.sent <= moments[i] + 1e-6 then sent = sent + 1 end
            end
            assert.equal(sent, sale.arrows[i].count, "step " .. i - 1)
        end
        local picture_of_it = picture(seen, 1, "The moment from which it was likely to end wrong")
        assert.matches("|end wrong|", list(picture_of_it.words))
        assert.is_truthy(seen.text:find("From step 7 (server 1 is stopped for 20 s) 97 of 100 end "
            .. "wrong, before it 3.", 1, true))
        step(sale.steps, "server 1 hears from ZooKeeper: #0 was deleted (lock 10000001).")
        step(sale.steps, "ZooKeeper to server 1, lost on its way: answer to create #1 "
            .. "(lock 10000001).")
    end)

    it("the pictures show the time around the step #slow", function()
        local sale = signs().sales[2]
        assert.equal(sale.steps.count + 1, #sale.arrows)
        for i, around in ipairs(sale.arrows) do
            local at = tonumber(sale.steps.pages[i][1]:match "at ([%d.]+)")
            local from, to = tonumber(around.from), tonumber(around.to)
            assert.is_true(from <= at and at <= to and to - from < 0.3, i)
        end
    end)

    it("the page says that a real sale's record has one end of a message only", function()
        local seen = signs()
        local messages = picture(seen, 6, "Messages to and from ZooKeeper")
        assert.same({ "request", "answer or event" }, messages.signs.words)
        assert.matches("When ZooKeeper had a message is not known, so the arrows are upright",
            seen.text)
        assert.matches("60 of the 300 messages of this time are drawn", seen.text)
        assert.is_nil(picture(light(), 2, "Messages to and from ZooKeeper")) -- it has no lock
    end)

    it("a basket's writes are all in the stock and in the steps #slow", function()
        local seen = look{ sales = { sales.baskets() } }
        assert.matches("Both lines are one: no update was lost. In the store, at the end: 12 left",
            seen.text)
        local steps = seen.sales[1].steps
        assert.matches("stock of bun\n4 as written, of 6; 1 buyer was told \"sold\"\n.*"
            .. "stock of tea\n2 as written, of 3; 1 buyer was told",
            step(steps, "buyer 1 (server 1) is told: sold."))
        assert.matches("stock of bun\n2 as written, of 6; 2 buyers were told \"sold\"\n.*"
            .. "stock of pie\n9 as written, of 9; 0 buyers were told",
            step(steps, "buyer 2 (server 2) is told: sold."))
        step(steps, "buyer 2 (server 2) writes a stock of 1 of tea.")
    end)

    it("a written stock below 0 is in the stock and in the steps #slow", function()
        local record = sales.right(2)
        record.purchases[2].left = -1
        local seen = look{ sales = { record } }
        local steps = seen.sales[1].steps
        assert.matches("stock of 10000001\n%-1 as written, of 4; ",
            step(steps, "buyer 2 (server 1) writes a stock of -1."))
    end)

    it("pieces are counted where buyers want several #slow", function()
        local record = sales.right(3)
        for i, purchase in ipairs(record.purchases) do
            purchase.quantity, purchase.left = 2, 6 - 2 * i
        end
        assert.matches("Both lines are one", look{ sales = { record } }.text)
    end)

    it("the steps tell of servers that stand still, or are killed #slow", function()
        local stuck = signs().sales[4].steps
        assert.equal(2 + 20 + 20 + 1 + 2, stuck.count) -- too many for the probe to walk
        assert.matches("waits\nnobody\n", table.concat(stuck.last, "\n"))
        local record = sales.late_write()
        local at = record.purchases[2].granted
        record.faults = {
            { kind = "stop", target = "server 1", at = at + 0.0001,
              ended = record.purchases[2].written - 0.001 },
            { kind = "cut", target = "server 1", at = at + 0.0002, ended = at + 0.0003 },
        }
        local steps = look{ sales = { record } }.sales[1].steps
        for _, text in ipairs{ "Fault: stop of server 1.", "Over: cut of server 1." } do
            assert.matches("buyer 2 %(server 1%), token %d+, stands still, and last knew: held",
                step(steps, text))
        end
        assert.matches("buyer 2 %(server 1%), token %d+, knows: lost",
            step(steps, "Over: stop of server 1."))
    end)

    it("the page counts scenarios as the terminal does, each with its sales #slow", function()
        local records = { sales.right(3), sales.wrong(20), sales.right(3) }
        records[1].name = "two products: one lock (X-2)"
        records[2].name = "two products: none (X-2)"
        local function scenario(id, title, expect, verdict, own)
            return { id = id, title = title, expect = expect, verdict = verdict, sales = own,
                     finding = "what came of " .. id }
        end
        local seen = look{ sales = records, scenarios = {
            scenario("X-1", "schedules", "right", "right", {}),
            scenario("X-2", "two products", "right", "right", { 1, 2 }),
            scenario("X-3", "a right sale that does not do", "right", "wrong", { 3 }),
        } }
        assert.same({}, seen.problems)
        assert.is_truthy(seen.text:find("3 scenarios: 2 right, 1 wrong. Not as expected: "
            .. "a right sale that does not do (X-3).", 1, true))
        assert.same({ "schedules (X-1)", "two products (X-2): one lock, none",
                      "a right sale that does not do (X-3)" },
            { seen.lines[1].words, seen.lines[2].words, seen.lines[3].words })
        assert.same({ "as expected", "as expected", "NOT as expected" },
            { seen.lines[1].expectation, seen.lines[2].expectation, seen.lines[3].expectation })
        assert.is_truthy(seen.text:find("NOT as expected: this scenario must be right", 1, true))
        assert.is_nil(seen.text:find("must be wrong", 1, true))
    end)

    it("a sale without any grant is shown #slow", function()
        local record = sales.right(3)
        for _, purchase in ipairs(record.purchases) do
            purchase.granted, purchase.released, purchase.token = nil, nil, nil
            purchase.left, purchase.written, purchase.outcome = nil, nil, "timeout"
        end
        local empty = sales.right(0)
        local seen = look{ sales = { record, empty } }
        assert.same({}, seen.problems)
        for _, sale in ipairs(seen.sales) do
            assert.same({}, sale.pictures)
            assert.matches("Nobody had a lock, so there is no picture", sale.text)
            assert.is_nil(sale.text:find("whole sale", 1, true)) -- a button of the pictures
        end
        assert.is_nil(seen.text:find("Waits for the lock", 1, true))
    end)
end)
