--- A client left to itself, which acquires and releases random locks until the file
-- FOLDER/calm exists.
--
--   loop.lua NAME PROCESS HOSTS FOLDER SEED WORKERS MUTEXES RWLOCKS KEPT
--
-- On paths of KEPT zklock keeps the lock. In two of five seconds one of its workers acquires such
-- locks again and again, and in one second the neighbours do. Both do for half a second.
--
-- NAME is "zklock", whose workers share a session, or a neighbour's name. A neighbour's worker is a
-- hand (neighbour.lua). Most claims wait for ever; one of ten tries or gives up soon, where
-- the client can. A holder of a mutex, or a writer, adds to the set of its path (FOLDER/store,
-- spec/torture/store.lua); a reader looks twice. The steps are written to FOLDER/history/PROCESS,
-- in the form of spec/torture/history.lua.

local core = require "zklock.core"
local files = require "spec.files"
local history = require "spec.torture.history"
local neighbour = require "spec.neighbours.neighbour"
local store = require "spec.torture.store"
local zklock = require "zklock"

local now, random = core.now, math.random
local unpack = table.unpack or unpack -- luacheck: globals unpack

local NAME, PROCESS, HOSTS, FOLDER, SEED, WORKERS, MUTEXES, RWLOCKS, KEPT = unpack(arg)

local OURS = NAME == "zklock" -- only zklock's writers downgrade, and only its calls have limits
local SESSION_TIMEOUT = 20
local CONNECT_TIMEOUT = 15
local PERIOD = 5 -- seconds, with one time for the paths of kept locks
local KEEP = 60 -- seconds
local TOKENS = 1024 -- of a kept node. A neighbour's node has only the first
local POLL = 0.002 -- seconds between questions to a waiting hand

-- No readers of kazoo, because those before 2.9 wait also for writers behind them (kazoo-649).
local ABILITIES = {
    zklock = { try = true, read = true },
    Curator = { try = true, read = true },
    kazoo = { try = true },
    ["go-zookeeper"] = {},
}

local can = ABILITIES[NAME]
local writer = history.writer(FOLDER .. "/history/" .. PROCESS, PROCESS)
local paths, is_rwlock, stores = {}, {}, {}
local kept, is_kept = {}, {} -- paths
local last_claim = 0


local function pause(longest)
    zklock.sleep(longest * random())
end


local function is_calm()
    return files.read(FOLDER .. "/calm") ~= nil
end


-- --- workers --------------------------------------------------------------------------------

-- A worker of zklock.
local Ours = {}
Ours.__index = Ours


--- Returns the token, or nil and a code.
function Ours:acquire(claim, limit)
    local opts, kind = { data = claim.id, keep = claim.keep }, claim.kind
    local lock = self.session[kind == "mutex" and kind or "rwlock"](self.session, claim.path, opts)
    if kind ~= "mutex" then lock = lock[kind](lock) end
    local lease, _, code = lock:acquire{ timeout = limit, owner = self }
    self.lease = lease
    return lease and lease:token_string(), code
end


function Ours:state() return self.lease:state() end


function Ours:downgrade()
    local ok, _, code = self.lease:downgrade(SESSION_TIMEOUT)
    return ok and "ok" or code
end


function Ours:release()
    local ok, _, code = self.lease:release()
    return ok and "ok" or code
end


-- A worker of a neighbour.
local Theirs = {}
Theirs.__index = Theirs


function Theirs:acquire(claim, limit)
    self.hand:take(claim.kind, claim.path, limit, claim.id)
    local word, value
    repeat
        zklock.sleep(POLL)
        word, value = self.hand:state()
    until word ~= "waiting"
    if word == "failed" then error(value) end
    local tokens = claim.keep and TOKENS or 1
    return word == "held" and ("%.0f"):format(value * tokens), word
end


function Theirs.state() return "held" end


function Theirs:release()
    self.hand:release()
    return "ok"
end


-- --- a holder's work ----------------------------------------------------------------------

--- Records an event of a claim that holds, with the moment until which that is certain.
local function record(claim, event, fields)
    local at = now()
    fields.held = claim.worker:state() == "held" and at or nil
    writer:record(event, claim.id, fields, at)
end


local function add_element(claim)
    local set = stores[claim.path]
    local read = set:read()
    pause(0.004)
    local accepted = set:write(claim.id, read, claim.token)
    record(claim, "wrote", { element = claim.id, read = read, token = claim.token,
                             accepted = tostring(accepted) })
end


local function look_twice(claim)
    for _ = 1, 2 do
        record(claim, "read", { element = stores[claim.path]:read() })
        pause(0.004)
    end
end


local function downgrade(claim)
    record(claim, "downgrading", {})
    local begun = now()
    local result = claim.worker:downgrade()
    record(claim, "downgraded", { result = result, begun = begun, limit = SESSION_TIMEOUT })
    look_twice(claim)
end


local function work(claim)
    if claim.kind == "read" then return look_twice(claim) end
    add_element(claim)
    if OURS and claim.kind == "write" and random() < 0.2 then downgrade(claim) end
end


-- --- the loop -------------------------------------------------------------------------------

-- Whether it is time for a kept lock. With zklock it is for one worker.
local function is_time_to_keep(worker)
    local at = now() % PERIOD
    if OURS then return worker.number == 1 and at < 2 end
    return at >= 1.5 and at < 2.5
end


local function pick_path(worker)
    local from = is_time_to_keep(worker) and kept or paths
    return from[random(#from)]
end


local function new_claim(worker)
    local path = pick_path(worker)
    local reads = can.read and random() < 0.5
    local kind = not is_rwlock[path] and "mutex" or reads and "read" or "write"
    last_claim = last_claim + 1
    return { id = ("%s-%d"):format(PROCESS, last_claim), path = path, kind = kind, begun = now(),
             worker = worker, keep = is_kept[path] and (OURS and KEEP or 0) or nil }
end


local function cycle(worker)
    local claim, limit = new_claim(worker), nil
    if can.try and claim.keep ~= 0 and random() < 0.1 then limit = random() < 0.5 and 0 or 0.03 end
    local begun, allowed = claim.begun, OURS and (limit == 0 and CONNECT_TIMEOUT or limit) or nil
    writer:record("invoked", claim.id, { path = claim.path, kind = claim.kind, limit = allowed,
                                         way = limit and "try" or "acquire",
                                         keep = claim.keep }, begun)
    local token, code = worker:acquire(claim, limit)
    if not token then
        return writer:record("failed", claim.id, { code = code, begun = begun, limit = allowed })
    end
    claim.token = token
    record(claim, "granted", { token = token, state = worker:state(), begun = begun,
                               limit = allowed })
    work(claim)
    begun = now()
    local held = worker:state() == "held"
    writer:record("released", claim.id, { result = worker:release(), begun = begun,
                                          limit = OURS and 0 or nil,
                                          held = held and begun or nil })
end


local function record_connected(id)
    writer:record("connected", nil, { session = id, timeout = SESSION_TIMEOUT })
end


-- Returns `number` workers, and the end of their sessions.
local function our_workers(number)
    local workers, session = {}, assert(zklock.connect(HOSTS, {
        timeout = SESSION_TIMEOUT, identity = PROCESS, connect_timeout = CONNECT_TIMEOUT,
    }))
    record_connected(session:id())
    for i = 1, number do workers[i] = setmetatable({ session = session, number = i }, Ours) end
    return workers, function() session:close() end
end


local function their_workers(number)
    local workers, program = {}, neighbour.start(NAME, HOSTS)
    for i = 1, number do
        workers[i] = setmetatable({ hand = program:hand(i) }, Theirs)
        record_connected(workers[i].hand:session())
    end
    return workers, function() program:stop() end
end


local function run()
    math.randomseed(tonumber(SEED))
    for path in KEPT:gmatch("[^,]+") do kept[#kept + 1], is_kept[path] = path, true end
    for path in (MUTEXES .. "," .. RWLOCKS):gmatch("[^,]+") do paths[#paths + 1] = path end
    for path in (MUTEXES .. "," .. RWLOCKS .. "," .. KEPT):gmatch("[^,]+") do
        stores[path] = store.open(FOLDER, path, function() zklock.sleep(0.002) end)
    end
    for path in RWLOCKS:gmatch("[^,]+") do is_rwlock[path] = true end
    local open = OURS and our_workers or their_workers
    local tasks, close = open(tonumber(WORKERS))
    for i, worker in ipairs(tasks) do
        tasks[i] = function()
            while not is_calm() do
                cycle(worker)
                pause(0.01)
            end
        end
    end
    zklock.run(unpack(tasks))
    writer:record("closing")
    close()
end


writer:run(run)
