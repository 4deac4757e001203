--- [lua luajit asan tsan] Each packet of each operation is lost once, in worlds. The process of the
-- operation, the actor, is cut off, stopped or killed while the packet is on its way. The operation
-- still comes to its outcome, two processes never hold, and no node is left. (spec/fault has one
-- loss of each kind on a real server.)

local zklock = require "zklock"

local TIMEOUT = 4
local SHORT, LONG = 0.5, 3 * TIMEOUT -- a session outlives the first, and not the second
local PATIENT = 100
local AFTER = 1e-6 -- seconds; a packet is on its way for longer
local PATH, OTHER = "/locks/bun", "/locks/tea"

local faults = {
    { "cut off for a moment", function(world) world:cut("actor", SHORT) end, brief = true },
    { "cut off for long", function(world) world:cut("actor", LONG) end },
    { "stopped for long", function(world) world:stop("actor", LONG) end },
    { "killed", function(world) world:kill("actor") end, kills = true },
}

-- The results of a call whose session has ended.
local ENDS = { lost = true, expired = true, timeout = true, unknown = true, no_node = true }


local function outcome(result, _, code)
    return result == nil and code or tostring(result)
end


local function hold(it, wish)
    local lease, _, code = it.lock:acquire(wish or it.wish or PATIENT)
    it.lease = lease
    return lease and "held" or code
end


local function until_true(it, fn)
    local due = it.world:now() + PATIENT
    while not fn() do
        assert(it.world:now() < due, "it takes too long")
        zklock.sleep(0.5)
    end
end


local function mutex(session) return session:mutex(PATH) end


-- The other process lets the actor begin, and comes a second later.
local function come_after(it)
    it.ready = true
    until_true(it, function() return it.began end)
    zklock.sleep(1)
end


-- --- the operations ---------------------------------------------------------------------------

-- Fields of an operation:
--   act(case)      the actor runs it; its result is `outcome`, or `or_else` if an answer was lost
--   begin(case)    the actor runs it before act()
--   others(case)   the other process runs it meanwhile
--   lock(session)  makes the lock that both processes want
local operations = {
    ["taking a free lock"] = {
        begin = function(it)
            hold(it)
            it.lease:release{ wait = PATIENT }
            it.lease = nil
        end,
        act = hold, outcome = "held",
    },
    ["taking a lock whose path nobody has used"] = {
        lock = function(session) return session:mutex("/new/path") end,
        act = hold, outcome = "held",
    },
    ["trying a lock"] = {
        act = function(it) return hold(it, 0) end,
        outcome = "held", or_else = "timeout",
    },
    ["waiting in line"] = {
        others = function(it)
            local lease = assert(it.rival:acquire(PATIENT))
            come_after(it)
            lease:release()
        end,
        act = hold, outcome = "held",
    },
    ["taking a lock without an order"] = {
        lock = function(session) return session:mutex(OTHER, { order = "none" }) end,
        act = hold, outcome = "held",
    },
    ["taking permits"] = {
        lock = function(session) return session:semaphore(OTHER, 3) end,
        wish = { permits = 2, timeout = PATIENT },
        act = hold, outcome = "held",
    },
    ["taking several locks"] = {
        lock = function(session)
            return session:multi{ session:mutex(PATH), session:mutex(OTHER) }
        end,
        act = hold, outcome = "held",
    },
    ["taking turns"] = {
        lock = function(session) return session:mutex(OTHER, { order = "turns" }) end,
        act = function(it)
            local grants = 0
            local function take()
                local lease = it.lock:acquire{ timeout = PATIENT, owner = {} }
                if not lease then return end
                grants = grants + 1
                lease:release()
            end
            zklock.run(take, take, take)
            return grants == 3 and "three grants" or "expired"
        end,
        outcome = "three grants",
    },
    ["keeping a lock and taking it once more"] = {
        lock = function(session) return session:mutex(PATH, { keep = 60 }) end,
        act = function(it)
            local code = hold(it)
            if not it.lease then return code end
            it.lease:release()
            return hold(it)
        end,
        outcome = "held",
    },
    ["releasing a lock"] = {
        begin = hold,
        act = function(it) return outcome(it.lease:release{ wait = PATIENT }) end,
        outcome = "true",
    },
    ["checking a lease"] = {
        begin = hold,
        act = function(it) return outcome(it.lease:check(PATIENT)) end,
        outcome = "true",
    },
    ["looking at the queue"] = {
        begin = hold,
        act = function(it)
            local queue, _, code = it.lock:queue(PATIENT)
            return queue and "a list" or code
        end,
        outcome = "a list",
    },
    ["becoming a reader"] = {
        lock = function(session) return session:rwlock(OTHER):write() end,
        begin = hold,
        act = function(it) return outcome(it.lease:downgrade(PATIENT)) end,
        outcome = "true",
    },
    ["writing under guard"] = {
        begin = function(it)
            hold(it)
            assert(it.lease:guard{ { "create", "/stock", "1" } })
        end,
        act = function(it)
            return outcome(it.lease:guard{ { "set", "/stock", "0" }, timeout = PATIENT })
        end,
        outcome = "true", or_else = "unknown",
    },
    ["waiting in a condition"] = {
        others = function(it)
            it.ready = true
            local condition = it.rival:condition "full"
            repeat
                zklock.sleep(1)
                local lease = assert(it.rival:acquire(PATIENT))
                condition:signal(lease, PATIENT)
                lease:release()
            until it.ended or it.struck
        end,
        begin = hold,
        act = function(it)
            return outcome(it.lock:condition("full"):wait(it.lease, PATIENT))
        end,
        outcome = "true",
    },
    ["signalling a condition"] = {
        begin = hold,
        act = function(it)
            return outcome(it.lock:condition("full"):signal(it.lease, PATIENT))
        end,
        outcome = "0",
    },
    ["joining, setting and leaving"] = {
        act = function(it)
            local member, _, code = it.session:join("/members", { name = "a", timeout = PATIENT })
            if not member then return code end
            local set
            set, _, code = member:set("2", PATIENT)
            member:leave()
            return set and "left" or code
        end,
        outcome = "left",
    },
    ["reading a node"] = {
        begin = hold,
        act = function(it)
            local data, _, code = it.session:get(PATH, PATIENT)
            return data and "data" or code
        end,
        outcome = "data",
    },
    ["following a folder"] = {
        others = function(it)
            come_after(it)
            assert(it.other:join("/members", { name = "b", timeout = PATIENT }))
        end,
        act = function(it)
            local last
            assert(it.session:members("/members", function(list, _, code)
                last = list and (list[1] and list[1].name or "none") or code
            end))
            until_true(it, function() return last == "b" end)
            return last
        end,
        outcome = "b",
    },
    ["watching a node"] = {
        others = function(it)
            come_after(it)
            local lease = assert(it.other:mutex(OTHER):acquire(PATIENT))
            assert(lease:guard{ { "create", "/price", "5" }, timeout = PATIENT })
            lease:release()
        end,
        act = function(it)
            local last
            assert(it.session:watch("/price", function(data, _, code) last = data or code end))
            until_true(it, function() return last == "5" end)
            return last
        end,
        outcome = "5",
    },
}


-- --- a schedule -------------------------------------------------------------------------------

-- Counts the nodes of locks and members, without the other process's member.
local function nodes_left()
    local count = 0
    for _, folder in ipairs{ PATH, OTHER, "/new/path", PATH .. "-condition-full", "/members" } do
        for _, name in ipairs(zklock.memory("shop"):children(folder) or {}) do
            if name ~= "b" then count = count + 1 end
        end
    end
    return count
end


local function be_actor(it, operation)
    it.session = assert(zklock.connect("memory:shop", { timeout = TIMEOUT }))
    it.lock, it.wish = (operation.lock or mutex)(it.session), operation.wish
    until_true(it, function() return it.ready end)
    if operation.begin then operation.begin(it) end
    it.began = it.world:now()
    it.outcome = operation.act(it)
    it.ended = it.world:now()
    zklock.sleep(1)
    if it.lease then it.lease:release() end
    it.released = true
    until_true(it, function()
        local stats = it.session:stats()
        return stats.in_flight == 0 and (stats.claims == 0 or it.lock.keep)
    end)
    it.session:close()
end


local function be_other(it, operation)
    it.other = assert(zklock.connect("memory:shop", { timeout = TIMEOUT }))
    it.rival = (operation.lock or mutex)(it.other)
    if operation.others then operation.others(it) else it.ready = true end
    until_true(it, function() return it.ended or it.struck and not it.fault.brief end)
    local lease = assert(it.rival:acquire(operation.wish or PATIENT))
    assert(it.released or not it.lease or not it.lease:held(), "two hold")
    zklock.sleep(1)
    assert(lease:check(PATIENT))
    lease:release()
    until_true(it, function() return it.released or it.fault.kills end)
    until_true(it, function() return nodes_left() == 0 end)
end


local function run(operation, fault, at)
    local it = { fault = fault or { brief = true } }
    local world = assert(zklock.world(function(world)
        it.world = world
        world:process("actor", function() be_actor(it, operation) end)
        world:process("other", function() be_other(it, operation) end)
        if not fault then return end
        world:at(at, function()
            it.struck = true
            fault[2](world)
        end)
    end, { faults = { delay = 0.01 } }))
    local ok, problem = world:run()
    return it, ok and world, problem
end


-- Returns a moment at which each packet of the actor's operation is on its way.
local function moments(operation)
    local it, world = run(operation)
    assert.equal(operation.outcome, it.outcome)
    local list = {}
    for _, message in ipairs(world.messages) do
        if message.process == "actor" and message.sent >= it.began and message.sent < it.ended then
            list[#list + 1] = { at = message.sent + AFTER, text = message.text, up = message.up }
        end
    end
    return list
end


describe("an operation in a world #lock:acquire #session:join #session:members #session:watch",
         function()
    for name, operation in pairs(operations) do
        local list
        for _, fault in ipairs(faults) do
            it(("a process that is %s at any packet, %s, comes to its outcome"):format(fault[1],
               name), function()
                list = list or moments(operation)
                assert.is_true(#list > 1)
                for _, moment in ipairs(list) do
                    local it, ok, problem = run(operation, fault, moment.at)
                    local what = ("%s %s at %.6f: "):format(moment.up and "to" or "from",
                                                            moment.text, moment.at)
                    assert.is_truthy(ok, what .. tostring(problem))
                    local as_without = it.outcome == operation.outcome
                        or it.outcome == operation.or_else
                    local ended = not fault.brief and (not it.outcome or ENDS[it.outcome])
                    assert.is_true(as_without or ended, what .. tostring(it.outcome))
                end
            end)
        end
    end
end)
