--- storm.lua - calls each public function while the collector runs at each allocation, and
-- finalizers call each public function, too. See finalizers.mk.
--
-- A broken invariant crashes or hangs the process, or is told here. Ends with: N passed, N failed;
-- one check is one call, with finalizers at one of its allocations.

-- Lua 5.4 is built to collect at each allocation (finalizers.mk). It must not collect by itself,
-- too, because its pointers are stale where it collects twice. LuaJIT's collector makes no
-- pause.
collectgarbage "stop"
if rawget(_G, "jit") then
    require("jit").off() -- compiled code collects less often
    collectgarbage("setpause", 0)
    collectgarbage("setstepmul", 1e7)
else
    collectgarbage("incremental", 1000)
end

local calls = require "spec.finalizers.calls"
local core = require "zklock.core"
local zklock = require "zklock"

local FOREIGN = require("zklock.waiting.runtime").FOREIGN
local floor = math.floor
local unpack = table.unpack or unpack
local passed, failed = 0, 0

local function check(condition, what, ...)
    if condition then
        passed = passed + 1
    else
        failed = failed + 1
        io.stderr:write(("FAILED: " .. what):format(...), "\n")
    end
end


-- --- garbage ----------------------------------------------------------------------------

local new_garbage -- makes garbage with a finalizer

if newproxy then -- luacheck: globals newproxy
    function new_garbage(finalize)
        getmetatable(newproxy(true)).__gc = finalize -- luacheck: globals newproxy
    end
else
    function new_garbage(finalize)
        setmetatable({}, { __gc = finalize })
    end
end


-- Calls fn(...) while the n-th collection calls finalize(n); returns the number of collections.
local function storm(finalize, fn, ...)
    local is_raging, count = true, 0
    local function again()
        if not is_raging then return end
        new_garbage(again)
        count = count + 1
        finalize(count)
    end
    new_garbage(again)
    collectgarbage "restart"
    collectgarbage()
    fn(...)
    is_raging = false
    collectgarbage "stop"
    return count
end


-- --- calls ------------------------------------------------------------------------------

local endings = { "session:close", "memory:expire", "memory:reset" }
-- Each makes thousands of allocations.
local function is_long(name)
    return name:find "^world:" or name == "zklock.world" or name == "zklock.simulate"
end

-- Calls that are not long; these without the endings; long calls.
local short, not_ending, long = {}, {}, {}

for name in pairs(calls) do
    local is_ending = name == endings[1] or name == endings[2] or name == endings[3]
    local list = is_long(name) and long or short
    list[#list + 1] = name
    if list == short and not is_ending then not_ending[#not_ending + 1] = name end
end
table.sort(short)
table.sort(not_ending)
table.sort(long)


local codes = {}
for code in ([[timeout lost released expired connection closed interrupted not_owner would_deadlock
    conflict auth no_node no_memory too_many busy unknown unsupported context]]):gmatch "%S+" do
    codes[code] = true
end


-- A finalizer cannot wait, because in zklock.run it cannot yield, and a world has no outside to
-- wait for.
local function is_ordinary(ok, result, message, code)
    if ok then return result ~= nil or message == nil or codes[code] end
    local text = tostring(result)
    return text:find("across", 1, true) or text:find(FOREIGN, 1, true)
end


local function call(name, book)
    local answer = { pcall(calls[name], book) }
    if is_ordinary(unpack(answer, 1, 4)) then return end
    book.problem = book.problem or ("%s: %s %s"):format(name, answer[2], answer[3])
end


-- --- books ------------------------------------------------------------------------------

local PATIENCE = 20 -- seconds
local TEXT = ("%d "):rep(60)
local number = 0

local function callbacks(book)
    local written = book.written
    function book.hear() end

    function book.seen(data)
        if data and not written[data] then book.problem = "a text that nobody wrote" end
        book.last = data
    end

    function book.list(list)
        book.pen_data = nil
        for _, each in ipairs(list or {}) do
            if each.name == "pen" then book.pen_data = each.data end
        end
        if book.pen_data and not written[book.pen_data] then book.problem = "data of nobody" end
    end

    function book.on_event(event)
        if not (event.path or "/"):find "^/[%w_/-]+$" then
            book.problem = "an event of no path: " .. event.path
        end
    end
end


-- Opens a session with one of everything, and another session that writes.
local function new_book()
    number = number + 1
    local name = "storm" .. number
    local hosts = "memory:" .. name
    local book = { name = name, hosts = hosts, owner = "storm", node = "/node", written = {},
                   stops = {}, version = 0, patience = 1, joins = 0, memory = zklock.memory(name) }
    callbacks(book)
    local session = assert(zklock.connect(hosts, { on_event = book.on_event,
                                                   on_state = book.hear }))
    book.session, book.pen = session, assert(zklock.connect(hosts))
    book.pen_lease = assert(book.pen:mutex("/pen"):acquire(PATIENCE))
    book.lock = session:mutex("/lock", { data = "lock" })
    book.kept = session:mutex("/kept", { keep = 5 })
    book.turns = session:mutex("/turns", { order = "turns" })
    book.rwlock = session:rwlock "/rwlock"
    book.election = session:election "/election"
    book.member = assert(session:join("/members", { name = "member-0", timeout = PATIENCE }))
    book.condition = book.lock:condition "full"
    book.request = require("zklock.waiting.request").new(session, (session.handle:pause()))
    return book
end


local function prepare(book)
    local session = book.session
    book.problem, book.version = nil, book.version + 1
    if not (book.lease and book.lease:held()) then
        book.lease = assert(book.lock:acquire{ timeout = PATIENCE, owner = book.owner })
    end
    for _, stop in ipairs(book.stops) do stop() end
    book.stops = { book.lease:on_lost(book.hear), book.lease:on_revoke(book.hear),
                   book.member:on_change(book.hear) }
    book.text = TEXT:gsub("%%d", book.version)
    book.written[book.text] = true
    local verb = book.version > 1 and "set" or "create"
    assert(book.pen_lease:guard{ { verb, book.node, book.text },
                                 { verb, "/members/pen", book.text } })
    book.stop = book.stop or assert(session:watch(book.node, book.seen))
    book.stop_members = book.stop_members or assert(session:members("/members", book.list))
    for _ = 1, 3 do
        assert(book.lock:acquire{ timeout = 0, owner = book.owner }):release()
    end
    session.handle:wait(0.01)
end


-- Checks that the watcher and the follower of the folder learn the final state.
local function check_heard(book)
    local deadline = core.now() + PATIENCE
    call("session:dispatch", book)
    while not (book.last == book.text and book.pen_data == book.text) and not book.problem do
        if core.now() > deadline then book.problem = "the watcher was not told" end
        book.session.handle:wait(0.01)
        call("session:dispatch", book)
    end
end


local function close(book)
    book.stop()
    book.stop_members()
    book.session:close()
    book.pen:close()
end


-- --- storms -----------------------------------------------------------------------------

-- Makes a call, while a finalizer at its n-th allocation makes all calls, beginning with a
-- different one each time. Returns false if there is no n-th.
local function meets_all(name, book, n)
    prepare(book)
    local count = storm(function(count)
        for i = 1, count == n and #not_ending or 0 do
            call(not_ending[(n * 7 + i) % #not_ending + 1], book)
        end
    end, call, name, book)
    check_heard(book)
    check(not book.problem, "%s, all at allocation %d: %s", name, n, book.problem)
    return count >= n
end


local function meets_ending(name, ending, n)
    local book = new_book()
    prepare(book)
    local count = storm(function(count)
        if count == n then call(ending, book) end
    end, call, name, book)
    check(not book.problem, "%s, %s at allocation %d: %s", name, ending, n, book.problem)
    close(book)
    return count >= n
end


-- Meets at each of the first allocations, and at some of the rest.
local function at_each(first, meets, name, with, step)
    local n = 1
    while meets(name, with, n) do n = n + (n < first and 1 or 1 + floor(n * (step or 0.2))) end
end


local book = new_book()
for _, name in ipairs(not_ending) do
    at_each(name == "zklock.run" and 80 or 10, meets_all, name, book)
end
at_each(1, meets_all, "zklock.simulate", book, 3)
for _, name in ipairs(long) do
    call(name, book)
    check(not book.problem, "%s: %s", name, book.problem)
end
close(book)
for _, name in ipairs(short) do
    for _, ending in ipairs(endings) do at_each(5, meets_ending, name, ending) end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
