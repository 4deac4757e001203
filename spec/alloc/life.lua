--- life.lua <chapter> <first n> <step> - runs a chapter of a session's life, again and again. In
-- the n-th run the n-th allocation of src/ fails, until a run has fewer than n. `make test-alloc`
-- runs all chapters, under AddressSanitizer; see alloc.mk.
--
-- Each time, nothing crashes or hangs; a failure is an ordinary one; the same session can then
-- acquire the lock; no node is left while the session lives, and no allocation after it.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local module = assert(package.searchpath("zklock.core", package.cpath)) -- luacheck: ignore 143
local failing = assert(package.loadlib(module, "luaopen_failing"))()

local TIMEOUT = 1.2 -- of sessions; a stalled step goes on with the next heartbeat, after a sixth
local PATIENCE = 30

local server = rig.shared()
local memory = server.memory -- nil for a real one
local proxy = memory and { hosts = server.hosts } or rig.proxy(server.hosts)


-- --- ordinary failures --------------------------------------------------------------------

local codes = {}
local ordinary_codes = "lost released expired connection closed interrupted no_memory unknown"
for code in ordinary_codes:gmatch("%S+") do
    codes[code] = true
end

-- A timeout is no ordinary failure, because it shows a wait in vain.
local function check_ordinary(ok, ...)
    local result, message, code = ...
    if not ok then
        assert(tostring(result):find("not enough memory", 1, true), result)
        return nil
    end
    assert(result ~= nil or select("#", ...) == 0 or type(message) == "string" and codes[code],
           "no ordinary failure: " .. tostring(message))
    return result
end

-- Returns the result of a call, or nil after an ordinary failure.
local function try(fn, ...)
    return check_ordinary(pcall(fn, ...))
end


-- Acquires while no allocation fails. Repeats that after an expiry, because a machine stood still
-- or an earlier event found no memory.
local function acquire(lock)
    return rig.wait_for("the lock", function() return (lock:acquire(PATIENCE)) end, PATIENCE)
end


local function use(lock)
    assert(acquire(lock):release{ wait = PATIENCE })
end

-- Acquires and releases once, if memory allows.
local function try_once(lock, arg)
    local lease = try(lock.acquire, lock, arg)
    if lease then lease:release() end
end


-- Tries to acquire. "timeout" is ordinary here, because a machine that stood still leaves the try
-- unanswered.
local function try_at_once(lock)
    codes.timeout = true
    local lease = try(lock.acquire, lock, 0)
    codes.timeout = nil
    return lease
end


-- Releases, and waits for the answer if memory allows.
local function give_back(lease)
    if not try(lease.release, lease, { wait = PATIENCE }) then lease:release() end
end


-- Is rig.wait_for() without allocations of src/, because another thread's must fail.
local function wait_for(session, what, condition)
    local deadline = core.now() + PATIENCE
    while not condition() do
        if core.now() > deadline then error("waited in vain: " .. what, 2) end
        try(session.dispatch, session) -- a report that found no memory comes again
        session.handle:wait(0.01)
    end
end


local function connect(to, options)
    options = options or {}
    options.timeout, options.connect_timeout = TIMEOUT, PATIENCE
    return zklock.connect(to, options)
end


-- --- chapters -----------------------------------------------------------------------------
-- A chapter gets a book, with an open session and a lock of it. book.arm() makes the n-th
-- allocation from then on fail.

local chapters = {}

function chapters.connect(book)
    book.session:close()
    book.arm()
    book.session = try(connect, proxy.hosts, { auth = "digest:somebody:secret" })
end

-- Acquires on a path without parents, then on one with them.
function chapters.acquire(book)
    book.arm()
    for _ = 1, 2 do
        local lease = try(book.lock.acquire, book.lock, PATIENCE)
        if lease then give_back(lease) end
    end
end

function chapters.again(book)
    local lock = book.lock
    local lease = acquire(lock)
    book.arm()
    local second = try(lock.acquire, lock, PATIENCE)
    pcall(lock.acquire, lock, { timeout = 0, owner = "another" })
    pcall(lock.acquire, lock, { timeout = 0.05, owner = "another" })
    try(lease.check, lease, PATIENCE)
    try(lease.on_lost, lease, print)
    if second then try(second.release, second) end
    lease:release()
end

function chapters.try(book)
    use(book.lock)
    book.arm()
    local lease = try_at_once(book.lock)
    if lease then lease:release() end
end

local function wait_in_turn(book, lock, first)
    local queued = 0
    book.arm()
    try(rig.run, 2, function(i)
        local options = { timeout = PATIENCE, owner = i,
                          on_queued = function() queued = queued + 1 end }
        local lease = try(lock.acquire, lock, options)
        if lease then lease:release() else queued = queued + 1 end
    end, function()
        rig.eventually(function() return queued >= 2 end, PATIENCE)
        first:release()
    end)
    first:release()
end

function chapters.wait(book)
    wait_in_turn(book, book.lock, acquire(book.lock))
end

-- Lets two wait for permits. The first, once granted, tells the second.
function chapters.permits(book)
    local gate = book.session:semaphore(book.lock.path, 2)
    local all = { permits = 2, timeout = PATIENCE }
    wait_in_turn(book, gate, assert(gate:acquire(all)))
end

-- Asks with a limit that conflicts with the holder's, and is told so.
function chapters.conflict(book)
    local other = assert(connect(server.hosts))
    local lease = assert(other:semaphore(book.lock.path, 2):acquire(PATIENCE))
    local gate = book.session:semaphore(book.lock.path, 3)
    codes.conflict = true
    book.arm()
    try_at_once(gate)
    try(gate.acquire, gate, PATIENCE)
    failing.disarm()
    codes.conflict = nil
    lease:release()
    other:close()
end

function chapters.queue(book)
    local lock, line = book.lock, nil
    local lease = acquire(lock)
    zklock.run(function()
        local second = try(lock.acquire, lock, { owner = "second", on_queued = function()
            book.arm()
            line = try(lock.queue, lock, PATIENCE)
            failing.disarm()
            lease:release()
        end })
        second:release()
    end)
    for _, each in ipairs(line or {}) do assert(each.data == "a test", "shown without its data") end
end

-- Closes the session while one holds and one waits. No failure raises an error.
function chapters.close(book)
    local lock = book.lock
    local lease = acquire(lock)
    zklock.run(function()
        lock:acquire{ owner = "second", on_queued = function()
            book.arm()
            book.session:close()
        end }
    end)
    lease:release()
    book.session = nil
end

function chapters.cut(book)
    local lock = book.lock
    local first = acquire(lock)
    local queued, seen = false, book.session:stats().reconnects
    zklock.run(function()
        local options = { timeout = PATIENCE, owner = "second",
                          on_queued = function() queued = true end }
        try_once(lock, options)
    end, function()
        rig.wait_for("a waiter", function() return queued end)
        book.arm()
        proxy:command("cut")
        rig.eventually(function() return book.session:stats().reconnects > seen end, PATIENCE)
        first:release()
    end)
end

local function lose_reply(book, request)
    use(book.lock)
    proxy:command("drop-reply %s 1", request)
    book.arm()
    local lease = try(book.lock.acquire, book.lock, PATIENCE)
    if lease then give_back(lease) end
    proxy:command("flow")
end

function chapters.create_lost(book) lose_reply(book, "create2") end
function chapters.delete_lost(book) lose_reply(book, "delete") end

-- After an unanswered create, the session looks at the path once more, a session timeout later.
-- Until then it sends `lists` lists, with the creates and behind the syncs.
local function look_again(book, lists)
    use(book.lock)
    local before = book.session:stats().lists
    proxy:command("drop-reply create2 1")
    proxy:command("refuse")
    assert(not book.lock:acquire(0.01))
    book.arm()
    proxy:command("accept")
    wait_for(book.session, "the claim's own list, and a look", function()
        return failing.place() or book.session:stats().lists >= before + lists
    end)
    wait_for(book.session, "the answer", function() return book.session:stats().in_flight == 0 end)
end

function chapters.look(book) look_again(book, 3) end

-- Acquires behind a node of this session that belongs to no claim, and is removed first.
function chapters.orphan(book)
    local lock, id = book.lock, ("%016x"):format(tonumber(book.session:id(), 16))
    use(lock)
    local node = ("%s/_c_%s-%s-%s-ffff-ffffffffffff-lock-0000000000"):format(
        lock.path, id:sub(1, 8), id:sub(9, 12), id:sub(13))
    server:foreign("create %s ''", node)
    book.arm()
    try_once(lock, PATIENCE)
end

-- Replies take longer than the pause before a part of a question is asked again.
function chapters.slow(book)
    local lease = acquire(book.lock)
    proxy:command("delay 400")
    book.arm()
    try(lease.check, lease, PATIENCE)
    try(book.lock.queue, book.lock, PATIENCE)
    failing.disarm()
    proxy:command("delay 0")
    lease:release()
end

-- Downgrades a writer, and lets another reader in.
function chapters.share(book)
    local rw = book.session:rwlock(book.lock.path)
    local lease = assert(rw:write():acquire(PATIENCE))
    book.arm()
    if try(lease.downgrade, lease, PATIENCE) then
        local options = { timeout = PATIENCE, owner = "another" }
        try_once(rw:read(), options)
    end
    lease:release()
end

-- Acquires several locks at once, with parents missing, parts taken, or a part lost.
function chapters.multi(book)
    local session, path = book.session, book.lock.path
    local all = session:multi{ book.lock, session:mutex(path .. "-2"), session:mutex(path .. "-3") }
    book.arm()
    for n = 1, 2 do
        local lease = try(all.acquire, all, { timeout = PATIENCE, owner = n })
        if lease then
            pcall(all.acquire, all, { timeout = 0, owner = "another" })
            pcall(all.acquire, all, { timeout = 0.05, owner = "another" })
            try(lease.check, lease, PATIENCE)
            try(lease.guard, lease, { { "check", "/" }, timeout = PATIENCE })
            give_back(lease)
        end
    end
end

-- Waits in a condition until a signal and comes back, then waits in vain.
function chapters.condition(book)
    local lock = book.lock
    local condition = assert(lock:condition("c"))
    local lease, over = assert(lock:acquire{ timeout = PATIENCE, owner = "waiter" }), false
    book.arm()
    try(zklock.run, function()
        try(condition.wait, condition, lease, PATIENCE)
        over = true
        pcall(condition.wait, condition, lease, 0.05)
        lease:release() -- the caller may wait for it
    end, function()
        while not over do
            local options = { timeout = PATIENCE, owner = "caller" }
            local caller = try(lock.acquire, lock, options)
            if caller then
                try(condition.signal, condition, caller, PATIENCE)
                caller:release()
            end
            zklock.sleep(0.01)
        end
    end)
end

-- Signals the first of two waiters, which gives up, so the second gets the signal.
function chapters.pass(book)
    local lock = book.lock
    local condition = assert(lock:condition("c"))
    local folder = lock.path .. "-condition-c"
    local over = 0
    try(rig.run, 2, function(i)
        local lease = assert(lock:acquire{ timeout = PATIENCE, owner = i })
        server:wait_for_nodes(folder, i - 1)
        if i == 2 then book.arm() end
        try(condition.wait, condition, lease, PATIENCE)
        over = over + 1
        lease:release()
    end, function()
        rig.eventually(function() return #server:nodes(folder) == 2 or over > 0 end, PATIENCE)
        local caller = try(lock.acquire, lock, { timeout = PATIENCE, owner = "caller" })
        if caller then try(condition.signal, condition, caller, PATIENCE) end
        book.session:interrupt(1)
        if caller then caller:release() end
        rig.eventually(function() return over == 2 end, 1)
        book.session:interrupt(2)
    end)
end

-- Writes under the lease, and asks for its release.
function chapters.guard(book)
    local lease = acquire(book.lock)
    book.arm()
    try(lease.guard, lease, { { "check", "/" }, { "check", book.lock.path }, timeout = PATIENCE })
    try(book.session.get, book.session, "/", PATIENCE)
    try(book.lock.revoke, book.lock, PATIENCE)
    try(lease.on_revoke, lease, print)
    lease:release()
end

function chapters.move(book)
    book.arm()
    try(book.session.set_hosts, book.session, server.hosts, PATIENCE)
end

-- Watches a node through its creation, and a change without a connection.
function chapters.watch(book)
    local session, node = book.session, "/watched-" .. book.lock.path:gsub("%W", "-")
    local seen, seen_twice
    local function wait_for_data(data)
        local function is_told() return seen == data and (not seen_twice or seen_twice == data) end
        wait_for(session, data, is_told)
    end
    book.arm()
    local stop = try(session.watch, session, node, function(data) seen = data or "none" end)
    local stop_second = try(session.watch, session, node, function(data)
        seen_twice = data or "none"
    end)
    seen, seen_twice = seen or stop and "nothing", seen_twice or stop_second and "nothing"
    if stop then wait_for_data("none") end
    server:foreign("create %s one", node)
    if stop then wait_for_data("one") end
    proxy:command("cut")
    server:foreign("set %s two", node)
    if stop then wait_for_data("two") end
    for _, each in ipairs{ stop or print, stop_second or print } do each() end
    failing.disarm()
    wait_for(session, "no watch", function() return session:stats().watches == 0 end)
    server:foreign("delete %s", node)
end

-- --- chapters of members -----------------------------------------------------------------------

-- Returns the folder of a chapter's members, which is checked in the end.
local function folder_of(book)
    book.folder = "/members" .. book.lock.path:gsub("%W", "-")
    return book.folder
end

-- Returns 0 also without the memory to tell.
local function count_members(folder)
    if not memory then return #server:nodes(folder) end
    local ok, names = pcall(memory.children, memory, folder)
    return ok and names and #names or 0
end

local function join(book)
    local options = { name = "a", data = "a test", timeout = PATIENCE }
    return try(book.session.join, book.session, folder_of(book), options)
end

-- Joins a new folder, then an existing folder.
function chapters.join(book)
    book.arm()
    for _ = 1, 2 do
        local member = join(book)
        if member then
            try(member.state, member)
            try(tostring, member)
            try(member.on_change, member, print)
            try(member.set, member, "other data", PATIENCE)
            member:leave()
        end
    end
end

local function chapter_of_rejoin(fault)
    return function(book)
        local folder, member = folder_of(book), assert(join(book))
        member:on_change(function() end)
        book.arm()
        fault(book, folder)
        wait_for(book.session, "the node", function()
            return member:state() == "joined" and count_members(folder) == 1
        end)
        member:leave()
    end
end

chapters.join_again = chapter_of_rejoin(function(_, folder)
    server:foreign("delete %s/a", folder)
end)
chapters.join_expire = chapter_of_rejoin(function(book) memory:expire(book.session) end)

-- Joins while cut_short() cuts the join short.
local function join_cut_short(cut_short)
    return function(book)
        use(book.lock)
        book.arm()
        local thread
        pcall(zklock.run, function()
            thread = coroutine.running()
            local member = join(book)
            if member then member:leave() end
        end, function() cut_short(book, thread) end)
    end
end

-- Joins while cut_short() cuts the join short before the create is answered.
local function join_unanswered(cut_short)
    local chapter = join_cut_short(cut_short)
    return function(book)
        proxy:command("hold create2 1")
        chapter(book)
        proxy:command("flow")
    end
end

chapters.join_interrupted = join_unanswered(function(book, thread)
    try(book.session.interrupt, book.session, thread)
end)

chapters.join_closed = join_cut_short(function(book)
    book.session:close()
    book.session = nil
end)

chapters.join_dropped = join_unanswered(function() error("the coroutine is dropped", 0) end)

-- Members come, change and go, also without a connection.
function chapters.members(book)
    local session, folder, told = book.session, folder_of(book), nil
    local function wait_for_list(text)
        wait_for(session, text, function() return told == text end)
    end
    server:foreign("create %s ''", folder)
    book.arm()
    local stop = try(session.members, session, folder, function(list)
        local words = {}
        for i, each in ipairs(list or {}) do words[i] = each.name .. "=" .. each.data end
        told = table.concat(words, " ")
    end)
    if stop then wait_for_list("") end
    server:foreign("create %s/a one create %s/b one", folder, folder)
    if stop then wait_for_list("a=one b=one") end
    proxy:command("cut")
    server:foreign("set %s/a two delete %s/b", folder, folder)
    if stop then wait_for_list("a=two") end
    server:foreign("delete %s/a delete %s", folder, folder)
    if stop then wait_for_list("") end
    if stop then stop() end
    failing.disarm()
    wait_for(session, "no watch", function() return session:stats().watches == 0 end)
end

-- --- chapters of a lock without an order -------------------------------------------------------

local function unfair(chapter, ...)
    local arguments = { ... }
    return function(book)
        local options = { order = "none", jitter = 0.01, data = "a test" }
        book.lock = book.session:mutex(book.lock.path, options)
        chapter(book, table.unpack(arguments))
    end
end

chapters.unfair_acquire = unfair(chapters.acquire)
chapters.unfair_again = unfair(chapters.again)
chapters.unfair_wait = unfair(chapters.wait)
chapters.unfair_queue = unfair(chapters.queue)
chapters.unfair_create_lost = unfair(chapters.create_lost)
chapters.unfair_delete_lost = unfair(chapters.delete_lost)
chapters.unfair_look = unfair(look_again, 1)

-- Acquires a lock whose node is of this session, but of no claim, and is removed first.
chapters.unfair_stray = unfair(function(book)
    use(book.lock)
    proxy:command("refuse")
    local made = rig.foreign(server:host() .. "@" .. book.session:id(), "ephemeral %s/lock ''",
                             book.lock.path)
    proxy:command("accept")
    assert(made:find("^ok "), made)
    wait_for(book.session, "the reconnect", function()
        local stats = book.session:stats()
        return stats.reconnects > 0 and book.session:state() == "connected" and stats.in_flight == 0
    end)
    book.arm()
    try_once(book.lock, PATIENCE)
    failing.disarm()
    use(book.lock)
end)

-- --- chapters of a lock in turns ---------------------------------------------------------------

local function in_turns(chapter)
    return function(book)
        local options = { order = "turns", batch = 2, data = "a test" }
        book.lock = book.session:mutex(book.lock.path, options)
        chapter(book)
    end
end

-- Four wait for their turn, and the second gives up. The node passes to the rest; after two grants
-- the session asks whether others wait.
chapters.turns = in_turns(function(book)
    local lock, queued = book.lock, 0
    local first = assert(lock:acquire{ timeout = PATIENCE, owner = "first" })
    book.arm()
    try(rig.run, 4, function(i)
        local told = false
        local function tell()
            queued = told and queued or queued + 1
            told = true
        end
        local options = { timeout = PATIENCE, owner = i, on_queued = tell }
        local lease = try(lock.acquire, lock, options)
        tell()
        if lease then lease:release() end
    end, function()
        rig.eventually(function() return queued == 4 end, PATIENCE)
        try(book.session.interrupt, book.session, 2)
        first:release()
    end)
    first:release()
end)

chapters.turns_acquire = in_turns(chapters.acquire)
chapters.turns_cut = in_turns(chapters.cut)
chapters.turns_close = in_turns(chapters.close)

-- Expires the session while one holds and one waits, and opens another.
function chapters.expire(book)
    local lock, id = book.lock, book.session:id()
    local first = acquire(lock)
    book.arm()
    proxy:command("blackhole")
    wait_for(book.session, "the end", function() return first:state() == "lost" end)
    wait_for(book.session, "the expiry", function() return #server:nodes(lock.path) == 0 end)
    proxy:command("flow")
    wait_for(book.session, "another session", function()
        return book.session:state() == "connected" and book.session:id() ~= id
    end)
    first:release()
end

-- Longer without a server than its timeout, so that the session's probe (zookeeper/probe.c) opens.
function chapters.probe(book)
    local session = book.session
    use(book.lock)
    proxy:break_off(session)
    local begin = core.now()
    local function wait_until(share)
        wait_for(session, "the probe", function() return core.now() > begin + share * TIMEOUT end)
    end
    wait_until(0.9)
    book.arm()
    wait_until(1.5)
    proxy:command("accept")
end


-- --- on a server in memory -----------------------------------------------------------------------

-- Returns the number of a lock's nodes, 0 also without the memory to tell.
local function count_nodes(path)
    local ok, nodes = pcall(server.nodes, server, path)
    return ok and #nodes or 0
end


-- Loses the connection with the answer to a create, and heals it.
function chapters.memory_cut(book)
    local lock, session = book.lock, book.session
    use(lock)
    memory:delay(0.1)
    book.arm()
    try(zklock.run, function()
        try_once(lock, PATIENCE)
    end, function()
        rig.eventually(function() return count_nodes(lock.path) == 1 end, 0.05)
        memory:cut(session)
        memory:delay(0)
        memory:heal(session)
    end)
end


local function chapter_of_end(fault)
    return function(book)
        local lock, session = book.lock, book.session
        local lease, id = assert(lock:acquire(PATIENCE)), session:id()
        book.arm()
        fault(session)
        assert(lease:state() == "lost", "it is held without a session")
        wait_for(session, "another session", function()
            return session:state() == "connected" and session:id() ~= id
        end)
        lease:release()
    end
end

chapters.memory_expire = chapter_of_end(function(session) memory:expire(session) end)
chapters.memory_reset = chapter_of_end(function() memory:reset() end)


function chapters.memory_watch(book)
    local session, node = book.session, book.lock.path .. "-watched"
    local other, seen = assert(connect(server.hosts)), nil
    local pen = other:mutex(book.lock.path .. "-pen")
    local function write(...)
        local lease = try(pen.acquire, pen, PATIENCE)
        if not lease then return end
        pcall(lease.guard, lease, { { ... }, timeout = PATIENCE }) -- on a node that may be missing
        lease:release()
    end
    use(pen)
    book.arm()
    local stop = try(session.watch, session, node, function(data) seen = data or "none" end)
    write("create", node, "one")
    memory:cut(session)
    write("set", node, "two")
    memory:heal(session)
    failing.disarm()
    local data = other:get(node, PATIENCE)
    if stop then
        wait_for(session, "what is there", function() return seen == (data or "none") end)
        stop()
    end
    wait_for(session, "no watch", function() return session:stats().watches == 0 end)
    if data then write("delete", node) end
    other:close()
end


-- Calls a tester's methods of a server and of a missing server.
function chapters.memory_look(book)
    local slow = zklock.memory "slow"
    book.arm()
    try(memory.children, memory, "/")
    try(slow.delay, slow, 0.1)
    slow:delay(0)
end


-- --- the book -------------------------------------------------------------------------------

local function connect_again()
    return rig.wait_for("a session", function() return (connect(proxy.hosts)) end, PATIENCE)
end

-- Checks that the lock is free, then that nothing of it is left in ZooKeeper.
local function check_lock(session, path)
    use(session:mutex(path))
    rig.wait_for("no node", function() return #server:nodes(path) == 0 end, PATIENCE)
end

local function check_memory()
    rig.wait_for("all memory to be freed", function()
        collectgarbage()
        return failing.living() <= 1 -- the board of the Lua state (shell/board.c)
    end, PATIENCE)
end

-- Runs a chapter; returns the place of the n-th allocation, or nil.
local function run_chapter(chapter, n)
    local book = { session = assert(connect(proxy.hosts)) }
    local path = rig.path()
    book.lock = book.session:mutex(path, { data = "a test" })
    book.arm = function() failing.arm(n) end
    chapters[chapter](book)
    failing.disarm()
    local session = book.session or connect_again()
    check_lock(session, path)
    rig.wait_for("no member", function()
        return not book.folder or count_members(book.folder) == 0
    end, PATIENCE)
    session:close()
    book, session = nil, nil -- luacheck: ignore 311
    check_memory()
    return failing.place()
end


-- `run`, beside this script, reads these lines.
local chapter, n, step = arg[1], tonumber(arg[2]), tonumber(arg[3])
repeat
    io.write(chapter, memory and "@memory" or "", " ", n, "\n")
    io.flush()
    local ok, result = xpcall(run_chapter, debug.traceback, chapter, n)
    io.write("place ", failing.place() or "none", "\n")
    if not ok then
        io.stderr:write(result, "\n")
        os.exit(1)
    end
    n = n + step
until not result
if proxy.stop then proxy:stop() end
