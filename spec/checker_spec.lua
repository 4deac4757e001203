--- The checker of the torture: a history that breaks a rule fails with that rule and no
-- other; a history that is lawful, however odd, passes.
--
-- Each history begins with a lawful one. LAWFUL is of two clients: c1 holds, c2 waits and
-- holds after it. SHARED is of a read-write lock: c1 writes, c2 waits to read and c3 to write
-- behind it; c1 becomes a reader, so that c2 comes in; when both have gone, c3. PERMITS is of a
-- semaphore of 3: c1 has 2, c2 waits for 2, c3 for one behind it. TURNS is of processes that take
-- turns of 2 grants: c1 has three waiters, and c2 comes before the third. KEPT is of c1, which has
-- the lock twice by one node, and c2, which tries while it is kept. A test says what is otherwise:
-- lines to add, to take away (by a pattern), to change.

local check = require "spec.torture.checker"
local figures = require "spec.torture.figures"
local files = require "spec.files"
local history = require "spec.torture.history"
local intervals = require "spec.torture.intervals"
local program = require "spec.fault.program"

-- A history of so many clients, which connect before it and end after it. Lines are CLOCK PROCESS
-- CLAIM EVENT FIELD=VALUE..., separated by spaces here; `held` and `begun` without a value are the
-- line's own moment.
local function told(clients, text)
    local sessions = { "a1", "b2", "d3" }
    for i = clients, 1, -1 do
        text = ("1.00 c%d.1 - connected session=%s timeout=2\n"):format(i, sessions[i]) .. text
    end
    for i = 1, clients do text = text .. ("9.01 c%d.1 - ended\n"):format(i) end
    return text .. "10.0 torture - residue nodes=0 watches=0\n"
end


local LAWFUL = told(2, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=5
2.01 zookeeper c1.1-1 created path=/l name=x-lock-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held begun=2 limit=5
3.00 c2.1 c2.1-1 invoked path=/l kind=mutex way=acquire limit=5
3.01 zookeeper c2.1-1 created path=/l name=x-lock-1 session=b2 zxid=101
3.02 c2.1 c2.1-1 queued position=2
3.50 c1.1 c1.1-1 wrote element=e1 read=- token=100 accepted=true held
4.00 c1.1 c1.1-1 released result=ok begun limit=0 held
4.01 zookeeper c1.1-1 deleted path=/l name=x-lock-0 session=a1 zxid=102 cause=delete
4.02 c2.1 c2.1-1 granted token=101 state=held held begun=3 limit=5
5.00 c2.1 c2.1-1 wrote element=e2 read=e1 token=101 accepted=true held
5.50 c2.1 c2.1-1 released result=ok begun limit=0 held
5.51 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=103 cause=delete
9.00 c1.1 - closing session=a1
9.01 c1.1 - closed begun=9 limit=5
10.1 store - stored path=/l element=e1 read=- token=100
10.2 store - stored path=/l element=e2 read=e1 token=101
]])

local SHARED = told(3, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=write way=acquire limit=5
2.01 zookeeper c1.1-1 created path=/l name=x-__WRIT__0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held begun=2 limit=5
2.10 c2.1 c2.1-1 invoked path=/l kind=read way=acquire limit=9
2.11 zookeeper c2.1-1 created path=/l name=x-__READ__1 session=b2 zxid=101
2.20 c3.1 c3.1-1 invoked path=/l kind=write way=acquire limit=9
2.21 zookeeper c3.1-1 created path=/l name=x-__WRIT__2 session=d3 zxid=102
2.50 c1.1 c1.1-1 wrote element=e1 read=- token=100 accepted=true held
3.00 c1.1 c1.1-1 downgrading held
3.01 zookeeper c1.1-1 became path=/l name=x-__READ__0 was=x-__WRIT__0 session=a1 zxid=103
3.02 c1.1 c1.1-1 downgraded result=ok begun=3 limit=2 held
3.03 c2.1 c2.1-1 granted token=101 state=held held begun=2.1 limit=9
3.10 c2.1 c2.1-1 read element=e1 held
3.20 c1.1 c1.1-1 read element=e1 held
3.50 c2.1 c2.1-1 read element=e1 held
3.60 c1.1 c1.1-1 released result=ok begun limit=0 held
3.61 zookeeper c1.1-1 deleted path=/l name=x-__READ__0 session=a1 zxid=104 cause=delete
4.00 c2.1 c2.1-1 released result=ok begun limit=0 held
4.01 zookeeper c2.1-1 deleted path=/l name=x-__READ__1 session=b2 zxid=105 cause=delete
4.02 c3.1 c3.1-1 granted token=102 state=held held begun=2.2 limit=9
4.50 c3.1 c3.1-1 wrote element=e2 read=e1 token=102 accepted=true held
5.00 c3.1 c3.1-1 released result=ok begun limit=0 held
5.01 zookeeper c3.1-1 deleted path=/l name=x-__WRIT__2 session=d3 zxid=106 cause=delete
10.1 store - stored path=/l element=e1 read=- token=100
10.2 store - stored path=/l element=e2 read=e1 token=102
]])

-- Without an order: a stranger deletes the node of c1, which does not know it yet, and gives up;
-- its delete takes the node of c2, which has the lock meanwhile. c3 has it after that.
local UNFAIR = told(2, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=5
2.01 zookeeper c1.1-1 created path=/l name=lock session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held begun=2 limit=5
2.10 c2.1 c2.1-1 invoked path=/l kind=mutex way=acquire limit=5
2.11 c2.1 c2.1-1 queued position=2
2.20 c2.1 c2.1-2 invoked path=/l kind=mutex way=acquire limit=5
3.000 torture - fault id=1 name=robbery scope=path path=/l
3.010 zookeeper c1.1-1 deleted path=/l name=lock session=ff zxid=101 cause=delete
3.012 zookeeper c2.1-1 created path=/l name=lock session=b2 zxid=102
3.014 c2.1 c2.1-1 granted token=102 state=held held begun=2.1 limit=5
3.015 c1.1 c1.1-1 released result=ok begun limit=0 held
3.016 zookeeper c2.1-1 deleted path=/l name=lock session=a1 zxid=103 cause=delete
3.018 c2.1 c2.1-1 noticed state=lost held=3.016
3.019 c2.1 c2.1-1 released result=lost begun limit=1
3.020 torture - healed id=1
4.00 zookeeper c2.1-2 created path=/l name=lock session=b2 zxid=104
4.01 c2.1 c2.1-2 granted token=104 state=held held begun=2.2 limit=5
5.00 c2.1 c2.1-2 released result=ok begun limit=0 held
5.01 zookeeper c2.1-2 deleted path=/l name=lock session=b2 zxid=105 cause=delete
]])


-- The second claim of LAWFUL has another path, too: the nodes were made in one transaction.
local SECOND_PATH = [[
3.00 c2.1 c2.1-2 invoked path=/m kind=mutex way=acquire limit=5
3.01 zookeeper c2.1-2 created path=/m name=x-lock-7 session=b2 zxid=101
4.02 c2.1 c2.1-2 granted token=101 state=held held begun=3 limit=5
5.50 c2.1 c2.1-2 released result=ok begun limit=0 held
5.51 zookeeper c2.1-2 deleted path=/m name=x-lock-7 session=b2 zxid=104 cause=delete
]]

local PERMITS = told(3, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=permit way=acquire limit=5 permits=2
2.01 zookeeper c1.1-1 created path=/l name=x-permit-2-of-3-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held begun=2 limit=5
2.10 c2.1 c2.1-1 invoked path=/l kind=permit way=acquire limit=9 permits=2
2.11 zookeeper c2.1-1 created path=/l name=x-permit-2-of-3-1 session=b2 zxid=101
2.20 c3.1 c3.1-1 invoked path=/l kind=permit way=acquire limit=9 permits=1
2.21 zookeeper c3.1-1 created path=/l name=x-permit-1-of-3-2 session=d3 zxid=102
3.00 c1.1 c1.1-1 released result=ok begun limit=0 held
3.01 zookeeper c1.1-1 deleted path=/l name=x-permit-2-of-3-0 session=a1 zxid=103 cause=delete
3.02 c2.1 c2.1-1 granted token=101 state=held held begun=2.1 limit=9
3.03 c3.1 c3.1-1 granted token=102 state=held held begun=2.2 limit=9
4.00 c2.1 c2.1-1 released result=ok begun limit=0 held
4.01 zookeeper c2.1-1 deleted path=/l name=x-permit-2-of-3-1 session=b2 zxid=105 cause=delete
5.00 c3.1 c3.1-1 released result=ok begun limit=0 held
5.01 zookeeper c3.1-1 deleted path=/l name=x-permit-1-of-3-2 session=d3 zxid=106 cause=delete
]])

local TURNS = told(2, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=9 batch=2
2.01 zookeeper c1.1-1 created path=/l name=x-lock-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=102400 state=held held begun=2 limit=9
2.10 c2.1 c2.1-1 invoked path=/l kind=mutex way=acquire limit=9 batch=2
2.11 zookeeper c2.1-1 created path=/l name=x-lock-1 session=b2 zxid=101
2.12 c2.1 c2.1-1 queued position=2
2.20 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=9 batch=2
2.20 c1.1 c1.1-2 queued position=2
2.30 c1.1 c1.1-3 invoked path=/l kind=mutex way=acquire limit=9 batch=2
2.30 c1.1 c1.1-3 queued position=3
3.00 c1.1 c1.1-1 released result=ok begun limit=0 held
3.00 c1.1 c1.1-2 granted token=102401 state=held held begun=2.2 limit=9
3.01 zookeeper c1.1-3 created path=/l name=x-lock-2 session=a1 zxid=102
4.00 c1.1 c1.1-2 released result=ok begun limit=0 held
4.01 zookeeper c1.1-1 deleted path=/l name=x-lock-0 session=a1 zxid=103 cause=delete
4.02 c2.1 c2.1-1 granted token=103424 state=held held begun=2.1 limit=9
5.00 c2.1 c2.1-1 released result=ok begun limit=0 held
5.01 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=104 cause=delete
5.02 c1.1 c1.1-3 granted token=104448 state=held held begun=2.3 limit=9
6.00 c1.1 c1.1-3 released result=ok begun limit=0 held
6.01 zookeeper c1.1-3 deleted path=/l name=x-lock-2 session=a1 zxid=105 cause=delete
]])


local KEPT = told(2, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=5 keep=3
2.01 zookeeper c1.1-1 created path=/l name=x-lock-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=102400 state=held held begun=2 limit=5
2.50 c1.1 c1.1-1 released result=ok begun limit=0 held
3.00 c1.1 c1.1-2 invoked path=/l kind=mutex way=try limit=5 keep=3
3.00 c1.1 c1.1-2 granted token=102401 state=held held begun=3 limit=5
3.50 c1.1 c1.1-2 released result=ok begun limit=0 held
5.00 c2.1 c2.1-1 invoked path=/l kind=mutex way=try limit=5 keep=0
5.01 zookeeper c2.1-1 created path=/l name=x-lock-1 session=b2 zxid=101
5.02 zookeeper c1.1-1 deleted path=/l name=x-lock-0 session=a1 zxid=102 cause=delete
5.03 c2.1 c2.1-1 granted token=103424 state=held held begun=5 limit=5
6.00 c2.1 c2.1-1 released result=ok begun limit=0 held
6.01 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=103 cause=delete
]])


-- c1 waits in a condition, c2 signals and lets go, c1 is back: its node says who was first.
local CONDITION = told(2, [[
2.00 c1.1 c1.1-1 invoked path=/l kind=mutex way=acquire limit=5
2.01 zookeeper c1.1-1 created path=/l name=x-lock-0 session=a1 zxid=100
2.02 c1.1 c1.1-1 granted token=100 state=held held begun=2 limit=5
3.00 c1.1 c1.1-1 released result=ok begun limit=0 held
3.00 c1.1 c1.1-2 invoked path=/l kind=mutex way=wait limit=9 after=c1.1-1
3.01 zookeeper c1.1-1 created path=/l-condition-c name=x-lock-0 session=a1 zxid=101
3.01 zookeeper c1.1-1 deleted path=/l name=x-lock-0 session=a1 zxid=101 cause=delete
4.00 c2.1 c2.1-1 invoked path=/l kind=mutex way=acquire limit=5
4.01 zookeeper c2.1-1 created path=/l name=x-lock-1 session=b2 zxid=102
4.02 c2.1 c2.1-1 granted token=102 state=held held begun=4 limit=5
4.50 c2.1 c2.1-1 signalled count=1 begun=4.49 limit=1 held
4.51 zookeeper c1.1-1 created path=/l name=x-lock-2 session=a1 zxid=103
5.00 c2.1 c2.1-1 released result=ok begun limit=0 held
5.01 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=104 cause=delete
5.02 c1.1 c1.1-2 granted token=103 state=held held begun=3 limit=9
5.03 zookeeper c1.1-1 deleted path=/l-condition-c name=x-lock-0 session=a1 zxid=105 cause=delete
6.00 c1.1 c1.1-2 released result=ok begun limit=0 held
6.01 zookeeper c1.1-1 deleted path=/l name=x-lock-2 session=a1 zxid=106 cause=delete
]])


-- The history with the changes: { from, to, …, without = a pattern or several, of lines,
-- plus = lines }.
local function changed(text, changes)
    local without = changes.without or {}
    for _, pattern in ipairs(type(without) == "table" and without or { without }) do
        local kept = {}
        for line in text:gmatch("[^\n]+\n") do
            if not line:find(pattern) then kept[#kept + 1] = line end
        end
        text = table.concat(kept)
    end
    for i = 1, #changes, 2 do
        local count
        text, count = text:gsub(changes[i], changes[i + 1])
        assert(count > 0, "not in the history: " .. changes[i])
    end
    return text .. (changes.plus or "")
end


-- A fault that begins and ends then.
local function fault(from, to, fields)
    return ("%s torture - fault id=1 %s\n%s torture - healed id=1\n"):format(from, fields, to)
end


local function check_text(text)
    local events = {}
    for at, line in text:gmatch("([%d.]+)([^\n]+)") do
        line = (line .. " "):gsub(" held ", " held=" .. at .. " ")
            :gsub(" begun ", " begun=" .. at .. " "):gsub(" $", "")
        events[#events + 1] = history.parse(at .. line:gsub(" +", "\t"))
    end
    return check(history.sort(events))
end


-- The names of the rules that are violated.
local function violated(report)
    local names = {}
    for _, rule in ipairs(report.rules) do
        if rule.violations > 0 then names[#names + 1] = rule.name end
    end
    return names
end


local function texts(report)
    local lines = {}
    for i, each in ipairs(report.violations) do lines[i] = each.rule .. ": " .. each.text end
    return table.concat(lines, "\n")
end


local lawful -- what the histories of a group begin with


-- These rules are violated, and no others; of one rule the first violation says that.
local function breaks(names, test, changes, text)
    local before = lawful
    it(test, function()
        local report = check_text(changed(before, changes))
        assert.same(names, violated(report), texts(report))
        assert.matches(text or "", #names == 1 and report.violations[1].text or texts(report))
    end)
end


local function passes(name, changes, more)
    local before = lawful
    it(name, function()
        local report = check_text(changed(before, changes))
        assert.same({}, violated(report), texts(report))
        if more then more(report) end
    end)
end


local function fails(rule, name, changes, text)
    breaks({ rule }, ("%s: %s"):format(rule, name), changes, text)
end


-- What no history does without breaking "order", too.
local function fails_with_order(rule, name, changes, text)
    breaks({ "order", rule }, ("%s: %s"):format(rule, name), changes, text)
end


describe("a history of an unfair lock", function()
    lawful = UNFAIR

    passes("whose node a stranger deleted, so that its holder deletes the next one's", {})

    passes("that was not granted in order of arrival", {
        "2.10 c2.1", "2.30 c2.1", "2.11 c2.1 c2.1%-1", "2.25 c2.1 c2.1-2",
        "begun=2.1 ", "begun=2.3 ",
    })

    fails("own", "once more, without a reason", {
        without = "5.00 c2.1",
        "5.01 (z.-)session=b2", "4.01 %1session=a1",
        plus = "4.015 c2.1 c2.1-2 noticed state=lost held=4.012\n"
            .. "4.02 c2.1 c2.1-2 released result=lost begun limit=1\n",
    }, "lock of session b2 was deleted by a1")
end)


describe("a history of a condition", function()
    lawful = CONDITION

    passes("in which one waits, is signalled, and is back", {})

    passes("in which one waits in vain, and the first of those who wait is nobody's turn", {
        without = { "=103", "6.0[01] " },
        plus = "5.02 c1.1 c1.1-2 failed code=timeout begun=3 limit=2\n",
    })

    fails_with_order("gone", "who has another's node, and did not wait", { " after=c1.1%-1", "" },
                     "token 103 is of somebody else's node")

    fails_with_order("overlap", "who is back before the other has let go", {
        "5.02 c1.1", "4.90 c1.1",
    }, "c1.1%-2 was granted 0.100 s before its end")

    fails("gone", "whose node stays with those who wait", {
        without = { "=103", "6.0[01] " },
        "5.03 zookeeper", "8.50 zookeeper",
        plus = "5.02 c1.1 c1.1-2 failed code=timeout begun=3 limit=2\n",
    }, "its node x%-lock%-0 stayed")
end)


describe("a history that breaks one rule", function()
    lawful = LAWFUL

    fails("order", "a grant before its turn", { "4.02 c2.1", "4.00 c2.1" },
          "granted 0.010 s before it was its turn")

    fails("order", "a grant that was never first in line", {
        without = { "5.00 c2.1", "10.2 " },
        "5.51 (z.-)zxid=103 cause=delete", "3.90 %1zxid=101.5 cause=close",
        "4.02 (c2.1.-)state=held held", "4.10 %1state=lost",
        "5.50 (.-)result=ok(.-) held\n", "5.50 %1result=lost%2\n",
        plus = fault("3.80", "3.95", "name=expire scope=c2 session=b2"),
    }, "never its turn")

    fails("order", "a token of somebody else's node", {
        "2.01 zookeeper c1.1%-1", "2.01 zookeeper c1.1-7",
    }, "somebody else's node")

    fails("order", "a token of no node", {
        without = { "5.00 c2.1", "10.2 " },
        "token=101 state", "token=777 state",
    }, "no lock node")

    -- The node goes by its own session, as if the library let go too early.
    fails("overlap", "two that are certain", {
        "4.00 c1.1", "4.014 c1.1", "4.02 c2.1", "4.012 c2.1",
    }, "before its end")

    fails("overlap", "a holder that ran on, with no fault on record", {
        without = "c1.1%-1 released",
        "4.01 (zookeeper.-)cause=delete", "4.01 %1cause=close",
        plus = "4.40 c1.1 c1.1-1 noticed state=lost\n",
    }, "no fault explains it")

    -- The node was not yet gone: a grant that does not make one of its own.
    fails_with_order("token", "the same token twice", {
        without = "queued",
        plus = [[
            4.001 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=5
            4.002 c1.1 c1.1-2 granted token=100 state=held held begun=4.001 limit=5
            4.004 c1.1 c1.1-2 released result=ok begun limit=0 held
        ]],
    }, "token 100 after a grant with 100")

    fails("fifo", "who came later is served before", {
        plus = [[
            5.60 c2.1 c2.1-2 invoked path=/l kind=mutex way=acquire limit=5
            5.62 c2.1 c2.1-2 queued position=1
            5.64 zookeeper c2.1-2 created path=/l name=x-lock-3 session=b2 zxid=111
            5.63 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=5
            5.64 zookeeper c1.1-2 created path=/l name=x-lock-2 session=a1 zxid=110
            5.65 c1.1 c1.1-2 granted token=110 state=held held begun=5.63 limit=5
            5.70 c1.1 c1.1-2 released result=ok begun limit=0 held
            5.71 zookeeper c1.1-2 deleted path=/l name=x-lock-2 session=a1 zxid=112 cause=delete
            5.72 c2.1 c2.1-2 granted token=111 state=held held begun=5.6 limit=5
            5.80 c2.1 c2.1-2 released result=ok begun limit=0 held
            5.81 zookeeper c2.1-2 deleted path=/l name=x-lock-3 session=b2 zxid=113 cause=delete
        ]],
    }, "already stood in line")

    fails("reentry", "a second handle with a token of its own", {
        plus = [[
            2.10 c1.1 c1.1-2 invoked path=/m kind=mutex way=reenter limit=5 inside=c1.1-1
            2.11 zookeeper c1.1-2 created path=/m name=x-lock-0 session=a1 zxid=90
            2.12 c1.1 c1.1-2 granted token=90 state=held held begun=2.1 limit=5
            2.13 c1.1 c1.1-2 released result=ok begun limit=0 held
            2.14 zookeeper c1.1-2 deleted path=/m name=x-lock-0 session=a1 zxid=91 cause=delete
        ]],
    }, "inside of a hold with 100")

    fails("deadline", "an acquire that outlives its deadline", {
        plus = [[
            6.00 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=0.5
            7.20 c1.1 c1.1-2 failed code=timeout begun=6 limit=0.5
        ]],
    }, "failed after 1.200 s, limit 0.5")

    fails("deadline", "a release that waits", { "5.50 (c2.1.-)begun", "5.50 %1begun=4.6" },
          "released after 0.900 s")

    fails("gone", "a node that stays after a wait that timed out", {
        plus = [[
            5.60 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=0.5
            5.61 zookeeper c1.1-2 created path=/l name=x-lock-5 session=a1 zxid=110
            6.10 c1.1 c1.1-2 failed code=timeout begun=5.6 limit=0.5
            8.90 zookeeper c1.1-2 deleted path=/l name=x-lock-5 session=a1 zxid=111 cause=delete
        ]],
    }, "x%-lock%-5 stayed 2.800 s")

    -- The node goes by an expiry, and the holder is certain a second longer.
    fails("notice", "a holder that is certain after its session expired", {
        without = { "c2.1%-1", "10.2 " },
        "4.00 c1.1", "5.00 c1.1", "cause=delete", "cause=close",
    }, "certain of its lock 0.990 s after")

    fails("notice", "a watch that never told that the node was deleted", {
        without = { "c2.1%-1", "10.2 " },
        "4.00 c1.1", "5.00 c1.1", "session=a1 zxid=102", "session=ff zxid=102",
        plus = fault("4.00", "4.02", "name=node_deleted scope=path path=/l"),
    }, "certain of its lock")

    fails("handoff", "a free lock that nobody gets", {
        without = { "c2.1%-1 [^ic]", "10.2 " },
        plus = [[
            7.90 c2.1 c2.1-1 failed code=timeout begun=3 limit=5
            7.95 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=103 cause=delete
        ]],
    }, "its turn for 3.890 s, and it was not served")

    fails("fence", "a stale write that the store took", {
        without = "5.00 c2.1",
        plus = "10.3 store - stored path=/l element=e3 read=e2 token=100\n",
    }, "token 100 after 101")

    fails("order", "a part of a multi-lock that is granted before the other", {
        plus = SECOND_PATH:gsub("4.02 ", "3.03 "),
    }, "before it was its turn")

    fails("fence", "a holder's write that was refused", {
        without = "10.2 ",
        "token=101 accepted=true", "token=101 accepted=false",
    }, "the holder's write e2 was refused")

    fails("update", "an element that another's write has lost", {
        "element=e2 read=e1", "element=e2 read=-",
    }, "e1 was added and is lost")

    -- The store was not shown the token of c2 before c2 read.
    fails("update", "an element of a holder that was late, which the next one overwrites", {
        without = { "c1.1%-1 released", "c1.1%-1 wrote" },
        "cause=delete\n4", "cause=close\n4", "element=e2 read=e1", "element=e2 read=-",
        plus = fault("3.55", "4.50", "name=stop,_long scope=c1") .. [[
            4.51 c1.1 c1.1-1 noticed state=lost
            4.52 c1.1 c1.1-1 wrote element=e1 read=- token=100 accepted=true
        ]],
    }, "e1 was added and is lost")

    -- c3 is nobody of ours: it deletes the node of a waiter.
    fails("own", "a node that was deleted by another", {
        without = { "c2.1%-1 [^icq]", "10.2 " },
        plus = [[
            3.70 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=c3 zxid=101.5 cause=delete
            3.71 c2.1 c2.1-1 failed code=interrupted begun=3 limit=5
        ]],
    }, "of session b2 was deleted by c3")

    fails("residue", "a node that is left", { "nodes=0", "nodes=1" }, "1 lock nodes")

    fails("residue", "a watch that is left", { "watches=0", "watches=3" }, "3 watches")

    fails("sound", "an error in a client", {
        plus = "8.00 c1.1 - error message=attempt%20to\n",
    }, "c1.1: attempt to")

    fails("sound", "a client that ended otherwise", {
        without = "c2.1 %- ended",
    }, "c2.1 did not end in order")

    fails("sound", "a wait without an end", {
        plus = "8.00 c2.1 c2.1-9 invoked path=/l kind=mutex way=acquire\n",
    }, "never ended")

    fails("sound", "clients that get nothing", {
        without = { "zookeeper", "wrote", "released", "10.[12] " },
        " granted token=%d+ state=held", " failed code=timeout",
    }, "nobody was ever granted")

    fails("moves", "a session that expires when an address changes", {
        plus = "8.00 torture - fault id=1 name=address_changed scope=c1\n"
            .. "8.01 torture - healed id=1\n8.50 c1.1 - state state=expired\n",
    }, "the session of c1.1 expired")

    -- The second grant is by a node that nobody knows.
    local BY_NONE = { "4.02(.-)token=101", "4.02%1token=107" }
    local LOST = "3.01 zookeeper - lost path=/l name=x session=b2 zxid=107 what=create"
        .. " servers=1,2 over=4.00\n"

    fails("order", "a grant by a node that is in no log", BY_NONE, "token 107 is of no lock node")

    passes("that the servers lost", { BY_NONE[1], BY_NONE[2], plus = LOST },
           function(report) assert.equal(1, report.lost) end)

    fails("update", "which the servers lost, and an update with it", {
        BY_NONE[1], BY_NONE[2], "read=e1 token=101\n", "read=- token=101\n", plus = LOST,
    })

    it("is not lost among the lawful", function()
        local report = check_text(LAWFUL)
        assert.same({}, violated(report), texts(report))
        assert.equal(19, #report.rules)
    end)
end)


describe("a history of a semaphore", function()
    lawful = PERMITS

    passes("is lawful", {})

    passes("is lawful though the one behind is told first", { "3%.03 c3", "3.015 c3" })

    fails_with_order("overlap", "more permits than there are", { "3%.02 c2", "2.50 c2" },
                     "before it was its turn")

    fails("order", "a small request passes a big one that waits", { "3%.03 c3", "2.50 c3" },
          "before it was its turn")

    fails_with_order("overlap", "a node of another kind", { "x%-permit%-1%-of%-3%-2", "x-lock-2" },
                     "wants to permit, by the node")

    fails("handoff", "who has its permits is not served", {
        "3%.03 c3", "8.03 c3", "5%.00 c3", "8.50 c3", "5%.01 zoo", "8.51 zoo",
    }, "and it was not served")
end)


describe("a history of turns", function()
    lawful = TURNS

    passes("is lawful", {}, function(report)
        assert.same({ 3, 2, 1 }, { report.figures.turns, report.figures.longest,
                                   report.figures.handed })
        assert.equal(1, report.figures.measures.handover:count())
    end)

    passes("in which a waiter gives up, and the next one of its process has its node", {
        "([56].0[02] c1.1 c1.1)%-3", "%1-4", "begun=2.3 ", "begun=2.4 ",
        plus = [[
            2.40 c1.1 c1.1-4 invoked path=/l kind=mutex way=acquire limit=9 batch=2
            3.20 c1.1 c1.1-3 failed code=timeout begun=2.3 limit=0.9
        ]],
    })

    fails("token", "two grants of a turn with one token", { "102401", "102400" },
          "token 102400 after a grant with 102400")

    -- c1 holds two seconds longer, and its second grant is one more than a batch.
    local function late(changes)
        local times = { "batch=2", "batch=1", "6%.(0%d)", "8.%1", "5%.(0%d)", "7.%1",
                        "4%.(0%d)", "6.%1", "3%.(0%d)", "5.%1" }
        for i, each in ipairs(times) do changes[i] = each end
        return changes
    end

    fails("turns", "more grants than a batch, though another process waits", late{},
          "grant 2 of a turn of 1, and x%-lock%-1 waited")

    passes("in which a holder enters again in the moment in which its node is deleted", {
        without = "6.01 zoo",
        "6.00 c1.1", "5.93 c1.1",
        "(5.93 [^\n]+)result=ok begun limit=0 held", "%1result=lost begun",
        plus = fault("5.89", "5.92", "name=node_deleted scope=path path=/l") .. [[
            5.90 zookeeper c1.1-3 deleted path=/l name=x-lock-2 session=c9 zxid=105 cause=delete
            5.901 c1.1 c1.1-4 invoked path=/l kind=mutex way=reenter limit=5 inside=c1.1-3 batch=2
            5.902 c1.1 c1.1-4 granted token=104448 state=held begun=5.901 limit=5
            5.903 c1.1 c1.1-4 noticed state=lost
            5.903 c1.1 c1.1-3 noticed state=lost
            5.91 c1.1 c1.1-4 released result=lost begun limit=0
        ]],
    })

    passes("in which a turn goes on after its batch, for nobody else waits", late{
        without = { "c2.1 c2.1%-1", "zookeeper c2.1%-1" },
    })

    passes("in which one goes on, for its process was in trouble since another one came", late{
        plus = fault("2.15", "4.50", "name=blackhole scope=c1"),
    })

    fails("turns", "a grant that is left out", { "102401", "102402", "batch=2", "batch=3" },
          "grant 3 of its turn, after grant 1")

    fails("turns", "a turn that does not begin with its first grant", { "104448", "104449" },
          "grant 2 of its turn, after none")

    fails("turns", "who asked later is served before, in one turn", {
        "2.20 (c1.1 c1.1%-2 inv)", "1.90 %1",
    }, "asked before c1.1%-1 and came after it")

    fails("order", "a turn by the node of another session", {
        "lock%-2 session=a1", "lock-2 session=b2",
    }, "token 104448 is of somebody else's node")

    fails("order", "a turn by a node that was gone when the claim asked", {
        plus = [[
            6.10 c1.1 c1.1-4 invoked path=/l kind=mutex way=acquire limit=9 batch=2
            6.11 c1.1 c1.1-4 granted token=104449 state=lost begun=6.1 limit=9
            6.11 c1.1 c1.1-4 released result=lost begun limit=0
        ]],
    }, "token 104449 is of somebody else's node")

    fails("order", "a turn by no node", { "token=104448", "token=1044480" },
          "token 1044480 is of no lock node")

    fails("overlap", "a hand-over before the holder has let go", {
        "3.00 c1.1 c1.1%-2 granted(.-) held", "2.90 c1.1 c1.1-2 granted%1 held=3.00",
    }, "c1.1%-2 was granted 0.100 s before its end")

    -- The second of c1 waits in vain beside the first one's node.
    fails("handoff", "a turn that is handed to nobody", {
        without = { "c1.1%-2 granted", "4.00 c1.1" },
        "6%.(0%d)", "8.%1", "5%.(0%d)", "7.%1", "4%.02", "6.52",
        "4.01 zoo", "6.51 zoo",
        plus = "6.50 c1.1 c1.1-2 failed code=timeout begun=2.2 limit=4.3\n",
    }, "its turn, x%-lock%-0, was nobody's for 3.510 s")

    fails("handoff", "a turn that does not begin", { "6%.(0%d)", "8.%1", "5.02 c1.1", "7.52 c1.1" },
          "its turn, x%-lock%-2, was nobody's for 2.510 s")

    fails("gone", "a node that stays when nobody of its process waits", {
        without = { "5.02 c1.1", "6.00 " },
        "5%.(0%d)", "8.%1", "6.01 zoo", "7.90 zoo",
        plus = "4.80 c1.1 c1.1-3 failed code=timeout begun=2.3 limit=2.5\n",
    }, "its node x%-lock%-2 stayed 3.100 s")
end)


describe("a history of a lock that is kept", function()
    lawful = KEPT

    passes("is lawful", {}, function(report)
        assert.same({ 1, 1, 0 }, { report.figures.kept, report.figures.inherited,
                                   report.figures.marked })
        assert.equal(1, report.figures.measures.way:count())
    end)

    -- Nobody comes but c1.
    local ALONE = { "c2.1%-1" }

    passes("that goes after its time", { without = ALONE, "5.02 zoo", "6.51 zoo" })

    fails("kept", "a node that stays for longer", { without = ALONE, "5.02 zoo", "8.60 zoo" },
          "its node x%-lock%-0 was kept 5.100 s, not 3.000")

    fails("kept", "a node that stays after who does not keep it", {
        without = ALONE,
        "(3.00 c1.1.-)keep=3", "%1keep=0", "5.02 zoo", "5.60 zoo",
    }, "its node x%-lock%-0 was kept 2.100 s, not 0.000")

    fails("kept", "a node that had its second grant after its time", {
        without = ALONE,
        "(2.00 c1.1.-)keep=3", "%1keep=0.5", "3(.%d%d c1.1)", "6%1", "begun=3 ", "begun=6 ",
        "5.02 zoo", "8.00 zoo",
    }, "was kept 3.500 s, not 0.500")

    -- c2 waits, and has the lock only when the time is over.
    fails("kept", "a node that stays though another waits for it", {
        "3.50 c1", "3.20 c1", "keep=3", "keep=5", "5.00 c2.1", "3.50 c2.1", "5.01 zoo", "3.51 zoo",
        "5.02 zoo", "5.60 zoo", "5.03 c2.1", "5.61 c2.1", "begun=5 ", "begun=3.5 ",
    }, "nobody held x%-lock%-0, and x%-lock%-1 waited 2.090 s")

    fails("kept", "a node that stays though another waited for it, and gave up", {
        without = { "c2.1%-1 granted", "6.00 c2" },
        "(5.00 c2.1.-)way=try", "%1way=acquire",
        "3.50 c1", "3.20 c1", "keep=3", "keep=5", "5.00 c2.1", "3.50 c2.1", "5.01 zoo", "3.51 zoo",
        "5.02 zoo", "6.20 zoo", "6.01 zoo", "5.71 zoo",
        plus = "5.70 c2.1 c2.1-1 failed code=timeout begun=3.5 limit=2.2\n",
    }, "nobody held x%-lock%-0, and x%-lock%-1 waited")

    passes("that stays while its process is in trouble", {
        "3.50 c1", "3.20 c1", "keep=3", "keep=5", "5.00 c2.1", "3.50 c2.1", "5.01 zoo", "3.51 zoo",
        "5.02 zoo", "5.60 zoo", "5.03 c2.1", "5.61 c2.1", "begun=5 ", "begun=3.5 ",
        plus = fault("3.60", "3.70", "name=blackhole scope=c1"),
    })

    fails("kept", "a grant that is left out", { "102401", "102402" },
          "grant 3 of its node, after grant 1")

    fails("kept", "a node whose session has it once more, and another waits", {
        "2.50 c1.1", "4.10 c1.1", "3.00 c1.1", "4.20 c1.1", "begun=3 ", "begun=4.2 ",
        "3.50 c1.1", "4.60 c1.1",
        "5.00 c2.1", "2.09 c2.1", "5.01 zoo", "2.10 zoo", "begun=5 ", "begun=2.09 ",
    }, "has a node that was kept, and x%-lock%-1 waited")

    passes("which its session has once more while the news of another is under way", {
        "5.00 c2.1", "2.96 c2.1", "5.01 zoo", "2.97 zoo", "begun=5 ", "begun=2.96 ",
        "5.02 zoo", "3.52 zoo", "5.03 c2.1", "3.53 c2.1",
    })

    fails_with_order("token", "two grants of a node with one token", { "102401", "102400" },
          "token 102400 after a grant with 102400")

    fails("order", "a second grant by the node of another session", {
        "lock%-0 session=a1 zxid=100", "lock-0 session=b2 zxid=100",
        "lock%-0 session=a1 zxid=102", "lock-0 session=b2 zxid=102",
    }, "token 102401 is of somebody else's node")

    fails("order", "a second grant by a node that was given back before it was asked for", {
        without = ALONE,
        "5.02 zoo", "2.90 zoo", "(granted token=102401 state=)held held", "%1suspect",
        "(3.50 .-) held\n", "%1\n",
    }, "token 102401 is of somebody else's node")

    breaks({ "kept", "notice" }, "kept: a grant by a node that was given back meanwhile", {
        without = ALONE,
        "3.00 c1.1 c1.1%-2 invoked", "2.80 c1.1 c1.1-2 invoked", "begun=3 ", "begun=2.8 ",
        "5.02 zoo", "2.90 zoo", "3.50 c1", "3.01 c1",
        plus = "3.005 c1.1 c1.1-2 noticed state=lost\n",
    }, "granted 0.100 s after x%-lock%-0 was given back")

    fails("order", "the first grant by another's node", { "zookeeper c1.1%-1", "zookeeper c1.1-7" },
          "token 102400 is of somebody else's node")

    -- A stranger deletes the node a moment before the second grant, and c2, which waits, has it.
    local ROBBED = {
        "5.02 (zoo.-)a1", "2.97 %1ff", "5.00 c2.1", "2.95 c2.1", "5.01 zoo", "2.96 zoo",
        "5.03 c2.1", "2.98 c2.1", "begun=5 ", "begun=2.95 ", "zxid=102", "zxid=101.5",
        "3.50 c1.1 c1.1%-2 rel(.-) held", "3.03 c1.1 c1.1-2 rel%1",
        plus = "3.02 c1.1 c1.1-2 noticed state=lost held=3.01\n"
            .. fault("2.96", "2.98", "name=node_deleted scope=path path=/l"),
    }

    passes("whose node a stranger took, and it is had once more before its session hears", ROBBED,
           function(report) assert.equal(1, report.figures.explained) end)

    fails("kept", "a node that is had once more after it said that it is held", {
        plus = "2.40 zookeeper c1.1-1 marked path=/l name=x-lock-0 session=a1 zxid=100.5\n",
    }, "granted after x%-lock%-0 had said that it is held")

    fails("kept", "a node that is kept after it said that it is held", {
        without = { "c2.1%-1", "c1.1%-2" },
        plus = "2.40 zookeeper c1.1-1 marked path=/l name=x-lock-0 session=a1 zxid=100.5\n",
    }, "its node x%-lock%-0 was kept 2.520 s, not 0.000")

    -- c1 keeps for long. The try of c2 ends at 5.04 in vain.
    local TRY = {
        "5.03 (c2.1 c2.1%-1) granted.-\n", "5.04 %1 failed code=timeout begun=5 limit=5\n",
        "keep=3", "keep=30", "5.02 zoo", "7.00 zoo",
    }

    local function tried(changes)
        for i, each in ipairs(TRY) do table.insert(changes, i, each) end
        return changes
    end

    fails("kept", "a try that takes a kept node for a held one", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
    }, "a try found x%-lock%-0, which was only kept, taken")

    fails("kept", "a try that asks, and is not heard", tried{
        without = "6.00 c2.1", "6.01 zoo", "5.05 zoo",
    }, "a try found x%-lock%-0, which was only kept, taken")

    local NAME = "_c_0a-0b-0c-4000-000000000001-lock-0" -- of a node that may be kept

    fails("kept", "a try that does not ask whether such a node is held", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        "3.50 c1.1", "5.20 c1.1", "x%-lock%-0", NAME,
    }, "a try found " .. NAME:gsub("%-", "%%-") .. ", and did not ask")

    passes("that a try does not ask, for it is in trouble", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        "3.50 c1.1", "5.20 c1.1", "x%-lock%-0", NAME,
        plus = fault("4.90", "4.95", "name=blackhole scope=c2"),
    })

    passes("that a try finds held", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        "3.50 c1.1", "5.03 c1.1",
    })

    passes("that a try finds when it is about to go", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        "3.50 c1.1", "4.99 c1.1", "7.00 zoo", "5.05 zoo",
    })

    passes("that a try finds with somebody else in line", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        plus = [[
            4.98 c2.1 c2.1-2 invoked path=/l kind=mutex way=acquire limit=5 keep=0
            4.99 zookeeper c2.1-2 created path=/l name=x-lock-2 session=b2 zxid=100.8
            5.40 c2.1 c2.1-2 failed code=interrupted begun=4.98 limit=5
            5.41 zookeeper c2.1-2 deleted path=/l name=x-lock-2 session=b2 zxid=101.8 cause=delete
        ]],
    })

    passes("that a try finds while its process is in trouble", tried{
        without = { "6.00 c2.1", "x%-lock%-1" },
        plus = fault("4.90", "4.95", "name=blackhole scope=c1"),
    })
end)


describe("a history of a read-write lock that breaks a rule", function()
    lawful = SHARED

    fails_with_order("overlap", "a reader beside a writer", { "3.03 c2.1", "2.90 c2.1" },
                     "c2.1%-1 was granted 0.700 s before its end")

    fails_with_order("overlap", "two writers", {
        without = "c2.1%-1",
        "4.02 c3.1", "2.60 c3.1",
    }, "c3.1%-1 was granted 1.000 s before its end")

    -- It lets go too early, by its own session: in ZooKeeper's order all is well.
    fails("overlap", "a reader that is certain beside a writer", {
        "4.00 c2.1", "4.014 c2.1", "4.02 c3.1", "4.012 c3.1",
    }, "c3.1%-1 was granted 0.002 s before its end")

    fails_with_order("overlap", "a writer that was granted while a reader ahead holds", {
        "4.02 c3.1", "3.90 c3.1",
    }, "granted 0.110 s before it was its turn")

    fails("order", "a writer that was granted while a reader's node ahead lives", {
        "4.02 c3.1", "4.002 c3.1",
    }, "granted 0.008 s before it was its turn")

    fails("order", "a reader by a writer's node", { "x%-__READ__1", "x-__WRIT__1" },
          "wants to read, by the node x%-__WRIT__1")

    fails_with_order("fifo", "a reader that overtook a waiting writer", {
        plus = [[
            3.20 c2.1 c2.1-2 invoked path=/l kind=read way=acquire limit=5
            3.21 zookeeper c2.1-2 created path=/l name=x-__READ__3 session=b2 zxid=103.5
            3.30 c2.1 c2.1-2 granted token=103.5 state=held held begun=3.2 limit=5
            3.40 c2.1 c2.1-2 released result=ok begun limit=0 held
            3.41 zookeeper c2.1-2 deleted path=/l name=x-__READ__3 session=b2 zxid=103.6
        ]],
    }, "c2.1%-2 came later and was granted before")

    fails_with_order("token", "a reader with the token of a writer before", {
        plus = [[
            5.001 c2.1 c2.1-2 invoked path=/l kind=read way=acquire limit=5
            5.002 c2.1 c2.1-2 granted token=102 state=held held begun=5.001 limit=5
            5.004 c2.1 c2.1-2 released result=ok begun limit=0 held
        ]],
    }, "token 102 after a grant with 102")

    fails("reentry", "a reader that was let in to write", {
        plus = [[
            3.20 c2.1 c2.1-2 invoked path=/l kind=write way=reenter limit=5 inside=c2.1-1
            3.21 c2.1 c2.1-2 granted token=101 state=held held begun=3.2 limit=5
            3.22 c2.1 c2.1-2 released result=ok begun limit=0 held
        ]],
    }, "a writer inside of a hold to read")

    fails("handoff", "a downgrade that lets nobody in", {
        without = "c2.1%-1 read",
        "3.03 c2.1", "6.03 c2.1", "4.02 c3.1", "6.12 c3.1", "4.00 c2.1", "6.10 c2.1",
        "4.01 z", "6.11 z", "4.50 c3.1", "6.50 c3.1", "5.00 c3.1", "7.00 c3.1",
        "5.01 z", "7.01 z",
    }, "its turn for 3.020 s, and it was not served")

    fails("downgrade", "it lost its place", { "x%-__READ__0", "x-__READ__7" },
          "x%-__WRIT__0 lost its place: it became x%-__READ__7")

    fails("downgrade", "it is a writer's node still", {
        without = { "became", "c2.1%-1 read" },
        "x%-__READ__0", "x-__WRIT__0", "3.03 c2.1", "3.62 c2.1",
    }, "was told that it reads, by the node x%-__WRIT__0")

    fails("downgrade", "it is told before it is so", { "3.02 c1.1", "3.002 c1.1" },
          "was told that it reads")

    fails("downgrade", "it is not carried out", {
        without = { "became", "c2.1%-1 re" },
        "x%-__READ__0", "x-__WRIT__0", "downgraded result=ok",
        "downgraded result=timeout",
        "c2.1%-1 granted.-\n", "c2.1-1 failed code=timeout begun=2.1 limit=9\n",
        "4.01 z", "3.04 z", "zxid=105", "zxid=103.5", "3.60 c1.1", "6.00 c1.1",
        "3.61 z", "6.01 z", "4.02 c3.1", "6.02 c3.1", "4.50 c3.1", "6.50 c3.1",
        "5.00 c3.1", "7.00 c3.1", "5.01 z", "7.01 z",
    }, "was a writer still after 3.000 s")

    fails("downgrade", "it is refused, without a reason", {
        without = { "became", "%-1 read" },
        "x%-__READ__0", "x-__WRIT__0", "downgraded result=ok",
        "downgraded result=unsupported", "3.03 c2.1", "3.62 c2.1",
    }, "was refused, as x%-__WRIT__0")

    fails("downgrade", "nobody asked for it", {
        without = { "downgrad", "c2.1%-1 read" },
        "3.03 c2.1", "3.62 c2.1",
    }, "did not ask for it")

    fails("downgrade", "a reader that was a writer writes", {
        "element=e2 read=e1", "element=e2 read=e9",
        plus = [[
            3.30 c1.1 c1.1-1 wrote element=e9 read=e1 token=100 accepted=true held
            10.15 store - stored path=/l element=e9 read=e1 token=100
        ]],
    }, "a reader wrote e9")

    fails("steady", "a value that changes under a reader", { "(3.50 c2.1.-)=e1", "%1=e2" },
          "e1 became e2 while it held")
end)


describe("a lawful history of a read-write lock", function()
    lawful = SHARED

    passes("with a multi-lock, which waits in one line while it is first in another", {
        plus = SECOND_PATH,
    })

    passes("with a downgrade: a waiting reader comes in, a waiting writer stays", {},
           function(report)
        assert.same({ mutex = 0, read = 1, write = 2, permit = 0 }, report.figures.granted)
        assert.equal(1, report.figures.downgrades)
        assert.equal(3, report.figures.reads)
        assert.equal(0, #report.explained)
        assert.is_true(math.abs(report.figures.measures.handoff:max() - 0.02) < 1e-6)
        assert.is_true(math.abs(report.figures.measures.downgrade:max() - 0.01) < 1e-6)
    end)

    passes("with two readers together, who need not be granted in their order", {
        plus = [[
            6.00 c1.1 c1.1-2 invoked path=/l kind=read way=acquire limit=5
            6.01 zookeeper c1.1-2 created path=/l name=x-__READ__3 session=a1 zxid=110
            6.02 c2.1 c2.1-2 invoked path=/l kind=read way=acquire limit=5
            6.03 zookeeper c2.1-2 created path=/l name=x-__READ__4 session=b2 zxid=111
            6.04 c2.1 c2.1-2 granted token=111 state=held held begun=6.02 limit=5
            6.05 c1.1 c1.1-2 granted token=110 state=held held begun=6 limit=5
            7.00 c2.1 c2.1-2 released result=ok begun limit=0 held
            7.01 zookeeper c2.1-2 deleted path=/l name=x-__READ__4 session=b2 zxid=112 cause=delete
            7.50 c1.1 c1.1-2 released result=ok begun limit=0 held
            7.51 zookeeper c1.1-2 deleted path=/l name=x-__READ__3 session=a1 zxid=113 cause=delete
        ]],
    })

    passes("with a writer that re-enters to read, and goes on reading without a question", {
        without = "downgraded",
        plus = [[
            2.60 c1.1 c1.1-2 invoked path=/l kind=read way=reenter limit=2 inside=c1.1-1
            2.61 c1.1 c1.1-2 granted token=100 state=held held begun=2.6 limit=2
            3.00 c1.1 c1.1-2 released result=ok begun limit=0 held
        ]],
    }, function(report)
        assert.equal(1, report.figures.reentries)
        assert.equal(1, report.figures.downgrades)
    end)

    passes("of a writer that was killed while it became a reader", {
        without = { "3.02 c1.1", "3.[26]0 c1.1", "9.01 c1.1" },
        "zxid=104 cause=delete", "zxid=104 cause=close",
        plus = fault("3.015", "3.016", "name=kill scope=c1 victim=c1.1"),
    })

    -- It gave up the handle that writes, and is a writer still.
    passes("of a writer that cannot become a reader, and re-enters to write", {
        without = { "became", "downgraded", "c2.1%-1 read" },
        "x%-__READ__0", "x-__WRIT__0", "x%-__WRIT__0", "x-__WRIT__2147483647",
        "3.03 c2.1", "3.62 c2.1",
        plus = [[
            3.30 c1.1 c1.1-2 invoked path=/l kind=write way=reenter limit=5 inside=c1.1-1
            3.31 c1.1 c1.1-2 granted token=100 state=held held begun=3.3 limit=5
            3.32 c1.1 c1.1-2 released result=ok begun limit=0 held
        ]],
    })

    for _, number in ipairs{ "2130706431", "2147483647", "-2147483648" } do
        passes("of a writer that is refused where numbers end, and writes again: " .. number, {
                without = { "became", "%-1 read" },
            "x%-__READ__0", "x-__WRIT__0", "x%-__WRIT__0", "x-__WRIT__" .. number,
            "downgraded result=ok", "downgraded result=unsupported",
            "3.03 c2.1", "3.62 c2.1", "element=e2 read=e1", "element=e2 read=e9",
            plus = [[
                3.30 c1.1 c1.1-1 wrote element=e9 read=e1 token=100 accepted=true held
                10.15 store - stored path=/l element=e9 read=e1 token=100
            ]],
        })
    end

    -- By the operator's fault: it is told at once, and until then takes c3's value for stable.
    passes("of a reader whose node was deleted, and who sees what a later writer wrote", {
        "4.00 c2.1(.-)result=ok(.-) held\n", "4.30 c2.1%1result=lost%2\n",
        "4.01 (z.-)session=b2", "4.01 %1session=ff",
        plus = fault("4.00", "4.015", "name=node_deleted scope=path path=/l")
            .. "4.10 c2.1 c2.1-1 read element=e2 held\n"
            .. "4.11 c2.1 c2.1-1 noticed state=lost\n",
    }, function(report)
        assert.equal(1, #report.explained)
    end)

    passes("of a reader that was stopped, and sees another value when it is not certain", {
        without = "4.00 c2.1",
        "cause=delete\n4.02", "cause=close\n4.02",
        plus = fault("3.55", "5.20", "name=stop,_long scope=c2")
            .. "5.21 c2.1 c2.1-1 read element=e2\n"
            .. "5.22 c2.1 c2.1-1 noticed state=lost\n",
    }, function(report)
        assert.equal(1, #report.explained)
    end)
end)


describe("a lawful history", function()
    lawful = LAWFUL

    passes("with a re-entry: the same token", {
        plus = [[
            2.10 c1.1 c1.1-2 invoked path=/l kind=mutex way=reenter limit=5 inside=c1.1-1
            2.12 c1.1 c1.1-2 granted token=100 state=held held begun=2.1 limit=5
            2.13 c1.1 c1.1-2 released result=ok begun limit=0 held
        ]],
    }, function(report)
        assert.equal(2, report.figures.grants)
        assert.equal(1, report.figures.reentries)
    end)

    passes("with a timeout, an interrupt, and a try that found the lock taken", {
        plus = [[
            6.00 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=0.5
            6.51 c1.1 c1.1-2 failed code=timeout begun=6 limit=0.5
            6.60 c1.1 c1.1-3 invoked path=/l kind=mutex way=acquire
            6.70 c1.1 c1.1-3 failed code=interrupted begun=6.6
            6.80 c1.1 c1.1-4 invoked path=/l kind=mutex way=try limit=3
            6.81 c1.1 c1.1-4 failed code=timeout begun=6.8 limit=3
        ]],
    })

    passes("of an expiry that the holder saw coming", {
        without = "c1.1%-1 released",
        "cause=delete\n4", "cause=close\n4",
        plus = fault("3.60", "5.00", "name=blackhole scope=c1")
            .. "3.90 c1.1 c1.1-1 noticed state=suspect\n"
            .. "4.90 c1.1 c1.1-1 noticed state=lost\n",
    }, function(report)
        assert.equal(1, report.figures.losses)
        assert.equal(0, #report.explained)
        assert.equal(0, report.figures.measures.expired:max())
    end)

    passes("of a grant that its closing session gave up before its user had it", {
        without = "e1 read=%-",
        "2.02 c1.1(.-)held held", "4.03 c1.1%1released",
        "4.00 c1.1(.-)ok(.-) held\n", "4.04 c1.1%1released%2\n",
        "9.00 c1.1", "4.00 c1.1", "read=e1", "read=-",
    })

    -- It was stopped while it waited; its node went before it heard that it had its turn.
    passes("of a holder that was stopped, and never knew a lock that was its own", {
        without = { "e1 read=%-", "c1.1%-1 released" },
        "2.02 (c1.1.-)state=held held", "5.21 %1state=lost", "cause=delete\n4", "cause=close\n4",
        "read=e1", "read=-",
        plus = fault("2.015", "5.20", "name=stop,_long scope=c1")
            .. "5.22 c1.1 c1.1-1 released result=lost begun limit=0\n",
    }, function(report)
        assert.equal(1, report.figures.losses)
    end)

    -- It was stopped in the middle, the next was granted, it woke up and knew.
    passes("of a holder that was stopped, and overlaps in client time", {
        without = "c1.1%-1 released",
        "cause=delete\n4", "cause=close\n4",
        plus = fault("3.55", "5.20", "name=stop,_long scope=c1")
            .. "5.21 c1.1 c1.1-1 noticed state=lost\n"
            .. "5.22 c1.1 c1.1-1 wrote element=e9 read=e1 token=100 accepted=false\n",
    }, function(report)
        assert.equal(1, #report.explained)
        assert.matches("stop,_long", report.explained[1].text)
        assert.equal(1, report.figures.fenced)
    end)

    -- c1 comes in on one path before the user of c2 has heard that the other was lost.
    local robbed = {
        without = { "c2.1%-1 wrote", "c2.1%-1 released", "5.51 ", "10.2 " },
        plus = SECOND_PATH:gsub("5.50 [^\n]+\n.+", "")
            .. fault("4.49", "4.52", "name=node_deleted scope=path path=/m") .. [[
            4.20 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=5
            4.21 zookeeper c1.1-2 created path=/l name=x-lock-2 session=a1 zxid=110
            4.500 zookeeper c2.1-2 deleted path=/m name=x-lock-7 session=ff zxid=111 cause=delete
            4.501 zookeeper c2.1-1 deleted path=/l name=x-lock-1 session=b2 zxid=112 cause=delete
            4.502 c1.1 c1.1-2 granted token=110 state=held held begun=4.2 limit=5
            4.503 c2.1 c2.1-1 noticed state=lost held=4.49
            4.503 c2.1 c2.1-2 noticed state=lost held=4.49
            4.504 c2.1 c2.1-1 released result=lost begun limit=0
            4.504 c2.1 c2.1-2 released result=lost begun limit=0
            4.60 c1.1 c1.1-2 released result=ok begun limit=0 held
            4.61 zookeeper c1.1-2 deleted path=/l name=x-lock-2 session=a1 zxid=113 cause=delete
        ]],
    }

    passes("of several locks at once, of which one was taken, and the other is given up", robbed,
        function(report) assert.equal(1, #report.explained) end)

    passes("of a holder whose node was deleted by an operator, and who notices at once", {
        "4.00 c1.1(.-) held\n", "4.10 c1.1%1 held=4.03\n",
        "session=a1 zxid=102", "session=ff zxid=102",
        plus = fault("4.00", "4.015", "name=node_deleted scope=path path=/l")
            .. "4.04 c1.1 c1.1-1 noticed state=lost\n",
    }, function(report)
        assert.equal(1, #report.explained)
        assert.equal("node_deleted", report.explained[1].text:match("[%w_]+$"))
        assert.is_true(math.abs(report.figures.measures.taken:max() - 0.03) < 1e-6)
    end)

    passes("of a process that was killed while it held", {
        without = { "4.00 c1.1", "9.0[01] c1.1" },
        "cause=delete\n4", "cause=close\n4",
        plus = fault("3.60", "3.61", "name=kill scope=c1 victim=c1.1"),
    })

    passes("of calls that last because the process was stopped", {
        plus = fault("6.20", "8.58", "name=stop,_long scope=c1")
            .. "6.00 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=0.5\n"
            .. "8.60 c1.1 c1.1-2 failed code=timeout begun=6 limit=0.5\n",
    })

    passes("of a hand-off that had to wait for the end of a fault", {
        "4.02 c2.1", "7.90 c2.1", "5.00 c2.1", "8.00 c2.1",
        "5.5([01]) ", "8.5%1 ",
        plus = fault("3.90", "5.95", "name=blackhole scope=c2"),
    })

    passes("of a waiter whose node was deleted, and who queued again behind another", {
        plus = [[
            4.10 c1.1 c1.1-2 invoked path=/l kind=mutex way=acquire limit=9
            4.11 zookeeper c1.1-2 created path=/l name=x-lock-2 session=a1 zxid=102.1
            4.12 c1.1 c1.1-2 queued position=2
            4.20 torture - fault id=1 name=node_deleted scope=path path=/l
            4.21 zookeeper c1.1-2 deleted path=/l name=x-lock-2 session=f zxid=102.2 cause=delete
            4.22 torture - healed id=1
            4.30 c2.1 c2.1-2 invoked path=/l kind=mutex way=acquire limit=9
            4.31 zookeeper c2.1-2 created path=/l name=x-lock-3 session=b2 zxid=102.3
            4.32 c2.1 c2.1-2 queued position=2
            4.33 zookeeper c1.1-2 created path=/l name=x-lock-4 session=a1 zxid=102.4
            5.52 c2.1 c2.1-2 granted token=102.3 state=held held begun=4.3 limit=9
            5.60 c2.1 c2.1-2 released result=ok begun limit=0 held
            5.61 zookeeper c2.1-2 deleted path=/l name=x-lock-3 session=b2 zxid=104 cause=delete
            5.62 c1.1 c1.1-2 granted token=102.4 state=held held begun=4.1 limit=9
            5.70 c1.1 c1.1-2 released result=ok begun limit=0 held
            5.71 zookeeper c1.1-2 deleted path=/l name=x-lock-4 session=a1 zxid=105 cause=delete
        ]],
    })
end)


describe("the bounds of an excuse", function()
    lawful = LAWFUL

    -- An operator deleted the node; that does not excuse a second of certainty.
    breaks({ "overlap", "own" }, "a fault on another path excuses nothing", {
        "session=a1 zxid=102", "session=ff zxid=102",
        "4.00 c1.1(.-) held\n", "4.10 c1.1%1 held=4\n",
        plus = fault("4.00", "4.02", "name=node_deleted scope=path path=/other")
            .. "4.04 c1.1 c1.1-1 noticed state=lost\n",
    })

    breaks({ "overlap" }, "a stop of another process excuses nothing", {
        without = "c1.1%-1 released",
        "cause=delete\n4", "cause=close\n4",
        plus = fault("3.55", "4.015", "name=stop,_long scope=c2")
            .. "4.21 c1.1 c1.1-1 noticed state=lost\n",
    })

    breaks({ "overlap", "notice" }, "a stop does not excuse a holder that was certain after it", {
        without = "c1.1%-1 released",
        "cause=delete\n4", "cause=close\n4",
        plus = fault("3.55", "4.10", "name=stop,_long scope=c1")
            .. "4.20 c1.1 c1.1-1 wrote element=e9 read=e1 token=100 accepted=false held=4.19\n"
            .. "4.21 c1.1 c1.1-1 noticed state=lost\n",
    })
end)


describe("a history as a file", function()
    local path

    before_each(function() path = os.tmpname() end)
    after_each(function() os.remove(path) end)

    it("keeps every value, and the order of the moments", function()
        local writer = history.writer(path, "c1.1")
        writer:record("error", nil, { message = "50%\tor\nmore = less" }, 2.5)
        writer:record("invoked", "c1.1-1", { limit = 0.25, path = "/l" }, 1.5)
        writer:close()
        local events = history.read{ path }
        assert.equal("c1.1-1", events[1].claim)
        assert.equal(0.25, tonumber(events[1].limit))
        assert.equal("50%\tor\nmore = less", events[2].message)
    end)

    it("ends where its process was killed", function()
        files.write(path, "1.5\tc1.1\t-\tended\n2.5\tc1.1\tc1.1-1\tgran")
        assert.equal(1, #history.read{ path })
    end)
end)


describe("what truth.pl reads in the servers' logs", function()
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
    local function delete(name) return text("/l/" .. name) end

    -- Without rights; ephemeral. The parent has made so many children then, if that is told.
    local function create(name, count)
        return text("/l/" .. name) .. text("host:1\nc1.1-1") .. int(0) .. "\1" .. int(count or -1)
    end

    local function multi(...)
        local parts = { int(select("#", ...) / 2) }
        for i, part in ipairs{ ... } do parts[i + 1] = i % 2 == 1 and int(part) or text(part) end
        return table.concat(parts)
    end

    -- Transactions of session a1: { zxid, type, body }, ...
    local function write_log(server, ...)
        local path = ("%s/%d/data/version-2/log.1"):format(folder, server)
        local file = assert(io.open(path, "wb"))
        file:write("ZKLG", int(2), long(0))
        for _, each in ipairs{ ... } do
            local zxid, kind, body = each[1], each[2], each[3]
            local txn = long(0xa1) .. int(0) .. long(zxid) .. long(0) .. int(kind) .. body
            file:write(long(0), int(#txn), txn, "B")
        end
        file:close()
    end

    local function events_of_logs(servers)
        local paths = {}
        for n = 1, servers do paths[n] = folder .. "/" .. n end
        local output = assert(io.popen("perl spec/torture/truth.pl " .. table.concat(paths, " ")))
        local lines = {}
        for line in output:lines() do
            local event = history.parse(line)
            local more = event.was and " was " .. event.was
                or event.servers and " by " .. event.servers or ""
            lines[#lines + 1] = ("%s %s %s%s"):format(event.zxid, event.event, event.name, more)
            assert.same({ "c1.1-1", "/l", "a1" },
                        { event.servers and "c1.1-1" or event.claim, event.path, event.session })
        end
        output:close()
        return lines
    end

    it("is the word of a node that is held, in its data", function()
        local name, word = "x-lock-0000000007", text("host:1\nc1.1-1\31held") .. int(1)
        write_log(1, { 1, 5, text("/l/" .. name) .. word }, -- of no node
                  { 2, 15, create(name) },
                  { 3, 5, text("/l/" .. name) .. text("host:1\nheld") .. int(1) },
                  { 4, 5, text("/l/" .. name) .. word },
                  { 5, 2, delete(name) })
        assert.same({ "2 created " .. name, "4 marked " .. name, "5 deleted " .. name },
                    events_of_logs(1))
    end)

    it("is a downgrade in one transaction, and not one that failed", function()
        local writer, reader = "x-__WRIT__0000000007", "x-__READ__0000000007"
        write_log(1, { 1, 15, create(writer) },
                  { 2, 14, multi(1, create(reader), -1, int(-101)) }, -- the second was refused
                  { 3, 14, multi(-1, int(-110), -1, int(-2)) },
                  { 4, 14, multi(1, create(reader), 2, delete(writer)) },
                  { 5, 2, delete(reader) })
        assert.same({
            "1 created " .. writer,
            "4 became " .. reader .. " was " .. writer,
            "5 deleted " .. reader,
        }, events_of_logs(1))
    end)

    local NAME = "x-lock-0000000007"
    local made, gone = { 1, 15, create(NAME) }, { 2, -11, "" }
    local made_again, gone_again = { 11, 15, create(NAME) }, { 12, -11, "" }

    it("is what a leader alone has, if it leads again, and others have it by a snapshot", function()
        write_log(1, made, gone, made_again, gone_again)
        write_log(2, made, made_again, gone_again)
        write_log(3, made, gone_again)
        assert.same({ "1 created " .. NAME, "2 deleted " .. NAME, "11 created " .. NAME,
                      "12 deleted " .. NAME }, events_of_logs(3))
    end)

    it("is what a server alone has, if another has it by a snapshot", function()
        local known = { 0x500000001, 15, create(NAME) }
        write_log(1, made, gone, known)
        write_log(2, made, gone, { 0x600000001, 2, delete(NAME) })
        write_log(3, made, gone, { 0x600000001, 2, delete(NAME) })
        os.execute(("touch %s/2/data/version-2/snapshot.500000001"):format(folder))
        assert.same({ "1 created " .. NAME, "2 deleted " .. NAME,
                      ("%.0f created %s"):format(0x500000001, NAME),
                      ("%.0f deleted %s"):format(0x600000001, NAME) }, events_of_logs(3))
    end)

    it("is not what a leader alone has, if others went on without it", function()
        write_log(1, made, gone, gone_again)
        write_log(2, made, { 11, -10, "" }, gone_again)
        write_log(3, made, { 11, -10, "" }, gone_again)
        assert.same({ "1 created " .. NAME, "12 deleted " .. NAME }, events_of_logs(3))
    end)

    -- Transaction n of an epoch.
    local function of_epoch(epoch, n, ...) return { epoch * 2 ^ 32 + n, ... } end

    local FIRST, SECOND = of_epoch(1, 1, 15, create(NAME, 1)), of_epoch(2, 1, 15, create(NAME, 1))
    local LOST = ("%.0f lost %s by 1,2"):format(FIRST[1], NAME)
    local STAYS = ("%.0f created %s"):format(SECOND[1], NAME)

    describe("that had lost some", function()
        it("is what a later epoch made or counted once more", function()
            for n = 1, 3 do write_log(n, FIRST, SECOND) end
            assert.same({ STAYS, (LOST:gsub("1,2", "1,2,3")) }, events_of_logs(3))
        end)

        it("is a version that a later epoch wrote once more, and what came behind it", function()
            local word = text("/l/" .. NAME) .. text("host:1\nc1.1-1\31held") .. int(1)
            local written = of_epoch(1, 2, 5, word)
            local removed = of_epoch(1, 3, 2, delete(NAME))
            for n = 1, 3 do write_log(n, FIRST, written, removed, of_epoch(2, 1, 5, word)) end
            assert.same({
                ("%.0f created %s"):format(FIRST[1], NAME),
                ("%.0f marked %s"):format(2 * 2 ^ 32 + 1, NAME),
                ("%.0f lost %s by 1,2,3"):format(written[1], NAME),
                ("%.0f lost %s by 1,2,3"):format(removed[1], NAME),
            }, events_of_logs(3))
        end)

        it("is not what one server alone had logged", function()
            write_log(1, FIRST, SECOND)
            write_log(2, SECOND)
            write_log(3, SECOND)
            assert.same({ STAYS }, events_of_logs(3))
        end)

        it("is what two servers have cut off their logs", function()
            local library = program.library("taken")
            for n = 1, 2 do
                write_log(n, FIRST)
                assert(os.execute(([[LD_PRELOAD=%s perl -e 'open my $log, "+<", $ARGV[0] or die $!;
                    truncate $log, 16 or die $!;' %s/%d/data/version-2/log.1]]):format(
                    library, folder, n)))
                os.execute(("mv %s/%d/data/version-2/log.1 %s/%d/data/version-2/log.0"):format(
                    folder, n, folder, n))
                write_log(n, SECOND)
            end
            write_log(3, SECOND)
            os.remove(library)
            assert.same({ STAYS, LOST }, events_of_logs(3))
        end)
    end)
end)


describe("intervals", function()
    local spans = intervals.new{ { from = 5, to = 6, what = "b" }, { from = 1, to = 2, what = "a" },
                                 { from = 5.5, to = 8, what = "c" } }

    it("find what overlaps", function()
        assert.is_nil(spans:overlapping(2.1, 4.9))
        assert.equal("a", spans:overlapping(2, 3).what)
        assert.equal("b, c", spans:overlapping(7, 7).what)
        assert.is_nil(spans:overlapping(8.1, 99))
    end)

    it("measure what they cover", function()
        assert.equal(0.5, spans:covered(0, 1.5))
        assert.equal(4, spans:covered(0, 100))
        assert.equal(0, spans:covered(3, 4))
    end)

    it("say when so much undisturbed time has passed", function()
        assert.is_true(math.abs(spans:undisturbed(0, 1.5) - 3.5) < 1e-6)
        assert.is_true(math.abs(spans:undisturbed(3, 3) - 11) < 1e-6)
        assert.is_true(math.abs(spans:undisturbed(9, 1) - 10) < 1e-6)
    end)
end)


describe("a long history", function()
    -- Clients on four paths, one after the other, each with another that waits meanwhile; or
    -- readers, who hold together until all have come.
    local function long_history(grants, readers)
        local stays = readers and grants * 0.01 or 0
        local kind, marker = "mutex", "-lock-"
        if readers then kind, marker = "read", "-__READ__" end
        local lines = { "0.1\tc1.1\t-\tconnected\tsession=s\ttimeout=2" }
        local function say(at, process, claim, event, fields)
            lines[#lines + 1] = history.format(at, process, claim, event, fields)
        end
        for i = 1, grants do
            local at, id, path = i * 0.01, "c1.1-" .. i, "/l" .. i % 4
            local name = "x" .. marker .. i
            local gone = 2 * i + 1 + (readers and 2 * grants or 0)
            say(at - 0.035, "c1.1", id, "invoked", { path = path, kind = kind, limit = 5 })
            say(at - 0.033, "zookeeper", id, "created",
                { path = path, name = name, session = "s", zxid = 2 * i })
            say(at + 0.001, "c1.1", id, "granted",
                { token = 2 * i, state = "held", held = at + 0.001, begun = at - 0.035, limit = 5 })
            at = at + stays
            say(at + 0.004, "c1.1", id, "released",
                { result = "ok", held = at + 0.004, begun = at + 0.004, limit = 0 })
            say(at + 0.005, "zookeeper", id, "deleted",
                { path = path, name = name, session = "s", zxid = gone, cause = "delete" })
        end
        say(grants, "c1.1", "-", "ended")
        say(grants, "torture", "-", "residue", { nodes = 0, watches = 0 })
        return table.concat(lines, "\n") .. "\n"
    end

    -- Lines that the checker, and what it calls, runs through.
    local function count_lines(fn)
        local count = 0
        debug.sethook(function() count = count + 1 end, "", 100)
        fn()
        debug.sethook()
        return count
    end

    local function events_of_long(grants, readers)
        local path = files.write(os.tmpname(), long_history(grants, readers))
        local events = history.read{ path }
        os.remove(path)
        return events
    end

    -- 200 000 events; with a sanitizer, which has nothing to find here, less.
    it("of many events is checked #slow", function()
        local grants = program.sanitizer and 2000 or 40000
        local report = check(events_of_long(grants))
        assert.same({}, violated(report), texts(report))
        assert.equal(grants, report.figures.grants)
    end)

    for _, whose in ipairs{ "holders, one after the other", "readers, all at once" } do
        it("takes not more than n log n, of " .. whose .. " #slow", function()
            if jit then jit.off() end -- luacheck: globals jit (a compiled loop counts nothing)
            local readers, report = whose:find("readers") ~= nil, nil
            local small, large = events_of_long(500, readers), events_of_long(4000, readers)
            local few = count_lines(function() check(small) end)
            local many = count_lines(function() report = check(large) end)
            if jit then jit.on() end -- luacheck: globals jit
            assert.same({}, violated(report), texts(report))
            assert.is_true(many < 8 * 1.6 * few,
                           ("%d for 8 times of what took %d"):format(many, few))
        end)
    end
end)


describe("the figures", function()
    it("tell readers from writers, and when a writer became a reader", function()
        local text
        for _, row in ipairs(figures.rows(check_text(SHARED), {})) do
            if row[1] == "grants" then text = row[2] end
        end
        assert.equal("3: 0 mutex, 1 read, 2 write, 0 of permits; 0 re-entries, 1 downgrades", text)
    end)
end)
