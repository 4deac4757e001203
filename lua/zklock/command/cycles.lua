--- Finds sessions that wait for each other in a circle, from the queues of all locks.
--
-- A contender waits for each contender ahead that excludes it. A node names its session, not its
-- owner, so a circle of sessions is a deadlock only if no session in it has several owners. Only a
-- session with two nodes or more can be part of a circle.

local ipairs, pairs = ipairs, pairs

local _M = {}


function _M.excludes(ahead, entry)
    return not (ahead.kind == "read" and entry.kind == "read")
end


local function waits_of_sessions(locks)
    local nodes, waits = {}, {}
    for _, lock in ipairs(locks) do
        for place, entry in ipairs(lock.queue) do
            local session = entry.session
            nodes[session] = (nodes[session] or 0) + 1
            waits[session] = waits[session] or {}
            if not entry.held then
                table.insert(waits[session], { lock = lock, place = place, entry = entry })
            end
        end
    end
    for session, of_session in pairs(waits) do
        if nodes[session] < 2 or not of_session[1] then waits[session] = nil end
    end
    return waits
end


-- Calls visit(step) for each contender that a session waits for, until that returns something.
local function each_step(session, waits, visit)
    for _, wait in ipairs(waits[session]) do
        for place = 1, wait.place - 1 do
            local ahead, entry = wait.lock.queue[place], wait.entry
            if waits[ahead.session] and ahead.session ~= session and _M.excludes(ahead, entry) then
                local found = visit{ path = wait.lock.path, entry = entry, ahead = ahead }
                if found then return found end
            end
        end
    end
end


local function steps_to(reached, last)
    local cycle, step = {}, last
    while step do
        table.insert(cycle, 1, step)
        step = reached[step.entry.session]
    end
    return cycle
end


-- The shortest circle through that session, found breadth first.
local function shortest_circle(first, waits)
    local reached, to_visit = {}, { first }
    for _, session in ipairs(to_visit) do -- the list grows meanwhile
        local last = each_step(session, waits, function(step)
            local next_session = step.ahead.session
            if next_session == first then return step end
            if not reached[next_session] then
                reached[next_session] = step
                to_visit[#to_visit + 1] = next_session
            end
        end)
        if last then return steps_to(reached, last) end
    end
end


--- Lists circles, at least one through each session that is part of any. In each step of a circle,
-- the contender `entry` waits at `path` for `ahead`. The session of `ahead` has the next `entry`.
---@param locks { path: string, queue: table[] }[]
function _M.find(locks)
    local waits, done, cycles = waits_of_sessions(locks), {}, {}
    for _, lock in ipairs(locks) do
        for _, entry in ipairs(lock.queue) do
            local session = entry.session
            local cycle = waits[session] and not done[session] and shortest_circle(session, waits)
            done[session] = true
            for _, step in ipairs(cycle or {}) do done[step.entry.session] = true end
            if cycle then cycles[#cycles + 1] = cycle end
        end
    end
    return cycles
end


--- True if the circle is a deadlock when each session in it has one owner. Permits may come back
-- from sessions outside, and a node whose `held` is "unknown" may only be kept.
function _M.is_firm(cycle)
    for _, step in ipairs(cycle) do
        if step.entry.kind == "permit" or step.ahead.held == "unknown" then return false end
    end
    return true
end


-- With `order = "none"` all nodes of a path have one name.
local function key_of(lock, entry)
    return ("%s/%s %s"):format(lock.path, entry.name, entry.token)
end


--- The queues of a second look without nodes that are new since the first look. All other nodes
-- existed between the looks, so there they waited at the same time.
function _M.lasting_queues(first, second)
    local seen, locks = {}, {}
    for _, lock in ipairs(first) do
        for _, entry in ipairs(lock.queue) do seen[key_of(lock, entry)] = true end
    end
    for i, lock in ipairs(second) do
        local queue = {}
        for _, entry in ipairs(lock.queue) do
            if seen[key_of(lock, entry)] then queue[#queue + 1] = entry end
        end
        locks[i] = { path = lock.path, queue = queue }
    end
    return locks
end


return _M
