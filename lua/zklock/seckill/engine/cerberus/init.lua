--- Engine "cerberus", several engines in an order, one of which is in use (S4, REQ-17, REQ-18). A
--- switch selects it, a node of ZooKeeper that may be changed by hand at any time. Its value is an
--- engine's name; any other text, or none, means the next in the order (CFG-17).
---
--- Without `safe` it works as the seed's. Each process follows the switch as soon as it hears of
--- it, and held locks are lost, because the old and the new engine each grant the lock (PIT-21,
--- DEMO-21).
---
--- With `safe = true` a switch keeps held locks. Processes register for an epoch, and between A and
--- B comes an epoch in which a lock needs both (rules.lua, member.lua, docs/design/cerberus.md). A
--- grant counts only if the epoch, read from ZooKeeper after it, is unchanged; so nobody is granted
--- a lock while ZooKeeper does not answer.
---
--- Waiting and blocking depend on the engines. Outside of zklock.run a process handles the switch
--- only when it acquires and releases locks, and is no member in between.

local clock = require "zklock.waiting.runtime"
local failure = require "zklock.seckill.engine.failure"
local members = require "zklock.seckill.engine.cerberus.member"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local orders = require "zklock.seckill.engine.cerberus.order"
local parts = require "zklock.seckill.engine.parts"
local places = require "zklock.seckill.engine.cerberus.place"
local rules = require "zklock.seckill.engine.cerberus.rules"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"


local AGAIN = 0.01 -- seconds after a try that met a switch
local TEND = 0.02  -- seconds between looks at a switch

-- Codes of an engine for a lock that is not available now.
local IN_VAIN = { timeout = true, busy = true }


local way = {
    has = { switch = true },
    defaults = { root = "/cerberus", session = 10, safe = false },
}


way.fields = {
    order = orders.list_of_names, engines = orders.table_of_options, zookeeper = options.text,
    root = options.text, session = options.seconds(0.1), safe = options.flag,
    failover = options.seconds(0),
}


function way.validate(given)
    if not given.order then misuse.refuse("the engine cerberus needs order = a list of engines") end
    if not given.zookeeper then
        misuse.refuse("the engine cerberus needs zookeeper = \"HOST:PORT\", for its switch")
    end
    if given.failover and not given.safe then misuse.refuse("failover needs safe = true") end
    orders.validate(given)
end


-- the seed's ------------------------------------------------------------------------------------

-- Follows each change once; unknown names mean the next engine.
local function hear(engine, text, version)
    if version == engine.heard then return end
    engine.heard = version
    engine.chosen = rules.meant(engine.options.order, engine.chosen, text)
end


local function ask(engine, due)
    local wish = engine.place:wish(due)
    hear(engine, wish.text, wish.version)
end


-- Acquires from the engine that the switch selects, as far as this process has heard.
local function try_chosen(lock, owner, request)
    local engine = lock.engine
    local lease, message, code = engine.order:acquire(lock, engine.chosen, owner, request,
        function() return not request.interrupted end)
    if lease then return { parts = { lease } } end
    request.unsure = code ~= "busy"
    if not IN_VAIN[code] then failure.raise(code, message) end
    return nil, 0
end


-- safe --------------------------------------------------------------------------------------------

-- Requests under the previous epoch must begin anew.
local function wake_all(engine)
    for request in pairs(engine.requests) do way.wake(request) end
end


-- True if this engine has failed its check for so long that the next one must be used. Failover
-- never leaves ZooKeeper.
local function note_failure(engine, name, failed)
    if not failed then
        engine.failing[name] = nil
        return
    end
    engine.failing[name] = engine.failing[name] or clock.now()
    local failover = engine.options.failover
    return failover and engine.order:kind(name) ~= "zookeeper"
        and clock.now() >= engine.failing[name] + failover
end


-- Sets the switch to the engine after the failing one, unless it was set meanwhile.
local function fail_over(engine, name, due)
    local epoch = engine.member.epoch
    if epoch.engines[2] or epoch.engines[1] ~= name then return end
    local wish = engine.place:wish(due)
    local following = rules.following(epoch, engine.options.order, wish)
    if following then return end
    engine.place:change(due, function(write)
        write("cerberus_engine", rules.meant(engine.options.order, name, ""), wish.version)
    end)
    engine.member:tend(true, due)
end


-- An engine's lock, unless it is no longer wanted once the engine is open; nil if it is not
-- available now.
local function take_one(lock, name, owner, request, is_wanted)
    local engine = lock.engine
    local lease, message, code = failure.catch(lock.name, engine.order.acquire, engine.order, lock,
        name, owner, request, is_wanted)
    local failed = not lease and code == "connection"
    if note_failure(engine, name, failed) then fail_over(engine, name, request.due) end
    request.unsure = code ~= "busy"
    if failed and engine.options.failover then return nil end
    if not lease and not IN_VAIN[code] and code ~= "interrupted" then
        failure.raise(code, message)
    end
    return lease
end


-- A lock may have expired during the wait for the next engine's.
local function all_held(leases)
    for _, lease in ipairs(leases) do
        if not lease:held() then return false end
    end
    return true
end


-- Acquires the locks of all engines of the epoch in order; false if some are not available, or if
-- they do not count.
local function take(leases, lock, registration, owner, request)
    local epoch, member = registration.epoch, lock.engine.member
    local function is_wanted()
        return not request.interrupted and member.epoch.number == epoch.number
    end
    for i, name in ipairs(epoch.engines) do
        leases[i] = take_one(lock, name, owner, request, is_wanted)
        if not leases[i] then return false end
    end
    return registration:is_current(request.due) and registration:stands() and all_held(leases)
end


local function try_in(lock, registration, owner, request)
    local leases = parts.gather(take, lock, registration, owner, request)
    if not leases then return nil end
    for _, lease in ipairs(leases) do lease.renewed_with = registration.lease end
    return { value = registration, parts = leases, bound = registration.lease }
end


local function try_safely(lock, owner, request)
    local member = lock.engine.member
    request.unsure = true -- until an engine says busy
    member:tend(false, request.due)
    local registration = member:join(request.due)
    return registration and try_in(lock, registration, owner, request), AGAIN
end


-- True if a coroutine looks after the switch. It ends with its run or with the host's task.
local function is_looked_after(engine)
    return engine.looked and not engine.is_over() and clock.now() < engine.looked + 3 * TEND
end


local function look_after(engine)
    local is_over = tasks.end_of_run()
    if not is_over or is_looked_after(engine) then return end
    engine.number, engine.is_over = engine.number + 1, is_over
    coroutine.wrap(function(number)
        while engine.number == number and not engine.closed do
            engine.looked = clock.now()
            engine.member:tend()
            zklock.sleep(TEND)
        end
    end)(engine.number)
end


-- Called after a lock or a failed request. A request that still waits calls it at its end.
local function settle(engine)
    if not tasks.active() and not next(engine.requests) then engine.member:rest() end
    engine.member:tend()
end


-- both --------------------------------------------------------------------------------------------

function way.open(engine)
    local given = engine.options
    engine.failing, engine.number = {}, 0
    engine.order = orders.new(given)
    engine.has = engine.order:has()
    engine.chosen = given.order[1]
    engine.place = places.open(given, engine.chosen)
    if given.safe then
        engine.member = members.new(engine.place, engine.order)
        engine.member.on_change = function() wake_all(engine) end
        look_after(engine)
    else
        ask(engine)
        engine.place:watch("cerberus_engine", function(...) hear(engine, ...) end)
    end
    return engine
end


function way.try(lock, owner, request)
    if not lock.engine.options.safe then return try_chosen(lock, owner, request) end
    look_after(lock.engine)
    return try_safely(lock, owner, request)
end


function way.wake(request)
    if request.waits_in then request.waits_in:interrupt(request.owner) end
end


function way.finish(lock, request)
    if lock.engine.member and not request.granted then settle(lock.engine) end
end


function way.granted(lease)
    if lease.value then lease.value:add(lease) end
end


function way.check(lease)
    if lease.value and not lease.value:check() then return false end
    return parts.each(lease.parts, "check")
end


function way.release(lease)
    local stood = not lease.value or lease.value:stands()
    local had = parts.release(lease.parts) and stood
    if lease.value then
        lease.value:remove(lease)
        settle(lease.lock.engine)
    end
    return had
end


function way.epoch(lease)
    local epoch = lease.value.epoch
    return epoch.number, table.concat(epoch.engines, " ")
end


--- Tokens compare within an epoch; a later epoch has later tokens.
function way.token(lease) return lease.parts[1]:token_string() end


local function await(engine, due)
    repeat
        local ok, message = engine.member:tend(true, due)
        if not ok then return failure.of("connection", "the switch", message) end
        if not engine.member:is_switching() then return true end
        zklock.sleep(TEND)
    until clock.now() > due
    return failure.of("timeout", "the switch", engine.member.awaits)
end


--- Sets the switch. With `safe` it waits until only the new engine is in use. The switch continues
--- after a timeout.
function way.switch(engine, value, timeout)
    if type(value) ~= "string" or value:find "%c" then
        misuse.refuse("switch takes the name of an engine, or \"\" for the next in the order, "
            .. "not %s", misuse.show(value))
    end
    local due = clock.now() + (options.switch(timeout) or engine.options.session)
    return failure.catch("the switch", function()
        engine.place:change(due, function(write) write("cerberus_engine", value) end)
        if not engine.options.safe then
            ask(engine, due)
            return true
        end
        return await(engine, due)
    end)
end


function way.close(engine)
    engine.closed = true
    if engine.member then engine.member:close() else engine.place:close() end
    engine.order:close()
end


return way
