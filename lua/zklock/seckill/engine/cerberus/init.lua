--- Engine "cerberus", which uses one of several engines in an order (S4, REQ-17, REQ-18). The
--- switch, a node of ZooKeeper that may be changed by hand at any time, selects the engine by its
--- name; any other text means the next engine in the order (CFG-17).
---
--- Without `safe` a process follows the switch as soon as it hears of a change, as in the seed
--- article. Held locks are then lost, because the old and the new engine each grant the lock
--- (PIT-21, DEMO-21).
---
--- With `safe = true` held locks survive the change-over from engine A to B. Processes register for
--- an epoch, and between A and B comes an epoch in which a lock needs both engines (rules.lua,
--- member.lua, docs/design/cerberus.md). A grant counts only if the epoch, read from ZooKeeper
--- afterwards, is unchanged; so no lock is granted while ZooKeeper does not answer.
---
--- Waiting and blocking depend on the engines. Outside of zklock.run a process looks at the
--- switch only when it acquires and releases locks, and is no member in between.

local clock = require "zklock.waiting.runtime"
local failure = require "zklock.seckill.engine.failure"
local membership = require "zklock.seckill.engine.cerberus.member"
local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local orders = require "zklock.seckill.engine.cerberus.order"
local parts = require "zklock.seckill.engine.parts"
local places = require "zklock.seckill.engine.cerberus.place"
local rules = require "zklock.seckill.engine.cerberus.rules"
local tasks = require "zklock.waiting.tasks"
local zklock = require "zklock"


local RETRY_PAUSE = 0.01 -- seconds until the next try
local LOOK_PAUSE = 0.02  -- seconds between looks at the switch

-- Codes of an engine for a lock that is not available now.
local UNAVAILABLE = { timeout = true, busy = true }


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


-- without `safe` --------------------------------------------------------------------------------

-- Follows each version of the switch only once, because an unknown name means the next engine. The
-- version of a node that was created again begins at 0.
local function follow_switch(engine, text, version)
    if version == engine.followed_version and text == engine.followed_text then return end
    engine.followed_version, engine.followed_text = version, text
    engine.chosen = rules.meant(engine.options.order, engine.chosen, text)
end


local function read_and_follow_switch(engine, due)
    local wish = engine.place:wish(due)
    follow_switch(engine, wish.text, wish.version)
end


local function try_chosen(lock, owner, request)
    local engine = lock.engine
    local lease, message, code = engine.order:acquire(lock, engine.chosen, owner, request,
        function() return not request.interrupted end)
    if lease then return { parts = { lease } } end
    request.unsure = code ~= "busy"
    if not UNAVAILABLE[code] then failure.raise(code, message) end
    return nil, 0
end


-- with `safe` -------------------------------------------------------------------------------------

-- After a change of epoch the requests of the previous epoch must begin anew.
local function wake_all(engine)
    for request in pairs(engine.requests) do way.wake(request) end
end


-- Notes whether the engine failed; returns true if it has failed for `failover` seconds. ZooKeeper
-- has no failover.
local function note_failure(engine, name, failed)
    if not failed then
        engine.failing_since[name] = nil
        return
    end
    engine.failing_since[name] = engine.failing_since[name] or clock.now()
    local failover = engine.options.failover
    return failover and engine.order:kind(name) ~= "zookeeper"
        and clock.now() >= engine.failing_since[name] + failover
end


-- Sets the switch to the next engine, unless a change-over is under way, or the switch was set
-- meanwhile.
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


-- Acquires the lock of one engine; nil if the lock is not available now, or no longer wanted.
local function take_one(lock, name, owner, request, is_wanted)
    local engine = lock.engine
    local lease, message, code = failure.catch(lock.name, engine.order.acquire, engine.order, lock,
        name, owner, request, is_wanted)
    local failed = not lease and code == "connection"
    if note_failure(engine, name, failed) then fail_over(engine, name, request.due) end
    request.unsure = code ~= "busy"
    if failed and engine.options.failover then return nil end
    if not lease and not UNAVAILABLE[code] and code ~= "interrupted" then
        failure.raise(code, message)
    end
    return lease
end


-- The first engine's lock may have expired during the wait for the second engine's.
local function all_held(leases)
    for _, lease in ipairs(leases) do
        if not lease:held() then return false end
    end
    return true
end


-- Acquires the locks of all engines of the epoch in order; false if one is not available, or if the
-- epoch, the registration or a lock has ended meanwhile.
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


local function try_in_epoch(lock, registration, owner, request)
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
    return registration and try_in_epoch(lock, registration, owner, request), RETRY_PAUSE
end


-- The looker is a coroutine that tends the membership. It ends with its run or the host's task.
local function looker_lives(engine)
    return engine.looked_at and not engine.is_run_over()
        and clock.now() < engine.looked_at + 3 * LOOK_PAUSE
end


local function ensure_looker(engine)
    local is_run_over = tasks.end_of_run()
    if not is_run_over or looker_lives(engine) then return end
    engine.looker_number, engine.is_run_over = engine.looker_number + 1, is_run_over
    coroutine.wrap(function(number)
        while engine.looker_number == number and not engine.closed do
            engine.looked_at = clock.now()
            engine.member:tend()
            zklock.sleep(LOOK_PAUSE)
        end
    end)(engine.looker_number)
end


-- Outside of a run a process without requests gives up its registration.
local function settle_after_request(engine)
    if not tasks.is_active() and not next(engine.requests) then engine.member:rest() end
    engine.member:tend()
end


-- with and without `safe` -------------------------------------------------------------------------

function way.open(engine)
    local given = engine.options
    engine.failing_since, engine.looker_number = {}, 0
    engine.order = orders.new(given)
    engine.has = engine.order:has()
    engine.chosen = given.order[1]
    engine.place = places.open(given, engine.chosen)
    if given.safe then
        engine.member = membership.new(engine.place, engine.order)
        engine.member.on_change = function() wake_all(engine) end
        ensure_looker(engine)
    else
        read_and_follow_switch(engine)
        engine.place:watch("cerberus_engine", function(...) follow_switch(engine, ...) end)
    end
    return engine
end


function way.try(lock, owner, request)
    if not lock.engine.options.safe then return try_chosen(lock, owner, request) end
    ensure_looker(lock.engine)
    return try_safely(lock, owner, request)
end


function way.wake(request)
    if request.awaited_engine then request.awaited_engine:interrupt(request.owner) end
end


function way.finish(lock, request)
    if lock.engine.member and not request.granted then settle_after_request(lock.engine) end
end


function way.granted(lease)
    if lease.value then lease.value:add(lease) end
end


function way.check(lease)
    if lease.value and not lease.value:check() then return false end
    return parts.ask_each(lease.parts, "check")
end


-- A release that got no answer ends the membership all the same, and can be repeated without it.
function way.release(lease)
    local stood = lease.stood_at_release or not lease.value or lease.value:stands()
    lease.stood_at_release = stood
    local were_held, message, code = failure.catch(lease.name, parts.release, lease.parts)
    if lease.value then
        lease.value:remove(lease)
        settle_after_request(lease.lock.engine)
    end
    if code and stood then failure.raise(code, message) end
    return were_held and stood
end


function way.epoch(lease)
    local epoch = lease.value.epoch
    return epoch.number, table.concat(epoch.engines, " ")
end


--- Only tokens of one epoch can be compared.
function way.token(lease) return lease.parts[1]:token_string() end


local function await_change_over(engine, due)
    repeat
        local ok, message = engine.member:tend(true, due)
        if not ok then return failure.of("connection", "the switch", message) end
        if not engine.member:is_changing_over() then return true end
        zklock.sleep(LOOK_PAUSE)
    until clock.now() > due
    return failure.of("timeout", "the switch", engine.member.awaits)
end


-- Writes the name of the engine that the value means. A process that is opened later begins with
-- the first engine, so any other text may mean another engine to it.
local function switch_at_once(engine, value, due)
    engine.place:edit("cerberus_engine", function(text, version)
        follow_switch(engine, text, version)
        return rules.meant(engine.options.order, engine.chosen, value)
    end, due)
    read_and_follow_switch(engine, due)
    return true
end


--- Sets the switch, and with `safe` waits until only the new engine is in use. The change-over
--- continues even after a timeout.
function way.switch(engine, value, timeout)
    if type(value) ~= "string" or value:find "%c" then
        misuse.refuse("switch takes the name of an engine, or \"\" for the next in the order, "
            .. "not %s", misuse.show(value))
    end
    local due = clock.now() + (options.of_switch(timeout) or engine.options.session)
    return failure.catch("the switch", function()
        if not engine.options.safe then return switch_at_once(engine, value, due) end
        engine.place:change(due, function(write) write("cerberus_engine", value) end)
        return await_change_over(engine, due)
    end)
end


function way.close(engine)
    engine.closed = true
    if engine.member then engine.member:close() else engine.place:close() end
    engine.order:close()
end


return way
