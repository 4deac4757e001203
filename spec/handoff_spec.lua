--- [lua luajit asan tsan memory worlds] A hand-off costs no more requests when more sessions were
-- ahead as the waiter queued. Requests are counted, not time.

local rig = require "spec.rig"

local unpack = table.unpack or unpack -- luacheck: globals unpack

-- Requests of a waiter, from its arrival to its delete (create, list, two gets in line, news that
-- it is first, delete). Permits also need a mark and then a get that watches the own node again,
-- and now and then another list and gets, because holders come and go meanwhile.
local MOST, MOST_OF_PERMITS = 7, 12

local TIMEOUT = 60 -- seconds, so that no heartbeat looks at a node meanwhile
local PATIENCE = 60

-- Syncs are not counted, because they are sent by the clock.
local function count_requests(session)
    local stats = session:stats()
    return stats.creates + stats.sets + stats.deletes + stats.lists + stats.gets
end


-- Lets waiters of a session each arrive one by one while another session holds the lock. Once the
-- line is at rest, each is granted once. Returns the requests of each session.
local function serve_line(hosts, lock_of, count)
    local path = rig.path()
    local lease = rig.hold(lock_of(rig.session(hosts, { timeout = TIMEOUT }), path))
    local sessions = rig.sessions(count, hosts, { timeout = TIMEOUT })
    local locks, before, requests = {}, {}, {}
    for i, session in ipairs(sessions) do
        locks[i], before[i] = lock_of(session, path), count_requests(session)
    end
    rig.line_up(locks, function()
        rig.settle(unpack(sessions))
        lease:release()
    end)
    rig.come_to_rest(unpack(sessions))
    for i, session in ipairs(sessions) do requests[i] = count_requests(session) - before[i] end
    return requests
end


-- Grants each of several waiters of one session `grants` times. Returns the requests of a grant.
local function serve_crowd(hosts, count, grants)
    local session = rig.session(hosts, { timeout = TIMEOUT })
    local lock = session:mutex(rig.path())
    rig.run(count, function()
        for _ = 1, grants do assert(lock:acquire(PATIENCE)):release() end
    end)
    rig.come_to_rest(session)
    return count_requests(session) / (count * grants)
end


describe("a hand-off #lock:acquire", function()
    local server

    setup(function() server = rig.shared() end)
    after_each(rig.close_sessions)

    for kind, most in pairs{ ["a mutex"] = MOST, ["a write lock"] = MOST,
                             ["a semaphore"] = MOST_OF_PERMITS } do
        for _, count in ipairs{ 4, 8, 16 } do
            it(("a hand-off of %s between %d sessions takes at most %d " ..
                "requests"):format(kind, count, most),
               function()
                local requests = serve_line(server.hosts, rig.kinds[kind], count)
                local seen = "requests of each: " .. table.concat(requests, " ")
                for _, number in ipairs(requests) do assert.is_true(number <= most, seen) end
            end)
        end
    end

    it("a hand-off within a session takes five requests, because its lookahead is watched already",
       function()
        local requests = serve_crowd(server.hosts, 8, 20)
        assert.is_true(requests < 5.5, requests .. " requests a grant")
    end)
end)
