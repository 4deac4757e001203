--- [lua luajit asan tsan] zklock graph on a real server. ZKLOCK_LOOKS=1000 takes more looks at busy
-- locks without a deadlock.

local commands = require "spec.commands"
local cycles = require "zklock.command.cycles"
local graph = require "zklock.command.graph"
local rig = require "spec.rig"
local tree = require "zklock.command.tree"
local zklock = require "zklock"

local unpack = unpack or table.unpack

local ends, expect = commands.ends, commands.expect

local LOOKS = tonumber(os.getenv("ZKLOCK_LOOKS") or 100)
local ONE_OWNER = { one_owner = true }

describe("zklock graph #server", function()
    local server, path, session

    before_each(function() server, path, session = rig.begin(1) end)
    after_each(commands.end_all)

    local function hold_each(locks)
        local leases = {}
        for i, lock in ipairs(locks) do leases[i] = rig.hold(lock) end
        return leases
    end

    local function while_waiting(locks, fn)
        local sessions = {}
        for _, lock in ipairs(locks) do sessions[lock.session] = true end
        rig.run(#locks, function(i)
            locks[i]:acquire{ timeout = 600, owner = i }
        end, function()
            for _, lock in ipairs(locks) do server:wait_for_nodes(lock.path, 2) end
            fn()
            for each in pairs(sessions) do each:close() end
        end)
    end

    local function name_of(i) return string.char(96 + i) end

    -- Sessions with the names a, b, …, and the result of make(session, its number) for each.
    local function new_named(count, make)
        local sessions, made = {}, {}
        for i = 1, count do
            sessions[i] = rig.session(server.hosts, { identity = name_of(i) })
            made[i] = make(sessions[i], i)
        end
        return made, sessions
    end

    local function path_of(i) return ("%s/%d"):format(path, i) end

    -- Calls fn() while each of `count` sessions holds a lock and waits for the next session's lock.
    -- make(session, number) makes a lock, by default a mutex.
    local function while_in_circle(count, fn, make)
        make = make or function(each, i) return each:mutex(path_of(i)) end
        local own, sessions = new_named(count, make)
        hold_each(own)
        local wanted = {}
        for i, each in ipairs(sessions) do wanted[i] = make(each, i % count + 1) end
        while_waiting(wanted, fn)
    end


    it("graph shows each waiter and the contender that it waits for", function()
        local at = path .. "/" .. ("a"):rep(60) -- too long for its column
        local locks = new_named(3, function(each, i)
            local lock = each:rwlock(at)
            return i < 3 and lock:read() or lock:write()
        end)
        hold_each{ locks[1], locks[2] }
        rig.run(1, function() locks[3]:acquire(600) end, function()
            server:wait_for_nodes(at, 3)
            local rows = commands.rows(ends(0, "graph %s", path))
            assert.matches("^WAITS +FOR +AT +SINCE$", rows[1])
            assert.matches("^c +a %(2%) +…a+ +%d+ s$", rows[2])
            assert.equal(2, #rows)
            expect(ends(0, "graph --json %s", path), '"circles":[]', '"for":[{"identity":"a"',
                '"identity":"c"', '"path":"' .. at .. '"')
            locks[3].session:close()
        end)
        assert.equal("nobody waits", ends(0, "graph %s", path))
    end)

    it("graph leaves out waiters in a condition, because they wait for no other waiter", function()
        local full = new_named(2, function(each) return each:mutex(path .. "/a") end)
        rig.run(2, function(i)
            local lease = full[i]:acquire(20)
            full[i]:condition "full":wait(lease, 600)
        end, function()
            server:wait_for_nodes(path .. "/a-condition-full", 2)
            assert.equal("nobody waits", ends(0, "graph %s", path))
            for _, lock in ipairs(full) do lock.session:close() end
        end)
    end)


    describe("deadlocks of zklock graph", function()
        for count = 2, 5 do
            it(("a circle of %d locks is certain with --one-owner"):format(count), function()
                while_in_circle(count, function()
                    local said = ends(1, "graph --one-owner %s", path)
                    expect(said, "\ncertain deadlock:")
                    for i = 1, count do
                        expect(said, ("\n  %s waits for %s, where %s holds"):format(name_of(i),
                            path_of(i % count + 1), name_of(i % count + 1)))
                    end
                    assert.equal(count, select(2, said:gsub("\n  ", "")))
                end)
            end)
        end

        it("a circle is only a possible deadlock without --one-owner, because a session may " ..
        "have several owners", function()
            while_in_circle(2, function()
                expect(ends(1, "graph %s", path), "possible deadlock, certain only if each")
                expect(ends(1, "graph --json %s", path), '"certain":false')
            end)
        end)

        it("a circle of semaphores is only a possible deadlock", function()
            while_in_circle(2, function()
                expect(ends(1, "graph --one-owner %s", path), "possible deadlock")
            end, function(each, i) return each:semaphore(path_of(i), 1) end)
        end)

        it("a circle may lead through a multi-lock that is only ahead in line", function()
            local first, sessions = new_named(3, function(each, i)
                return each:mutex(path_of(i))
            end)
            local a, b, c = unpack(sessions)
            hold_each{ first[1], c:mutex(path_of(2)) }
            local both = b:multi{ b:mutex(path_of(1)), first[2] }
            rig.run(1, function() both:acquire(600) end, function()
                server:wait_for_nodes(path_of(2), 2)
                rig.run(1, function() a:mutex(path_of(2)):acquire(600) end, function()
                    server:wait_for_nodes(path_of(2), 3)
                    expect(ends(1, "graph %s", path),
                        ("  a waits for %s, where b is ahead"):format(path_of(2)),
                        ("  b waits for %s, where a holds"):format(path_of(1)))
                    for _, each in ipairs(sessions) do each:close() end
                end)
            end)
        end)
    end)


    describe("looks of zklock graph", function()
        it("no circle is reported if two looks saw it with different nodes", function()
            local looks = {}
            for i = 1, 2 do
                while_in_circle(2, function() looks[i] = assert(tree.locks(session, path)) end)
                rig.close_sessions()
                session = rig.session(server.hosts)
            end
            assert.equal(1, #cycles.find(looks[2]))
            assert.equal(1, #cycles.find(cycles.lasting_queues(looks[2], looks[2])))
            assert.same({}, cycles.find(cycles.lasting_queues(looks[1], looks[2])))
        end)

        -- Each worker takes a lock behind a gate, and queues at the gate again after the release. A
        -- look that reads the lock before the release and the gate after it sees a circle.
        it("a circle that only one look at busy locks shows is not certain #slow", function()
            local over = false
            local workers = new_named(6, function(each)
                return { gate = each:mutex(path .. "/gate"), each:mutex(path_of(1)),
                         each:mutex(path_of(2)) }
            end)
            local function work(i)
                local locks, turn = workers[i], i
                while not over do
                    turn = turn + 1
                    local gate = assert(locks.gate:acquire(60))
                    local lease = assert(locks[turn % 2 + 1]:acquire(60))
                    zklock.sleep(0.005)
                    gate:release()
                    zklock.sleep(0.005)
                    lease:release()
                end
            end
            local certain, waits = 0, 0
            assert(workers[1].gate:acquire(60)):release()
            rig.run(#workers, work, function()
                for _ = 1, LOOKS do
                    local locks, found = graph.survey(session, path)
                    for _, lock in ipairs(locks) do waits = waits + #lock.queue end
                    for _, cycle in ipairs(found) do
                        if graph.is_certain(cycle, ONE_OWNER) then certain = certain + 1 end
                    end
                end
                over = true
            end)
            assert.equal(0, certain)
            assert.is_true(waits > LOOKS)
        end)
    end)
end)
