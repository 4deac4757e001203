--- [lua luajit asan tsan] Each packet of each operation is lost once, in worlds. The process of the
-- operation, the actor, is cut off, stopped or killed while the packet is on its way. The operation
-- still comes to its outcome, two processes never hold, and no node is left. (spec/fault has one
-- loss of each kind on a real server.)

local zklock = require "zklock"

local TIMEOUT = 4
local SHORT, LONG = 0.5, 3 * TIMEOUT -- seconds; a session outlives SHORT, and not LONG
local PATIENT = 100 -- seconds
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


local function hold(case, options)
    local lease, _, code = case.lock:acquire(options or case.options or PATIENT)
    case.lease = lease
    return lease and "held" or code
end


local function wait_until(case, fn)
    local due = case.world:now() + PATIENT
    while not fn() do
        assert(case.world:now() < due, "it takes too long")
        zklock.sleep(0.5)
    end
end


local function mutex(session) return session:mutex(PATH) end

local function unfair_mutex(session) return session:mutex(OTHER, { order = "none" }) end

local function release(case) return outcome(case.lease:release{ wait = PATIENT }) end


-- Lets the actor begin, and returns a second later.
local function start_actor(case)
    case.ready = true
    wait_until(case, function() return case.began end)
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
        begin = function(case)
            hold(case)
            case.lease:release{ wait = PATIENT }
            case.lease = nil
        end,
        act = hold, outcome = "held",
    },
    ["taking a lock whose path nobody has used"] = {
        lock = function(session) return session:mutex("/new/path") end,
        act = hold, outcome = "held",
    },
    ["trying a lock"] = {
        act = function(case) return hold(case, 0) end,
        outcome = "held", or_else = "timeout",
    },
    ["waiting in line"] = {
        others = function(case)
            local lease = assert(case.rival:acquire(PATIENT))
            start_actor(case)
            lease:release()
        end,
        act = hold, outcome = "held",
    },
    ["taking a lock without an order"] = {
        lock = unfair_mutex, act = hold, outcome = "held",
    },
    ["taking permits"] = {
        lock = function(session) return session:semaphore(OTHER, 3) end,
        options = { permits = 2, timeout = PATIENT },
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
        act = function(case)
            local grants = 0
            local function take()
                local lease = case.lock:acquire{ timeout = PATIENT, owner = {} }
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
        act = function(case)
            local code = hold(case)
            if not case.lease then return code end
            case.lease:release()
            return hold(case)
        end,
        outcome = "held",
    },
    ["releasing a lock"] = { begin = hold, act = release, outcome = "true" },
    ["releasing a lock without an order"] = {
        lock = unfair_mutex, begin = hold, act = release, outcome = "true",
    },
    ["checking a lease"] = {
        begin = hold,
        act = function(case) return outcome(case.lease:check(PATIENT)) end,
        outcome = "true",
    },
    ["looking at the queue"] = {
        begin = hold,
        act = function(case)
            local queue, _, code = case.lock:queue(PATIENT)
            return queue and "a list" or code
        end,
        outcome = "a list",
    },
    ["becoming a reader"] = {
        lock = function(session) return session:rwlock(OTHER):write() end,
        begin = hold,
        act = function(case) return outcome(case.lease:downgrade(PATIENT)) end,
        outcome = "true",
    },
    ["writing under guard"] = {
        begin = function(case)
            hold(case)
            assert(case.lease:guard{ { "create", "/stock", "1" } })
        end,
        act = function(case)
            return outcome(case.lease:guard{ { "set", "/stock", "0" }, timeout = PATIENT })
        end,
        outcome = "true", or_else = "unknown",
    },
    ["waiting in a condition"] = {
        others = function(case)
            case.ready = true
            local condition = case.rival:condition "full"
            repeat
                zklock.sleep(1)
                local lease = assert(case.rival:acquire(PATIENT))
                condition:signal(lease, PATIENT)
                lease:release()
            until case.ended or case.struck
        end,
        begin = hold,
        act = function(case)
            return outcome(case.lock:condition("full"):wait(case.lease, PATIENT))
        end,
        outcome = "true",
    },
    ["signalling a condition"] = {
        begin = hold,
        act = function(case)
            return outcome(case.lock:condition("full"):signal(case.lease, PATIENT))
        end,
        outcome = "0",
    },
    ["joining, setting and leaving"] = {
        act = function(case)
            local member, _, code = case.session:join("/members", { name = "a", timeout = PATIENT })
            if not member then return code end
            local set
            set, _, code = member:set("2", PATIENT)
            member:leave()
            wait_until(case, function() return case.session:stats().in_flight == 0 end)
            return set and "left" or code
        end,
        outcome = "left",
    },
    ["reading a node"] = {
        begin = hold,
        act = function(case)
            local data, _, code = case.session:get(PATH, PATIENT)
            return data and "data" or code
        end,
        outcome = "data",
    },
    ["following a folder"] = {
        others = function(case)
            start_actor(case)
            assert(case.other:join("/members", { name = "b", timeout = PATIENT }))
        end,
        act = function(case)
            local last
            assert(case.session:members("/members", function(list, _, code)
                last = list and (list[1] and list[1].name or "none") or code
            end))
            wait_until(case, function() return last == "b" end)
            return last
        end,
        outcome = "b",
    },
    ["watching a node"] = {
        others = function(case)
            start_actor(case)
            local lease = assert(case.other:mutex(OTHER):acquire(PATIENT))
            assert(lease:guard{ { "create", "/price", "5" }, timeout = PATIENT })
            lease:release()
        end,
        act = function(case)
            local last
            assert(case.session:watch("/price", function(data, _, code) last = data or code end))
            wait_until(case, function() return last == "5" end)
            return last
        end,
        outcome = "5",
    },
}


-- --- a schedule -------------------------------------------------------------------------------

-- Counts the nodes of locks and members, without the other process's member.
local function count_nodes()
    local count = 0
    for _, folder in ipairs{ PATH, OTHER, "/new/path", PATH .. "-condition-full", "/members" } do
        for _, name in ipairs(zklock.memory("shop"):children(folder) or {}) do
            if name ~= "b" then count = count + 1 end
        end
    end
    return count
end


local function be_actor(case, operation)
    case.session = assert(zklock.connect("memory:shop", { timeout = TIMEOUT }))
    case.lock, case.options = (operation.lock or mutex)(case.session), operation.options
    wait_until(case, function() return case.ready end)
    if operation.begin then operation.begin(case) end
    case.began = case.world:now()
    case.outcome = operation.act(case)
    case.ended = case.world:now()
    zklock.sleep(1)
    if case.lease then case.lease:release() end
    case.released = true
    wait_until(case, function()
        local stats = case.session:stats()
        return stats.in_flight == 0 and (stats.claims == 0 or case.lock.keep)
    end)
    wait_until(case, function() return case.counted end)
    case.session:close()
end


local function be_other(case, operation)
    case.other = assert(zklock.connect("memory:shop", { timeout = TIMEOUT }))
    case.rival = (operation.lock or mutex)(case.other)
    if operation.others then operation.others(case) else case.ready = true end
    wait_until(case, function() return case.ended or case.struck and not case.fault.brief end)
    local lease = assert(case.rival:acquire(operation.options or PATIENT))
    assert(case.released or not case.lease or not case.lease:held(), "two hold")
    zklock.sleep(1)
    assert(lease:check(PATIENT))
    lease:release()
    wait_until(case, function() return case.released or case.fault.kills end)
    wait_until(case, function() return count_nodes() == 0 end)
    case.counted = true
end


local function run(operation, fault, at)
    local case = { fault = fault or { brief = true } }
    local world = assert(zklock.world(function(world)
        case.world = world
        world:process("actor", function() be_actor(case, operation) end)
        world:process("other", function() be_other(case, operation) end)
        if not fault then return end
        world:at(at, function()
            case.struck = true
            fault[2](world)
        end)
    end, { faults = { delay = 0.01 } }))
    local ok, problem = world:run()
    return case, ok and world, problem
end


-- Returns each packet of the actor's operation, with a time `at` which it is on its way.
local function packets_of(operation)
    local case, world = run(operation)
    assert.equal(operation.outcome, case.outcome)
    local list = {}
    for _, message in ipairs(world.messages) do
        local in_time = message.sent >= case.began and message.sent < case.ended
        if message.process == "actor" and in_time then
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
            it(("%s comes to its outcome if its process is %s at any packet"):format(name,
               fault[1]), function()
                list = list or packets_of(operation)
                assert.is_true(#list > 1)
                for _, packet in ipairs(list) do
                    local case, ok, problem = run(operation, fault, packet.at)
                    local what = ("%s %s at %.6f: "):format(packet.up and "to" or "from",
                                                            packet.text, packet.at)
                    assert.is_truthy(ok, what .. tostring(problem))
                    local as_without = case.outcome == operation.outcome
                        or case.outcome == operation.or_else
                    local ended = not fault.brief and (not case.outcome or ENDS[case.outcome])
                    assert.is_true(as_without or ended, what .. tostring(case.outcome))
                end
            end)
        end
    end
end)
