--- What a hand-off costs does not depend on how many sessions were ahead when the waiter queued.
-- Requests are counted, not time.

local rig = require "spec.rig"

local unpack = table.unpack or unpack -- luacheck: globals unpack

-- Of one waiter, from its arrival to its delete: create, list, two gets in line, what tells it
-- that it is first, delete. Of permits also a mark, the get that watches the own node again after
-- it, and, since holders come and go while it looks, now and then a list and gets more.
local MOST, MOST_OF_PERMITS = 7, 12

local TIMEOUT = 60 -- seconds, of sessions: no heartbeat looks at a node meanwhile
local PATIENCE = 60

local KINDS = {
    { "a mutex", function(session, path) return session:mutex(path) end, MOST },
    { "a write lock", function(session, path) return session:rwlock(path):write() end, MOST },
    { "a semaphore of one permit", function(session, path) return session:semaphore(path, 1) end,
      MOST_OF_PERMITS },
}


-- All but syncs, which are sent by the clock.
local function count_requests(session)
    local stats = session:stats()
    return stats.creates + stats.sets + stats.deletes + stats.lists + stats.gets
end


-- A session of its own for each waiter. They arrive one by one while another session holds the
-- lock, and wait until the line is at rest; then each is served once. Gives the requests of each.
local function serve_line(hosts, lock_of, count)
    local path = rig.path()
    local holder = rig.session(hosts, { timeout = TIMEOUT })
    local lease = assert(lock_of(holder, path):acquire(PATIENCE))
    local sessions, before, queued = {}, {}, 0

    local function in_line(number)
        return function()
            return queued == number and sessions[number]:stats().in_flight == 0
        end
    end
    for i = 1, count do
        sessions[i] = rig.session(hosts, { timeout = TIMEOUT })
        before[i] = count_requests(sessions[i])
    end
    rig.run(count, function(i)
        if i > 1 then rig.wait_for("the one ahead in line", in_line(i - 1), PATIENCE) end
        local lock = lock_of(sessions[i], path)
        local options = { timeout = PATIENCE, on_queued = function() queued = i end }
        assert(lock:acquire(options)):release()
    end, function()
        rig.wait_for("the whole line", in_line(count), PATIENCE)
        lease:release()
    end)
    rig.at_rest(unpack(sessions))

    local requests = {}
    for i, session in ipairs(sessions) do requests[i] = count_requests(session) - before[i] end
    return requests
end


-- Several waiters of one session, each served several times. Gives the requests of a grant.
local function serve_crowd(hosts, count, grants)
    local session = rig.session(hosts, { timeout = TIMEOUT })
    local lock = session:mutex(rig.path())
    rig.run(count, function()
        for _ = 1, grants do assert(lock:acquire(PATIENCE)):release() end
    end)
    rig.at_rest(session)
    return count_requests(session) / (count * grants)
end


describe("a hand-off between sessions", function()
    local server

    setup(function() server = rig.shared() end)
    after_each(rig.close_sessions)

    for _, kind in ipairs(KINDS) do
        local name, lock_of, most = kind[1], kind[2], kind[3]
        for _, count in ipairs{ 4, 8, 16 } do
            it(("of %s takes at most %d requests in a line of %d"):format(name, most, count),
               function()
                local requests = serve_line(server.hosts, lock_of, count)
                local seen = "requests of each: " .. table.concat(requests, " ")
                for _, number in ipairs(requests) do assert.is_true(number <= most, seen) end
            end)
        end
    end
end)


describe("a hand-off within a session", function()
    after_each(rig.close_sessions)

    -- Create, list, two gets, delete. The nodes ahead are the session's own, and watched already.
    it("takes five requests, for what it looks ahead to is watched already", function()
        local requests = serve_crowd(rig.shared().hosts, 8, 20)
        assert.is_true(requests < 5.5, requests .. " requests a grant")
    end)
end)
