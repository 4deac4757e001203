--- zklock in the loop, as neighbour.lua describes it, with the arguments given there.
-- Run with Lua 5.4 and with LuaJIT.

local core = require "zklock.core"
local counter = require "spec.neighbours.counter"
local history = require "spec.torture.history"
local zklock = require "zklock"

local now, random = core.now, math.random
local unpack = table.unpack or unpack -- luacheck: globals unpack

local _, PROCESS, HOSTS, FOLDER, SEED, WORKERS, MUTEXES, RWLOCKS = unpack(arg)

local SESSION_TIMEOUT = 20
local CONNECT_TIMEOUT = 15

local writer = history.writer(FOLDER .. "/history/" .. PROCESS, PROCESS)
local paths, is_rwlock = {}, {}
local session
local last_claim = 0


local function pause(longest)
    zklock.sleep(longest * random())
end


local function is_calm()
    local file = io.open(FOLDER .. "/calm")
    if file then file:close() end
    return file ~= nil
end


-- --- a holder's work ----------------------------------------------------------------------

--- Records an event of a claim that holds, with the moment until which that is certain.
local function record(claim, event, fields)
    local at = now()
    fields.held = claim.lease:held() and at or nil
    writer:record(event, claim.id, fields, at)
end


local function count(claim)
    local read = counter.read(FOLDER, claim.path)
    pause(0.004)
    counter.write(FOLDER, claim.path, read, claim.id, claim.token)
    record(claim, "wrote", { element = claim.id, read = read.element, token = claim.token,
                             accepted = "true" })
end


local function look_twice(claim)
    for _ = 1, 2 do
        record(claim, "read", { element = counter.read(FOLDER, claim.path).element })
        pause(0.004)
    end
end


local function downgrade(claim)
    record(claim, "downgrading", {})
    local begun = now()
    local ok, _, code = claim.lease:downgrade(SESSION_TIMEOUT)
    record(claim, "downgraded", { result = ok and "ok" or code, begun = begun,
                                  limit = SESSION_TIMEOUT })
    look_twice(claim)
end


local function work(claim)
    if claim.kind == "read" then return look_twice(claim) end
    count(claim)
    if claim.kind == "write" and random() < 0.2 then downgrade(claim) end
end


-- --- a claim --------------------------------------------------------------------------------

local function new_claim()
    local path = paths[random(#paths)]
    local kind = not is_rwlock[path] and "mutex" or random() < 0.5 and "read" or "write"
    last_claim = last_claim + 1
    return { id = ("%s-%d"):format(PROCESS, last_claim), path = path, kind = kind, begun = now() }
end


local function lock_of(claim)
    local opts = { data = claim.id }
    if claim.kind == "mutex" then return session:mutex(claim.path, opts) end
    local rw = session:rwlock(claim.path, opts)
    return rw[claim.kind](rw)
end


local function cycle(owner)
    local claim = new_claim()
    local limit = random() < 0.1 and (random() < 0.5 and 0 or 0.03) or nil
    local allowed = limit == 0 and CONNECT_TIMEOUT or limit
    writer:record("invoked", claim.id, { path = claim.path, kind = claim.kind, limit = allowed,
                                         way = limit and "try" or "acquire" }, claim.begun)
    local lease, _, code = lock_of(claim):acquire{ timeout = limit, owner = owner }
    if not lease then
        return writer:record("failed", claim.id, { code = code, begun = claim.begun,
                                                   limit = allowed })
    end
    claim.lease, claim.token = lease, lease:token_string()
    record(claim, "granted", { token = claim.token, state = lease:state(), begun = claim.begun,
                               limit = allowed })
    work(claim)
    local begun, held = now(), lease:held()
    local ok
    ok, _, code = lease:release()
    writer:record("released", claim.id, { result = ok and "ok" or code, begun = begun, limit = 0,
                                          held = held and begun or nil })
end


-- --- the loop -------------------------------------------------------------------------------

local function worker(number)
    return function()
        while not is_calm() do
            cycle(number)
            pause(0.01)
        end
    end
end


local function run()
    math.randomseed(tonumber(SEED))
    for path in (MUTEXES .. "," .. RWLOCKS):gmatch("[^,]+") do paths[#paths + 1] = path end
    for path in RWLOCKS:gmatch("[^,]+") do is_rwlock[path] = true end
    session = assert(zklock.connect(HOSTS, { timeout = SESSION_TIMEOUT, identity = PROCESS,
                                             connect_timeout = CONNECT_TIMEOUT }))
    writer:record("connected", nil, { session = session:id(), timeout = session:timeout() })
    local workers = {}
    for number = 1, tonumber(WORKERS) do workers[number] = worker(number) end
    zklock.run(unpack(workers))
    writer:record("closing", nil, { session = session:id() })
    session:close()
end


local ok, problem = xpcall(run, debug.traceback)
if not ok then
    writer:record("error", nil, { message = problem })
    os.exit(1)
end
writer:record("ended")
writer:close()
