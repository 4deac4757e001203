--- storm.lua [SEED] - calls each public function while the collector runs at each allocation, and
-- finalizers call each public function, too. See finalizers.mk.
--
-- Ends with: N passed, N failed. One check is one call; what a finalizer breaks crashes the
-- process, hangs it, or shows a text that nobody wrote.

-- Lua 5.4 is built to collect at each allocation; it is not to do so twice, by itself, too: its
-- places are not made for that. LuaJIT is to begin anew as soon as it is through.
collectgarbage "stop"
if rawget(_G, "jit") then
    require("jit").off() -- compiled code collects less often
    collectgarbage("setpause", 0)
    collectgarbage("setstepmul", 1e7)
else
    collectgarbage("incremental", 1000)
end

local core = require "zklock.core"
local calls = require "spec.finalizers.calls"
local zklock = require "zklock"
-- What is required late.
require "zklock.driver.block"

local floor = math.floor
local unpack = table.unpack or unpack -- luacheck: ignore 143
local passed, failed = 0, 0

-- Of a session: after it, a book is of no use.
local ENDS = { "session:close", "memory:expire", "memory:reset" }
local CODES = {}
for code in ([[timeout lost released expired connection closed interrupted not_owner would_deadlock
    conflict auth no_node no_memory too_many busy unknown unsupported context]]):gmatch "%S+" do
    CODES[code] = true
end


-- --- garbage ----------------------------------------------------------------------------

local new_garbage -- with that finalizer

if newproxy then -- luacheck: globals newproxy
    function new_garbage(finalize)
        getmetatable(newproxy(true)).__gc = finalize
    end
else
    function new_garbage(finalize)
        setmetatable({}, { __gc = finalize })
    end
end


-- Calls fn(...) while each collection calls fn_of_finalizer(number).
local function storm(finalize, fn, ...)
    local raging, count = true, 0
    local function again()
        if not raging then return end
        new_garbage(again)
        count = count + 1
        finalize(count)
    end
    new_garbage(again)
    collectgarbage "restart"
    collectgarbage()
    fn(...)
    raging = false
    collectgarbage "stop"
    return count
end


-- --- what is called ---------------------------------------------------------------------

local names = {}
for name in pairs(calls) do names[#names + 1] = name end
table.sort(names)

local function check(condition, what, ...)
    if condition then
        passed = passed + 1
    else
        failed = failed + 1
        io.stderr:write(("FAILED: " .. what):format(...), "\n")
    end
end

-- In zklock.run nothing may wait in a finalizer: Lua cannot yield there.
local function is_ordinary(ok, result, message, code)
    if ok then return result ~= nil or message == nil or CODES[code] end
    return tostring(result):find("across", 1, true) ~= nil
end

local function call(name, book)
    if os.getenv "V" then io.stderr:write("  ", name, "\n") end
    local answer = { pcall(calls[name], book) }
    if is_ordinary(unpack(answer, 1, 4)) then return true end
    book.problem = book.problem or ("%s: %s %s"):format(name, answer[2], answer[3])
end


-- --- books ------------------------------------------------------------------------------

local TEXT = ("%d "):rep(60)
local number = 0

-- A session with one of everything.
local function new_book()
    number = number + 1
    local name = "storm" .. number
    local book = { name = name, hosts = "memory:" .. name, owner = "storm", node = "/node",
                   written = {}, version = 0, patience = 1, memory = zklock.memory(name) }
    function book.hear() end
    function book.seen(data)
        if data and not book.written[data] then book.problem = "a text that nobody wrote" end
        book.last = data
    end
    local function on_event(event)
        if event.path and not event.path:find "^/[%l-]+$" or
            event.owner and not event.owner:find "^[%l ]" then
            book.problem = "an event of nothing: " .. tostring(event.path)
        end
    end
    book.session = assert(zklock.connect(book.hosts, {
        identity = "host", on_event = on_event, on_state = book.hear,
    }))
    book.pen = assert(zklock.connect(book.hosts, { identity = "pen" }))
    book.pen_lease = assert(book.pen:mutex("/pen"):acquire(5))
    book.lock = book.session:mutex("/lock", { data = "lock" })
    book.kept = book.session:mutex("/kept", { keep = 5 })
    book.turns = book.session:mutex("/turns", { order = "turns" })
    book.rwlock = book.session:rwlock "/rwlock"
    book.election = book.session:election "/election"
    book.condition = book.lock:condition "full"
    return book
end


-- News of each kind, which nobody has taken yet.
local function prepare(book)
    local session, written = book.session, book.written
    book.problem, book.version = nil, book.version + 1
    book.lease = book.lease and book.lease:held() and book.lease
        or assert(book.lock:acquire{ timeout = 5, owner = book.owner })
    book.lease:on_lost(book.hear)
    book.lease:on_revoke(book.hear)
    book.text = TEXT:gsub("%%d", book.version)
    written[book.text] = true
    assert(book.pen_lease:guard{ { book.version > 1 and "set" or "create", book.node, book.text } })
    if not book.stop then book.stop = assert(session:watch(book.node, book.seen)) end
    for _ = 1, 3 do
        assert(book.lock:acquire{ timeout = 0, owner = book.owner }):release()
    end
    session.handle:wait(0.01)
end


local function close(book)
    if book.stop then book.stop() end
    book.session:close()
    book.pen:close()
end


-- --- the storms -------------------------------------------------------------------------

local function is_end(name)
    for _, each in ipairs(ENDS) do
        if each == name then return true end
    end
    return false
end

local others = {} -- than those after which a book is of no use
for _, name in ipairs(names) do
    if not is_end(name) then others[#others + 1] = name end
end


-- The watcher hears what is in the node.
local function hear(book)
    local deadline = core.now() + 20
    repeat
        if core.now() > deadline then book.problem = "the watcher was not told" end
        book.session.handle:wait(0.01)
        call("session:dispatch", book)
    until book.last == book.text or book.problem
end


-- The call, while a finalizer at its n-th allocation makes all calls, beginning with another one
-- each time. False: it has no n-th.
local function storm_of_all(name, book, n)
    io.stderr:write(name, " ", n, "\n")
    prepare(book)
    local count = storm(function(count)
        for i = 1, count == n and #others or 0 do call(others[(n * 7 + i) % #others + 1], book) end
    end, call, name, book)

    hear(book)
    check(not book.problem, "%s, all at allocation %d: %s", name, n, book.problem)
    return count >= n
end


-- The same with a call that ends the session.
local function storm_of_end(name, ending, n)
    io.stderr:write(name, " ", ending, " ", n, "\n")
    local book = new_book()
    prepare(book)
    local count = storm(function(count)
        if count == n then call(ending, book) end
    end, call, name, book)
    check(not book.problem, "%s, %s at allocation %d: %s", name, ending, n, book.problem)
    close(book)
    return count >= n
end

local only = arg[1]
local book = new_book()
for _, name in ipairs(others) do
    if not only or only == name then
    local n, t = 0, os.clock()
    repeat n = n + 1 + floor(n / 10) until not storm_of_all(name, book, n)
    io.stderr:write(("%-24s %3d allocations, %.1f s\n"):format(name, n - 1, os.clock() - t))
    end
end
close(book)
for _, name in ipairs(names) do
    if not only or only == name then
    for _, ending in ipairs(ENDS) do
        local n,t = 0, require "zklock.core".now()
        repeat n = n + 1 + floor(n / 5) until not storm_of_end(name, ending, n)
        io.stderr:write(("%s %s %.1f s\n"):format(name, ending, require "zklock.core".now() - t))
    end
    end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
