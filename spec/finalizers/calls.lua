--- A call of each public function, by the function's name in the types. It gets a book (storm.lua),
-- whose objects other calls use at the same time, and does not take long.

local resty_lock = require "zklock.resty_lock"
local zklock = require "zklock"

local unpack = table.unpack or unpack

local calls = {}


-- --- the module -------------------------------------------------------------------------

calls["zklock.connect"] = function(book)
    local session, message, code = zklock.connect(book.hosts, { identity = "guest" })
    if not session then return nil, message, code end
    session:close()
end

calls["zklock.memory"] = function(book) zklock.memory(book.name) end

calls["zklock.run"] = function(book)
    zklock.run(function() book.turns:with(1, function() end) end,
               function() book.session:get(book.node, 1) end,
               function() zklock.sleep(0) end)
end

calls["zklock.sleep"] = function() zklock.sleep(0) end
calls["zklock.driver"] = function() zklock.driver(nil) end
calls["zklock.close_on_signal"] = function() zklock.close_on_signal "USR1" end
calls["zklock.metrics"] = function() zklock.metrics{ job = "storm" } end


-- --- a world of virtual time ------------------------------------------------------------

local function program(world)
    world:process("server", function()
        local session = assert(zklock.connect "memory:shop")
        session:mutex("/lock"):with(1, function() world:pause() end)
    end)
end

calls["zklock.simulate"] = function() return zklock.simulate(program, { seeds = 1 }) end

calls["zklock.world"] = function()
    local world, message, code = zklock.world(program)
    if not world then return nil, message, code end
    return world:run()
end

local arguments = {
    process = { "another", function() end }, at = { 0, function() end },
    finally = { function() end }, note = { "a line" },
    stop = { "server", 1 }, kill = { "server" }, cut = { "server" }, heal = { "server" },
    expire = { "server" }, choose = { 1 },
}

for _, name in ipairs{ "process", "at", "finally", "now", "note", "random", "stop", "kill", "cut",
                       "heal", "expire", "choices", "choose", "step", "run" } do
    calls["world:" .. name] = function()
        local world, message, code = zklock.world(program)
        if not world then return nil, message, code end
        world[name](world, unpack(arguments[name] or {}))
        for _ = 1, 5 do world:step() end
    end
end

calls["world:pause"] = calls["zklock.world"] -- its process pauses


-- --- a server in memory -----------------------------------------------------------------

calls["memory:cut"] = function(book)
    book.is_cut, book.patience = true, 0.01
    book.memory:cut(book.session)
    book.memory:heal(book.session)
    book.is_cut, book.patience = false, 1
end

calls["memory:heal"] = function(book) book.memory:heal(book.session) end
calls["memory:delay"] = function(book) book.memory:delay(0) end
calls["memory:children"] = function(book) book.memory:children "/" end
calls["memory:expire"] = function(book) book.memory:expire(book.session) end
calls["memory:reset"] = function(book) book.memory:reset() end


-- --- a session --------------------------------------------------------------------------

for _, name in ipairs{ "state", "id", "timeout", "fd", "dispatch", "stats", "interrupt" } do
    calls["session:" .. name] = function(book) book.session[name](book.session) end
end

calls["session:mutex"] = function(book) book.session:mutex("/a", { data = "text" }) end
calls["session:rwlock"] = function(book) book.session:rwlock("/b", { data = "text" }) end
calls["session:semaphore"] = function(book) book.session:semaphore("/c", 2) end

calls["session:multi"] = function(book)
    local multi = book.session:multi{ book.session:mutex "/d", book.session:mutex "/e" }
    multi:with(0, function() end)
end

calls["session:locked"] = function(book)
    book.session:locked("/f-", 1, function() end, { timeout = 0 })("key")
end

calls["session:set_hosts"] = function(book) book.session:set_hosts(book.hosts, 0) end
calls["session:election"] = function(book) book.session:election "/g" end
calls["session:get"] = function(book) book.session:get(book.node, book.patience) end

-- Follows a node or folder. The new book[name] stops that. Calls the book[name] of before.
local function follow(book, method, path, hear, name)
    local stopped, stop
    stop = book.session[method](book.session, path, function(news)
        -- In Lua 5.4 a finalizer may run where a stack grows, also between the last check for a
        -- stop and this call.
        if stopped and rawget(_G, "jit") then book.problem = method .. " called when stopped" end
        hear(news)
    end)
    local before = book[name]
    book[name] = function()
        stopped = true
        if stop then stop() end
    end
    before()
end

calls["session:watch"] = function(book) follow(book, "watch", book.node, book.seen, "stop") end
calls["session:members"] = function(book)
    follow(book, "members", "/members", book.list, "stop_members")
end

-- A new name each time, because a finalizer may join in the middle of another join, whose name is
-- taken.
local function join(book)
    book.joins = book.joins + 1
    local name = "member-" .. book.joins
    return book.session:join("/members", { name = name, timeout = book.patience })
end

calls["session:join"] = function(book)
    local member, message, code = join(book)
    if not member then return nil, message, code end
    member:leave()
end

-- Another coroutine raises an error during a join, so the join is dropped.
calls["session:join, dropped"] = function(book)
    pcall(zklock.run, function()
        local member = join(book)
        if member then member:leave() end
    end, error)
end

calls["session:release_all"] = function(book) book.session:release_all "another" end
calls["session:close"] = function(book) book.session:close() end


-- --- locks ------------------------------------------------------------------------------

calls["lock:acquire"] = function(book)
    for _, owner in ipairs{ book.owner, "another" } do
        local lease = book.lock:acquire{ timeout = 0, owner = owner, on_queued = book.hear }
        if lease then lease:release() end
    end
    local lease = book.kept:acquire(0)
    if lease then lease:release() end
end

calls["lock:with"] = function(book) book.turns:with(0, function() end) end

calls["lock:combine"] = function(book)
    book.turns:combine(function(_, items) return items end)("item", 0.001)
end

calls["lock:queue"] = function(book) book.lock:queue(book.patience) end
calls["lock:revoke"] = function(book) book.lock:revoke(book.patience) end
calls["lock:condition"] = function(book) book.lock:condition "full" end
calls["rwlock:read"] = function(book) book.rwlock:read():with(0, function() end) end
calls["rwlock:write"] = function(book) book.rwlock:write():with(0, function() end) end


-- --- a lease ----------------------------------------------------------------------------

for _, name in ipairs{ "token_string", "state", "held", "remaining" } do
    calls["lease:" .. name] = function(book) book.lease[name](book.lease) end
end

calls["lease:expire"] = function(book) book.lease:expire(60) end
calls["lease:check"] = function(book) book.lease:check(book.patience) end

for _, name in ipairs{ "on_lost", "on_revoke" } do
    calls["lease:" .. name] = function(book)
        local stop = book.lease[name](book.lease, function() book.hear() end)
        stop()
    end
end

calls["lease:downgrade"] = function(book)
    local lease = book.rwlock:write():acquire(0)
    if not lease then return end
    lease:downgrade(book.patience)
    lease:release()
end

calls["lease:guard"] = function(book)
    local set = { "set", book.node, book.text }
    book.lease:guard{ set, { "check", book.node }, timeout = book.patience }
    book.lease:guard{ { "delete", "/not-there" }, timeout = book.patience }
end

calls["lease:release"] = function(book)
    book.lease:release()
    book.lease = book.lock:acquire{ timeout = 0, owner = book.owner } or book.lease
end


-- --- a member ---------------------------------------------------------------------------

calls["member:set"] = function(book)
    return book.member:set("set", book.patience)
end

calls["member:state"] = function(book)
    if book.member:state() == "" then book.problem = "a member without a state" end
    tostring(book.member)
end

calls["member:on_change"] = function(book)
    local stop = book.member:on_change(book.hear)
    book.session:dispatch()
    stop()
end

calls["member:leave"] = function(book)
    book.member:leave()
    book.member = join(book) or book.member
end


-- --- lua-resty-lock's interface ---------------------------------------------------------

calls["resty_lock.use"] = function(book) resty_lock.use(book.session) end

calls["resty_lock:new"] = function(book)
    resty_lock.use(book.session)
    return resty_lock:new("storm", { timeout = 0.001 })
end

for _, name in ipairs{ "lock", "unlock", "expire" } do
    calls["resty_lock:" .. name] = function(book)
        local lock = calls["resty_lock:new"](book)
        if name ~= "lock" then lock:lock(book.name) end
        lock[name](lock, name == "lock" and book.name or nil)
    end
end


-- --- a condition, an election -----------------------------------------------------------

calls["condition:wait"] = function(book) book.condition:wait(book.lease, 0.001) end

calls["condition:signal"] = function(book)
    book.condition:signal(book.lease, book.patience)
end

calls["condition:broadcast"] = function(book)
    book.condition:broadcast(book.lease, book.patience)
end

-- Not during a cut, because lead() has no deadline.
calls["election:lead"] = function(book)
    return book.is_cut or book.election:lead(function() return true end)
end

calls["election:leader"] = function(book) book.election:leader(book.patience) end

calls["election:on_change"] = function(book)
    local stop = book.election:on_change(book.hear)
    book.session:dispatch()
    if stop then stop() end
end


-- --- a request, as a driver has it -----------------------------------------------------

calls["request:done"] = function(book) return book.request and book.request:done() end

calls["request:on_done"] = function(book)
    return book.request and book.request:on_done(book.hear)
end


return calls
