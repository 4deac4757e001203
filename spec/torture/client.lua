--- A client of the torture is one process with one session and several workers, which acquire,
-- hold, write or read, re-enter, downgrade, wait in conditions, signal and release at random, and
-- write a history.
--
--   client.lua PROCESS HOSTS SEED FOLDER TIMEOUT PATH,PATH... PATH,PATH... PATH PATH PATH PATH
--
-- The paths are of mutexes, of read-write locks, of a mutex without an order, of a mutex in turns,
-- of a kept mutex, and of a semaphore. The client works until the file FOLDER/calm exists. Then it
-- interrupts all waits, closes the session and ends with status 0, or with 1 after an error, which
-- it records.

local core = require "zklock.core"
local files = require "spec.files"
local history = require "spec.torture.history"
local store = require "spec.torture.store"
local zklock = require "zklock"

local now, random = core.now, math.random
local unpack = table.unpack or unpack -- luacheck: globals unpack

local PROCESS, HOSTS, SEED, FOLDER, TIMEOUT, MUTEXES, RWLOCKS, UNFAIR, TURNS, KEPT, GATE =
    unpack(arg)
TIMEOUT = tonumber(TIMEOUT)

local WORKERS = 5 -- the last of them wants the kept lock
local PERMITS = 3 -- of the semaphore
local BATCH = 3 -- grants of a turn
local CONNECT_TIMEOUT = 3
local CLOSE_LIMIT = 5
local TICK = 0.05
local STALL = 0.25 -- a later tick shows that the process did not run
local SPANS, SPAN = 7, 2 -- spans of seconds; five places want a kept lock, each in one span
local KEEPS = not PROCESS:find("^c3") -- one process does not keep

local writer = history.writer(FOLDER .. "/history/" .. PROCESS, PROCESS)
local paths, is_rwlock, stores = {}, {}, {}
local multi_paths = {} -- the paths that a multi-lock may include
local session, calm
local last_claim = 0


local function between(low, high)
    return low + (high - low) * random()
end

local function chance(probability)
    return random() < probability
end


-- Returns the seconds for which the node may stay; 0 means that it is not kept.
local function pick_keep()
    if not KEEPS or chance(0.1) then return 0 end
    return chance(0.5) and between(0.05, 1) or between(5, 30)
end


-- --- claims ---------------------------------------------------------------------------

local Claim = {}
Claim.__index = Claim


local function new_claim(path, kind, way, limit, inside, permits, after)
    last_claim = last_claim + 1
    local self = setmetatable({
        id = ("%s-%d"):format(PROCESS, last_claim),
        path = path,
        kind = kind,
        limit = limit,
        begun = now(),
        permits = permits,
        keep = path == KEPT and pick_keep() or nil,
        writes = kind ~= "read" and kind ~= "permit", -- now
    }, Claim)
    self:record("invoked", { path = path, kind = kind, way = way, limit = limit, inside = inside,
                             permits = permits, after = after, keep = self.keep,
                             batch = path == TURNS and BATCH or nil }, self.begun)
    return self
end


function Claim:lock()
    local opts = { data = self.id }
    if self.path == UNFAIR then
        opts.order, opts.jitter = "none", chance(0.5) and between(0, 0.05) or nil
    end
    if self.path == TURNS then opts.order, opts.batch = "turns", BATCH end
    if self.path == KEPT then
        opts.token, opts.keep = "turns", self.keep > 0 and self.keep or nil
    end
    if self.kind == "permit" then return session:semaphore(self.path, PERMITS, opts) end
    if self.kind == "mutex" then return session:mutex(self.path, opts) end
    local rwlock = session:rwlock(self.path, opts)
    return rwlock[self.kind](rwlock)
end


function Claim:record(event, fields, at)
    fields.held, self.held = self.held, nil
    writer:record(event, self.id, fields, at)
end


--- Asks the lease for its state, and records a change.
function Claim:look()
    local at, lease = now(), self.lease
    if not lease then return end
    local state = lease:state()
    if state == "held" then self.held = at end
    if state ~= self.state then
        self.state = state
        self:record("noticed", { state = state })
    end
end


function Claim:granted(lease)
    local at = now()
    self.lease, self.token, self.state = lease, lease:token_string(), lease:state()
    if self.state == "held" then self.held = at end
    self:record("granted", { token = self.token, state = self.state, begun = self.begun,
                             limit = self.limit })
    lease:on_lost(function() self:look() end)
end


function Claim:failed(code)
    self:record("failed", { code = code, begun = self.begun, limit = self.limit })
end


function Claim:stop_writing()
    self:look()
    self.writes = false
    self:record("downgrading", {})
end


--- Gives the lease up by how(), which returns the results of release().
function Claim:let_go(how, limit)
    self:look()
    local begun = now()
    self.lease = nil
    local ok, _, code = how()
    self:record("released", { result = ok and "ok" or code or "dropped", begun = begun,
                              limit = limit or 0 })
end


-- --- the critical section -------------------------------------------------------------

-- Returns the store of the claim's path. While it is busy the claim's state is recorded.
local function store_for(claim)
    local set = stores[claim.path]
    set.pause = function()
        zklock.sleep(between(0.001, 0.003))
        claim:look()
    end
    return set
end


local function wait_until(condition, limit)
    local due = now() + limit
    while not condition() and now() < due do zklock.sleep(0.001) end
end


-- Pauses between reading and writing, at times so long that a fault takes the lock meanwhile.
local function pause_update(claim)
    local finish = now() + (chance(0.05) and between(0.3, TIMEOUT)
        or chance(0.1) and between(0, 0.1) or between(0, 0.01))
    repeat
        zklock.sleep(math.min(0.01, math.max(0, finish - now())))
        claim:look()
    until now() >= finish or claim.state == "lost"
end


-- A late write does most harm when the next holder has read and not yet written. So a holder that
-- lost its lock waits until the next holder has read, and the next holder until the late write is
-- done; each only for a while, because the other process may be dead.
local function meet_in_update(claim, set)
    local late = set:unfinished()
    if late and late ~= claim.token then
        set:overtake(late)
        wait_until(function() return set:unfinished() ~= late end, TIMEOUT)
    end
    set:begin(claim.token)
    pause_update(claim)
    if claim.state == "lost" then
        wait_until(function() return set:is_overtaken(claim.token) end, TIMEOUT / 2)
    end
end


--- Shows the token, reads, pauses and writes, even after the loss of the lease.
local function add_element(claim, count)
    local set = store_for(claim)
    local element = ("%s.%d"):format(claim.id, count)
    set:fence(claim.token)
    local read = set:read()
    meet_in_update(claim, set)
    local accepted = set:write(element, read, claim.token)
    set:finish(claim.token)
    claim:look()
    claim:record("wrote", { element = element, read = read, token = claim.token,
                            accepted = tostring(accepted) })
end


--- Records what a reader sees, and whether it holds then.
local function read_set(claim)
    local set = store_for(claim)
    set:fence(claim.token)
    local element, at = set:read(), now()
    claim:look()
    claim:record("read", { element = element }, at)
end


--- Turns a writer into a reader; only after a refusal it writes again.
local function downgrade(claim)
    local begun, limit = now(), chance(0.15) and between(0.001, 0.05) or TIMEOUT
    claim:stop_writing()
    local ok, _, code = claim.lease:downgrade(limit)
    claim.writes = code == "unsupported"
    claim:look()
    claim:record("downgraded", { result = ok and "ok" or code, begun = begun, limit = limit })
end


-- Returns the kind of the second handle. A reader that wants to write is refused.
local function inner_kind(claim)
    if claim.kind == "mutex" then return "mutex" end
    return chance(claim.writes and 0.5 or 0.1) and "write" or "read"
end


--- Acquires a second handle on the same grant, and releases either first. Releasing the last handle
-- that writes is a downgrade.
local function reenter(claim, owner)
    local inner = new_claim(claim.path, inner_kind(claim), "reenter", TIMEOUT, claim.id)
    local lease, _, code = inner:lock():acquire{ timeout = inner.limit, owner = owner }
    if not lease then return inner:failed(code) end
    inner:granted(lease)
    zklock.sleep(between(0, 0.01))
    if inner.kind == "write" and chance(0.3) then downgrade(inner) end
    local first, last = lease, claim.lease
    if inner.token == claim.token and not claim.scoped and chance(0.5) then
        first, last = last, first
        if claim.writes and not inner.writes then claim:stop_writing() end
    end
    inner:let_go(function() return first:release() end)
    claim.lease = last
end


--- Asks the server until it answers, as a careful holder does. Without an answer it has only the
-- lease's clock.
local function make_sure(claim)
    local code
    repeat
        code = select(3, claim.lease:check(TIMEOUT / 4))
        claim:look()
    until code ~= "timeout" or claim.state == "lost"
end


-- --- conditions -------------------------------------------------------------------------

local function may_wait(claim)
    if claim.joint or not claim.writes then return false end
    if claim.path == UNFAIR or claim.path == TURNS then return false end
    if claim.path == KEPT and chance(0.9) then return false end -- a waiting node is not kept
    return claim.state == "held"
end


--- Gives the lock away until a signal. The claim's hold ends, and another hold begins, or none. The
-- data of both nodes names the first claim.
local function wait_in_condition(claim)
    local lease, limit = claim.lease, between(0.02, 2)
    local condition = claim:lock():condition("c")
    claim:let_go(function() return true end)
    local back = new_claim(claim.path, claim.kind, "wait", limit, nil, nil, claim.id)
    back.scoped = claim.scoped
    local ok, _, code = condition:wait(lease, limit)
    if ok then back:granted(lease) else back:failed(code) end
    return back
end


local function signal(claim)
    local condition = claim:lock():condition("c")
    local method = chance(0.3) and "broadcast" or "signal"
    local begun, limit = now(), between(0.02, TIMEOUT)
    local count, _, code = condition[method](condition, claim.lease, limit)
    claim:look()
    claim:record("signalled", { count = count or code, begun = begun, limit = limit })
end


local function use_condition(claim)
    if chance(0.6) then
        signal(claim)
        return claim
    end
    return wait_in_condition(claim)
end


-- The session may have changed since the claim began. Returns the claim that holds now; after a
-- failed wait in a condition it has no lease.
local function work(claim, owner)
    local own_session = session
    local finish = now() + (chance(0.02) and between(0.5, 2.5) or between(0, 0.03))
    local writes = 0
    repeat
        if claim.kind == "read" or claim.kind == "write" and not claim.writes then
            read_set(claim)
        elseif claim.writes and writes < 2 and chance(0.6) then
            writes = writes + 1
            add_element(claim, writes)
        end
        local may_downgrade = not claim.joint and claim.kind == "write" and claim.writes
        if may_downgrade and chance(0.2) then downgrade(claim) end
        local again = claim.kind ~= "permit" and session == own_session and claim.state == "held"
        if again and chance(0.1) then
            reenter(claim, owner)
        end
        zklock.sleep(between(0.002, 0.01)) -- ZooKeeper's times are in milliseconds
        claim:look()
        if session == own_session and may_wait(claim) and chance(0.3) then
            claim = use_condition(claim)
        end
    until now() >= finish or not claim.lease or claim.state == "lost" or claim.state == "released"
    if claim.lease and chance(0.3) then make_sure(claim) end
    return claim
end


-- --- ways to acquire and to let go ----------------------------------------------------

local function leave(claim)
    local lease, way = claim.lease, random()
    if way < 0.1 then
        claim:let_go(function() return lease:release{ wait = 1 } end, 1)
    elseif way < 0.15 then
        claim:let_go(function()
            lease = nil
            collectgarbage()
            collectgarbage()
        end)
    else
        claim:let_go(function() return lease:release() end)
    end
end


local function plainly(lock, claim, options)
    local lease, _, code = lock:acquire(options)
    if not lease then return claim:failed(code) end
    claim:granted(lease)
    lease = nil -- luacheck: ignore (leave() may drop the last reference)
    claim = work(claim, options.owner)
    if claim.lease then leave(claim) end
end


local BREAK = {} -- an error raised inside the scope, which must come out unchanged

--- Releases by lock:with(), when the function ends or raises.
local function in_scope(lock, claim, options)
    local breaks, begun, held = chance(0.2), nil, nil
    claim.scoped = true -- the scope releases its own handle
    local ok, result, _, code = pcall(lock.with, lock, options, function(lease)
        claim:granted(lease)
        claim = work(claim, options.owner)
        claim:look()
        held, claim.lease = claim.lease ~= nil, nil
        begun = now()
        if breaks then error(BREAK, 0) end
    end)
    if not ok and result ~= BREAK then error(result, 0) end
    if not begun then return claim:failed(code) end
    if held then claim:record("released", { result = "scope", begun = begun, limit = 0 }) end
end


local function pick_kind(path)
    if path == GATE then return "permit" end
    return not is_rwlock[path] and "mutex" or chance(0.6) and "read" or "write"
end


local function pick_limit()
    local way = random()
    if way < 0.2 then return 0 end
    if way < 0.45 then return between(0.02, 0.3) end
    if way < 0.85 then return between(1, 4) end
end


--- Acquires two paths at once. Each is a claim of its own, with a node in its own line.
local function both(owner)
    local limit, first, claims, locks = pick_limit(), random(#multi_paths), {}, {}
    for n, path in ipairs{ multi_paths[first], multi_paths[first % #multi_paths + 1] } do
        claims[n] = new_claim(path, pick_kind(path), limit == 0 and "try" or "acquire",
                              limit == 0 and CONNECT_TIMEOUT or limit)
        claims[n].scoped, claims[n].joint = true, true -- they are released together
        locks[n] = claims[n]:lock()
    end
    local lease, _, code = session:multi(locks):acquire{ timeout = limit, owner = owner }
    for _, claim in ipairs(claims) do
        if lease then claim:granted(lease) else claim:failed(code) end
    end
    if not lease then return end
    for _, claim in ipairs(claims) do work(claim, owner) end
    for _, claim in ipairs(claims) do claim:look() end
    local begun = now()
    local ok, _, why = lease:release()
    for _, claim in ipairs(claims) do
        claim.lease = nil
        claim:record("released", { result = ok and "ok" or why, begun = begun, limit = 0 })
    end
end


local function pick_path()
    local way = random()
    if way < 0.15 then return TURNS end
    if way < 0.155 then return KEPT end
    return paths[random(#paths)]
end


local function take(path, owner, limit)
    limit = limit or pick_limit()
    local kind, trying = pick_kind(path), limit == 0
    local claim = new_claim(path, kind, trying and "try" or "acquire",
                            trying and CONNECT_TIMEOUT or limit, nil,
                            kind == "permit" and random(PERMITS) or nil)
    local use = chance(0.15) and in_scope or plainly
    use(claim:lock(), claim, {
        timeout = limit,
        owner = owner,
        permits = claim.permits,
        on_queued = function(position) claim:record("queued", { position = position }) end,
    })
end


local function cycle(owner)
    if chance(0.15) then return both(owner) end
    take(pick_path(), owner)
end


-- --- tasks ----------------------------------------------------------------------------

local function open_session()
    repeat
        local begun, last_id = now(), nil
        local opened, _, code
        opened, _, code = zklock.connect(HOSTS, {
            timeout = TIMEOUT,
            connect_timeout = CONNECT_TIMEOUT,
            identity = PROCESS,
            on_state = function(state)
                if not opened then return end
                writer:record("state", nil, { state = state })
                local id = opened:id()
                if state == "connected" and id and id ~= last_id then
                    last_id = id
                    writer:record("connected", nil, { session = id, timeout = opened:timeout() })
                end
            end,
        })
        if opened then
            last_id = opened:id() or "-" -- expired already
            session = opened
            writer:record("connected", nil, { session = last_id, timeout = opened:timeout(),
                                              begun = begun, limit = CONNECT_TIMEOUT })
        else
            writer:record("unconnected", nil, { code = code, begun = begun,
                                                limit = CONNECT_TIMEOUT })
            zklock.sleep(0.1)
        end
    until opened
end


local function close_session()
    local begun = now()
    writer:record("closing", nil, { session = session:id() or "-" }, begun)
    session:close()
    writer:record("closed", nil, { begun = begun, limit = CLOSE_LIMIT })
end


local function worker(owner)
    while not calm do
        cycle(owner)
        zklock.sleep(between(0, 0.2))
    end
end


--- Acquires the kept lock, mostly again at once. By the clock, one place after the other does so,
-- because rivals end the keeping, and then none for some seconds. When a place begins, another may
-- still keep the node, so the place often tries.
local function keeper(owner)
    local place, begins = tonumber(PROCESS:match("%d+")), true
    while not calm do
        local is_mine = math.floor(now() / SPAN) % SPANS == place
        if is_mine then take(KEPT, owner, chance(begins and 0.7 or 0.2) and 0 or nil) end
        begins = not is_mine
        local rests = not is_mine or chance(0.1)
        zklock.sleep(rests and between(0, 0.5) or between(0, 0.005))
    end
end


--- Lets callbacks run while all workers sleep; records when the process did not run, and sees when
-- to stop.
local function watch()
    local last = now()
    repeat
        zklock.sleep(TICK)
        session:dispatch()
        local at = now()
        if at - last > TICK + STALL then
            writer:record("stalled", nil, { seconds = at - last }, at)
        end
        last = at
        calm = files.read(FOLDER .. "/calm") ~= nil
    until calm
end


local function interrupt_all()
    for number = 1, WORKERS do session:interrupt("worker " .. number) end
end


--- Asks the holder to end its turn with its grant, or to delete a kept node.
local function revoke()
    local begun, limit = now(), between(0.02, TIMEOUT)
    local lock = chance(0.7) and session:mutex(TURNS, { order = "turns", batch = BATCH })
        or session:mutex(KEPT, { token = "turns" })
    local ok, _, code = lock:revoke(limit)
    writer:record("revoked", nil, { result = ok and "ok" or code or "nobody", begun = begun,
                                    limit = limit })
end


--- Interrupts a wait, ends a turn, or closes the session now and then.
local function meddle()
    local close_at = now() + between(5, 40)
    while not calm do
        zklock.sleep(between(0.1, 1))
        session:interrupt("worker " .. random(WORKERS))
        if chance(0.2) then revoke() end
        if now() >= close_at then
            close_session()
            open_session()
            close_at = now() + between(10, 40)
        end
    end
end


local function open_stores()
    for path in (MUTEXES .. "," .. RWLOCKS .. "," .. UNFAIR .. "," .. TURNS):gmatch("[^,]+") do
        paths[#paths + 1] = path
    end
    for _, path in ipairs{ KEPT, unpack(paths) } do
        stores[path] = store.open(FOLDER, path, function() zklock.sleep(0.002) end)
    end
    for path in (MUTEXES .. "," .. RWLOCKS):gmatch("[^,]+") do
        multi_paths[#multi_paths + 1] = path
    end
    for path in RWLOCKS:gmatch("[^,]+") do is_rwlock[path] = true end
    paths[#paths + 1] = GATE
end


local function run()
    open_stores()
    open_session()
    local working, tasks = WORKERS, { watch, meddle }
    for number = 1, WORKERS do
        tasks[#tasks + 1] = function()
            local task = number == WORKERS and keeper or worker
            task("worker " .. number)
            working = working - 1
        end
    end
    tasks[#tasks + 1] = function()
        while working > 0 do
            zklock.sleep(TICK)
            if calm then interrupt_all() end
        end
    end
    zklock.run(unpack(tasks))
    close_session()
end


math.randomseed(tonumber(SEED))
writer:run(run)
