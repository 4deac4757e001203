--- [lua] The checker of the torture. A history that breaks a rule fails by that rule alone. A
-- lawful history, however odd, passes.
--
-- Histories are in spec/torture/histories, a file for each kind of lock. A case has its title at
-- the margin. The lines below it are indented, with the steps of each process and the checker's
-- findings:
--
--   a try finds nobody
--       c1.1-1  2.00 invoked way=try; 2.01 created x-lock-0 100; 2.02 granted 100   -> lawful
--
-- A step is a moment, an event and its fields (spec/torture/history.lua). FIELDS has the fields
-- that may be left out, or be given without a name. The first case of a file has a whole history.
-- Each later case has its differences from that, or from the case after the word `as`:
--
--   c1.1-1  2.05 granted 100       replaces that event of the claim (at that moment, if there are
--                                  several), or is added
--   + c1.1-1 3.00 wrote e9         is added
--   - c1.1-1 wrote 2.02; - store   removes the claim's `wrote` and its step at 2.02; removes all
--                                  steps of `store`
--   -> order: before; token        these rules are broken; the text of the first has "before"
--   -> explained: stop             a fault explains the violation whose text has "stop"
--   | leases lost 1                a row of figures begins so

local check = require "spec.torture.checker"
local figures = require "spec.torture.figures"
local files = require "spec.files"
local history = require "spec.torture.history"
local intervals = require "spec.torture.intervals"
local program = require "spec.fault.program"

-- Fields in the order of values without a name, some with a default. `asked` is when the claim was
-- invoked or its downgrade begun, and `now` the time of the event.
local FIELDS = {
    connected = "session timeout=2", state = "state", error = "message",
    invoked = "kind=mutex way=acquire", granted = "token state=held limit=9 begun=asked held=now",
    failed = "code limit=9 begun=asked", noticed = "state",
    released = "result=ok limit=0 begun=now held=now",
    wrote = "element read=- accepted=true held=now", read = "element held=now",
    downgrading = "held=now", downgraded = "result limit=2 begun=asked held=now",
    created = "name zxid", became = "name", deleted = "cause=delete", lost = "name zxid",
    fault = "name scope id=1", healed = "id=1", stored = "element token read=-",
}

local UNCERTAIN = { suspect = true, lost = true, released = true } -- states, and results

local BY_SERVERS = { created = true, became = true, marked = true, deleted = true }


-- --- the steps of a case ----------------------------------------------------------------

-- The index of another case's step that this step replaces, or the end.
local function index_for(steps, step)
    local index, several
    for i, other in ipairs(steps) do
        if other.who == step.who and other.event == step.event and other.case ~= step.case then
            several = index ~= nil
            if not index or other.at == step.at then index = i end
        end
    end
    assert(not several or steps[index].at == step.at, "which one? " .. step.event)
    return index or #steps + 1
end


-- Removes the steps of a claim or process: all, of one event, or of one moment.
local function remove_steps(steps, who, which)
    local count = #steps
    for i = count, 1, -1 do
        local step = steps[i]
        local named = which == "all" or step.event == which or step.at == tonumber(which)
        if step.who == who and named then table.remove(steps, i) end
    end
    assert(#steps < count, "not in the history: " .. who .. " " .. which)
end


-- Applies a line to the steps. A part of the line begins with its claim or process, or belongs to
-- the part before.
local function edit(case, steps, line)
    local who
    for part in line:gmatch("[^;]+") do
        local sign, rest = part:match("^ *([-+]?) *(.-) *$")
        local whose, of_whom = rest:match("^(%l%S*) *(.*)$")
        if whose then who, rest = whose, of_whom end
        if sign == "-" then
            for which in (rest == "" and "all" or rest):gmatch("%S+") do
                remove_steps(steps, who, which)
            end
        else
            local at, event, words = rest:match("^([%d.]+) (%l+) *(.*)$")
            assert(at, "no step: " .. part)
            local step = { case = case, who = who, at = tonumber(at), event = event, words = words }
            steps[sign == "+" and #steps + 1 or index_for(steps, step)] = step
        end
    end
end


local function steps_of(case)
    local steps = case.as and steps_of(case.as) or {}
    for _, line in ipairs(case.lines) do edit(case, steps, line) end
    return steps
end


-- --- the report of a case ---------------------------------------------------------------

local function fields_of(step)
    local fields, names = {}, {}
    for name, value in (FIELDS[step.event] or ""):gmatch("(%l+)=?(%S*)") do
        names[#names + 1], fields[name] = name, value ~= "" and value or nil
    end
    for word in step.words:gmatch("%S+") do
        local name, value = word:match("^(%l+)=(.*)$")
        fields[name or table.remove(names, 1)] = value or word
    end
    return fields
end


-- Returns the event of a step, with session, path and node from earlier steps. In an
-- uncertain state a claim holds nothing.
local function event_of(step, known)
    local at, who, event, process = step.at, step.who, step.event, step.who:match("^[^-]+")
    local fields = fields_of(step)
    if event == "connected" then known.session[process] = fields.session end
    if event == "invoked" then known.path[who] = fields.path end
    if event == "invoked" or event == "downgrading" then known.asked[who] = at end
    if fields.held == "now" and UNCERTAIN[fields.state or fields.result] then fields.held = nil end
    local moments = { now = at, asked = known.asked[who] }
    fields.begun = moments[fields.begun] or fields.begun
    fields.held = moments[fields.held] or fields.held
    fields.session = fields.session or known.session[process]
    fields.path = fields.path or known.path[who] or "/l"
    local node = who .. fields.path
    fields.was = event == "became" and known.name[node] or nil
    fields.name = fields.name or known.name[node]
    known.name[node] = fields.name
    fields.zxid = tonumber(fields.zxid) or known.zxid
    known.zxid = math.max(known.zxid, fields.zxid)
    fields.at, fields.event, fields.claim = at, event, who:find("-", 1, true) and who or "-"
    fields.process = BY_SERVERS[event] and "zookeeper" or process
    return fields
end


local function events_of(steps)
    local events, known = {}, { session = {}, path = {}, asked = {}, name = {}, zxid = 0 }
    for i, step in ipairs(history.sort(steps)) do events[i] = event_of(step, known) end
    return events
end


-- Returns the first violation of each rule, and the explained ones, each { rule, text }.
local function findings(report)
    local found, seen, texts = {}, {}, {}
    for _, each in ipairs(report.violations) do
        if not seen[each.rule] then found[#found + 1] = each end
        seen[each.rule] = true
    end
    for _, each in ipairs(report.explained) do
        found[#found + 1] = { rule = "explained", text = each.text }
    end
    for i, each in ipairs(found) do texts[i] = each.rule .. ": " .. each.text end
    return found, table.concat(texts, "\n")
end


local function assert_lawful(report)
    local _, texts = findings(report)
    assert.equal("", texts)
end


local function assert_found(case, report)
    local found, texts = findings(report)
    assert.equal(#case.found, #found, texts)
    for i, each in ipairs(case.found) do
        assert.equal(each.rule, found[i].rule, texts)
        assert.is_truthy(found[i].text:find(each.text, 1, true), found[i].text)
    end
    local rows = ""
    for _, row in ipairs(figures.rows(report, {})) do
        rows = rows .. "\n" .. table.concat(row, " ", row[1] == "" and 2 or 1, 2)
    end
    for _, text in ipairs(case.figures) do
        assert.is_truthy(rows:find("\n" .. text, 1, true), text .. " is not in" .. rows)
    end
end


-- --- files ------------------------------------------------------------------------------

local broken = {} -- the rules that some case breaks

local function read_findings(text)
    local found, title = {}, {}
    for rule, words in text:gmatch("(%l+):? ?([^;]*)") do
        broken[rule], title[#title + 1] = true, rule
        if rule ~= "lawful" then found[#found + 1] = { rule = rule, text = words } end
    end
    return found, table.concat(title, ", ")
end


-- The cases of a file, in order, and each by its title.
local function read_cases(path)
    local cases, case = {}, nil
    for line in io.lines(path) do
        local step, found = line:match("^(.-) *%-> (.*)$")
        local text = (step or line):match("^ +([^# ].*)$")
        if line:find("^%w") then
            case = { title = line, lines = {}, figures = {}, as = cases[1] }
            cases[#cases + 1], cases[line] = case, case
        elseif text and text:find("^as ") then
            case.as = assert(cases[text:sub(4)], text)
        elseif text then
            table.insert(text:find("^|") and case.figures or case.lines, (text:gsub("^| ", "")))
        end
        if found then case.found, case.kind = read_findings(found) end
    end
    return cases
end


for path in io.popen("ls spec/torture/histories/*.txt"):lines() do
    describe(path, function()
        for _, case in ipairs(read_cases(path)) do
            it(assert(case.kind, case.title) .. ": " .. case.title, function()
                assert_found(case, check(events_of(steps_of(case))))
            end)
        end
    end)
end


it("each rule of the checker is broken by some history", function()
    for _, rule in ipairs(check({}).rules) do assert.is_true(broken[rule.name], rule.name) end
end)


describe("a history as a file", function()
    local path

    before_each(function() path = os.tmpname() end)
    after_each(function() os.remove(path) end)

    it("a file keeps every value, and the order of the moments", function()
        local writer = history.writer(path, "c1.1")
        writer:record("error", nil, { message = "50%\tor\nmore = less" }, 2.5)
        writer:record("invoked", "c1.1-1", { limit = 0.25, path = "/l" }, 1.5)
        writer:close()
        local events = history.read{ path }
        assert.equal("c1.1-1", events[1].claim)
        assert.equal(0.25, tonumber(events[1].limit))
        assert.equal("50%\tor\nmore = less", events[2].message)
    end)

    it("a file ends where its process was killed", function()
        files.write(path, "1.5\tc1.1\t-\tended\n2.5\tc1.1\tc1.1-1\tgran")
        assert.equal(1, #history.read{ path })
    end)
end)


describe("an event of truth.pl from the servers' logs", function()
    local folder

    before_each(function()
        folder = os.tmpname()
        os.remove(folder)
        for n = 1, 3 do os.execute(("mkdir -p %s/%d/data/version-2"):format(folder, n)) end
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    local function int(number)
        if number < 0 then number = number + 2 ^ 32 end
        local bytes = {}
        for i = 4, 1, -1 do
            bytes[i] = string.char(number % 256)
            number = math.floor(number / 256)
        end
        return table.concat(bytes)
    end

    local function long(number) return int(math.floor(number / 2 ^ 32)) .. int(number % 2 ^ 32) end
    local function text(value) return int(#value) .. value end

    -- Bodies of transactions. A node is ephemeral and has no ACL. `count` is the number of children
    -- that its parent has created by then.
    local function delete(name) return text("/l/" .. name) end
    local function create(name, count)
        return text("/l/" .. name) .. text("host:1\nc1.1-1") .. int(0) .. "\1" .. int(count or -1)
    end
    local function set(name, data) return text("/l/" .. name) .. text(data) .. int(1) end
    local function multi(...)
        local parts = { int(select("#", ...) / 2) }
        for i, part in ipairs{ ... } do parts[i + 1] = i % 2 == 1 and int(part) or text(part) end
        return table.concat(parts)
    end

    -- Transaction n of an epoch.
    local function of_epoch(epoch, n, ...) return { epoch * 2 ^ 32 + n, ... } end

    -- Writes a server's log, with the transactions { zxid, type, body } of session a1.
    local function write_log(server, log)
        local lines = { "ZKLG", int(2), long(0) }
        for _, each in ipairs(log) do
            local txn = long(0xa1) .. int(0) .. long(each[1]) .. long(0) .. int(each[2]) .. each[3]
            lines[#lines + 1] = long(0) .. int(#txn) .. txn .. "B"
        end
        files.write(("%s/%d/data/version-2/log.1"):format(folder, server), table.concat(lines))
    end

    -- Checks the events that truth.pl finds in a log of each server, as lines EPOCH.N EVENT NAME
    -- without most zeros.
    local function assert_events(expected, ...)
        local command, lines = "perl spec/torture/truth.pl", {}
        for n = 1, select("#", ...) do
            write_log(n, (select(n, ...)))
            command = ("%s %s/%d"):format(command, folder, n)
        end
        local output = assert(io.popen(command))
        for line in output:lines() do
            local event = history.parse(line)
            local more = event.was and " was " .. event.was
                or event.servers and " by " .. event.servers or ""
            lines[#lines + 1] = ("%.0f.%.0f %s %s%s"):format(math.floor(event.zxid / 2 ^ 32),
                event.zxid % 2 ^ 32, event.event, event.name, more):gsub("000000000", "")
            assert.same({ event.servers and "-" or "c1.1-1", "/l", "a1" },
                        { event.servers and "-" or event.claim, event.path, event.session })
        end
        output:close()
        assert.same(expected, lines)
    end

    local NAME, HELD = "x-lock-0000000007", "host:1\nc1.1-1\31held"
    local made, gone = { 1, 15, create(NAME) }, { 2, -11, "" }
    local made_again, gone_again = { 11, 15, create(NAME) }, { 12, -11, "" }

    it("the word `held` as new data of a node is an event, and other data is not", function()
        assert_events({ "0.2 created x-lock-7", "0.4 marked x-lock-7", "0.5 deleted x-lock-7" }, {
            { 1, 5, set(NAME, HELD) }, -- of no node
            { 2, 15, create(NAME) },
            { 3, 5, set(NAME, "host:1\nheld") },
            { 4, 5, set(NAME, HELD) },
            { 5, 2, delete(NAME) },
        })
    end)

    it("a downgrade in one transaction is an event, and a failed one is not", function()
        local writer, reader = "x-__WRIT__0000000007", "x-__READ__0000000007"
        assert_events({ "0.1 created x-__WRIT__7", "0.4 became x-__READ__7 was x-__WRIT__7",
                         "0.5 deleted x-__READ__7" }, {
            { 1, 15, create(writer) },
            { 2, 14, multi(1, create(reader), -1, int(-101)) }, -- the second was refused
            { 3, 14, multi(-1, int(-110), -1, int(-2)) },
            { 4, 14, multi(1, create(reader), 2, delete(writer)) },
            { 5, 2, delete(reader) },
        })
    end)

    it("transactions that only a leader logged count if it leads again, and others " ..
    "get them by a snapshot", function()
        assert_events({ "0.1 created x-lock-7", "0.2 deleted x-lock-7", "0.11 created x-lock-7",
                         "0.12 deleted x-lock-7" },
            { made, gone, made_again, gone_again }, { made, made_again, gone_again },
            { made, gone_again })
    end)

    it("transactions that only one server logged count if another got them by a snapshot",
    function()
        local others = { made, gone, of_epoch(6, 1, 2, delete(NAME)) }
        os.execute(("touch %s/2/data/version-2/snapshot.500000001"):format(folder))
        assert_events({ "0.1 created x-lock-7", "0.2 deleted x-lock-7", "5.1 created x-lock-7",
                         "6.1 deleted x-lock-7" },
            { made, gone, of_epoch(5, 1, 15, create(NAME)) }, others, others)
    end)

    it("transactions that only a leader logged do not count if others went on without it",
    function()
        local others = { made, { 11, -10, "" }, gone_again }
        assert_events({ "0.1 created x-lock-7", "0.12 deleted x-lock-7" },
            { made, gone, gone_again }, others, others)
    end)

    describe("a loss of events", function()
        local first = of_epoch(1, 1, 15, create(NAME, 1))
        local second = of_epoch(2, 1, 15, create(NAME, 1))

        it("an event is lost if a later epoch made its node or its count of children again",
        function()
            local log = { first, second }
            assert_events({ "2.1 created x-lock-7", "1.1 lost x-lock-7 by 1,2,3" }, log, log, log)
        end)

        it("a write and later events are lost if a later epoch wrote the same version", function()
            local log = { first, of_epoch(1, 2, 5, set(NAME, HELD)),
                          of_epoch(1, 3, 2, delete(NAME)), of_epoch(2, 1, 5, set(NAME, HELD)) }
            assert_events({ "1.1 created x-lock-7", "2.1 marked x-lock-7",
                             "1.2 lost x-lock-7 by 1,2,3", "1.3 lost x-lock-7 by 1,2,3" },
                log, log, log)
        end)

        it("an event in the log of only one server does not count", function()
            assert_events({ "2.1 created x-lock-7" }, { first, second }, { second }, { second })
        end)

        it("an event that two servers have cut off their logs is lost", function()
            local library = program.library("taken")
            for n = 1, 2 do
                local log = ("%s/%d/data/version-2/log."):format(folder, n)
                write_log(n, { first })
                assert(os.execute(([[LD_PRELOAD=%s perl -e 'open my $log, "+<", $ARGV[0] or die $!;
                    truncate $log, 16 or die $!;' %s1]]):format(library, log)))
                os.rename(log .. "1", log .. "0")
            end
            assert_events({ "2.1 created x-lock-7", "1.1 lost x-lock-7 by 1,2" },
                           { second }, { second }, { second })
        end)
    end)
end)


describe("intervals", function()
    local spans = intervals.new{ { from = 5, to = 6, what = "b" }, { from = 1, to = 2, what = "a" },
                                 { from = 5.5, to = 8, what = "c" } }

    it("intervals find overlaps", function()
        assert.is_nil(spans:overlapping(2.1, 4.9))
        assert.equal("a", spans:overlapping(2, 3).what)
        assert.equal("b, c", spans:overlapping(7, 7).what)
        assert.is_nil(spans:overlapping(8.1, 99))
    end)

    it("intervals measure the time that they cover", function()
        assert.equal(0.5, spans:covered(0, 1.5))
        assert.equal(4, spans:covered(0, 100))
        assert.equal(0, spans:covered(3, 4))
    end)

    it("intervals tell when a given undisturbed time has passed", function()
        assert.is_true(math.abs(spans:undisturbed(0, 1.5) - 3.5) < 1e-6)
        assert.is_true(math.abs(spans:undisturbed(3, 3) - 11) < 1e-6)
        assert.is_true(math.abs(spans:undisturbed(9, 1) - 10) < 1e-6)
    end)
end)


describe("a long history", function()
    -- Clients hold each of four paths in turn, or readers hold it together.
    local function long_history(grants, readers)
        local kind, stays = readers and "read" or "mutex", readers and grants * 0.01 or 0
        local marker, steps = readers and "-__READ__" or "-lock-", {}
        edit(nil, steps, ("c1.1 0.1 connected s; %d ended; torture %d residue nodes=0 watches=0")
            :format(grants, grants))
        for i = 1, grants do
            local at = 1 + i * 0.01
            edit(nil, steps, ("+ c1.1-%d %f invoked %s path=/l%d; + %f created x%s%d %d; "
                .. "+ %f granted %d; + %f released; + %f deleted"):format(i, at - 0.035, kind,
                i % 4, at - 0.033, marker, i, 2 * i, at, 2 * i, at + stays + 0.004,
                at + stays + 0.005))
        end
        return events_of(steps)
    end

    -- Returns how many hundreds of Lua's instructions fn() takes.
    local function count_steps(fn)
        local count = 0
        debug.sethook(function() count = count + 1 end, "", 100)
        fn()
        debug.sethook()
        return count
    end

    -- 200 000 events; fewer with a sanitizer, which has nothing to find here.
    it("a history of many events is checked #slow", function()
        local grants = program.sanitizer and 2000 or 40000
        local report = check(long_history(grants))
        assert_lawful(report)
        assert.equal(grants, report.figures.grants)
    end)

    for _, crowd in ipairs{ "holders, one after the other", "readers, all at once" } do
        it("a check takes at most n log n steps for " .. crowd .. " #slow", function()
            if jit then jit.off() end -- luacheck: globals jit (a compiled loop counts nothing)
            local readers, report = crowd:find("readers") ~= nil, nil
            local small, large = long_history(500, readers), long_history(4000, readers)
            local few = count_steps(function() check(small) end)
            local many = count_steps(function() report = check(large) end)
            if jit then jit.on() end -- luacheck: globals jit
            assert_lawful(report)
            assert.is_true(many < 8 * 1.6 * few,
                           ("%d for 8 times of what took %d"):format(many, few))
        end)
    end
end)
