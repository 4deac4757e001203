--- Locks of several ensembles, of which the path chooses one; docs/throughput.md has the rules.

local zklock = require "zklock"

local MARK = "/zklock-part" -- in each ensemble: "1 of 2"
local RETIRED = "retired"   -- the same, of one that has left the list
local WAIT = 10             -- seconds

local locks = {}

local Locks = {}
Locks.__index = Locks


-- The same number for a path on every machine, in every Lua.
local function hash(path)
    local sum = 0
    for i = 1, #path do sum = (sum * 31 + path:byte(i)) % 16777213 end
    return sum
end


local function part(i, ensembles) return ("%d of %d"):format(i, #ensembles) end


local function write(hosts, text)
    local session = assert(zklock.connect(hosts))
    assert(session:mutex(MARK .. "-lock"):with(WAIT, function(lease)
        local verb = session:get(MARK) and "set" or "create"
        assert(lease:guard{ { verb, MARK, text } })
    end))
    session:close()
end


--- Writes into each ensemble which part of the set it is. Call it while no client runs.
function locks.mark(ensembles)
    for i, hosts in ipairs(ensembles) do write(hosts, part(i, ensembles)) end
end


--- Makes all lists refuse this ensemble from now on. Call it while no client runs.
function locks.retire(hosts) write(hosts, RETIRED) end


-- A session with ensemble i; nil, why and the code, "conflict" if it is not that part of the set.
local function open(ensembles, i, options)
    local session, problem, code = zklock.connect(ensembles[i], options)
    if not session then return nil, problem, code end
    local mark
    mark, problem, code = session:get(MARK)
    if mark == part(i, ensembles) then return session end
    session:close()
    if not mark and code ~= "no_node" then return nil, problem, code end
    return nil, ("%s is %s, not %s"):format(ensembles[i], mark or "no part", part(i, ensembles)),
        "conflict"
end


--- A session with each ensemble that answers; nil and why, if none does, or if one is not that
-- part of the set.
function locks.connect(ensembles, options)
    local self = setmetatable({ ensembles = ensembles, options = options, sessions = {} }, Locks)
    -- Weak, because nginx can end a call in the middle of its attempt.
    self.attempts = setmetatable({}, { __mode = "v" })
    local session, problem, code
    for i in ipairs(ensembles) do
        session, problem, code = open(ensembles, i, options)
        if not session and code ~= "connection" then
            self:close()
            return nil, problem
        end
        self.sessions[i] = session
    end
    if not next(self.sessions) then return nil, problem end
    return self
end


--- The session in which all that is about this path is done. If its ensemble has not answered yet,
-- it waits for an answer. Returns nil, message and code if there is none, at once if another call
-- waits for it, because each attempt takes three threads.
function Locks:session(path)
    local sessions, attempts, i = self.sessions, self.attempts, hash(path) % #self.ensembles + 1
    if sessions[i] then return sessions[i] end
    if attempts[i] and not attempts[i].is_over then
        return nil, self.ensembles[i] .. ": another call is connecting", "connection"
    end
    local attempt = {}
    attempts[i] = attempt
    local problem, code
    sessions[i], problem, code = open(self.ensembles, i, self.options)
    attempt.is_over = true
    return sessions[i], problem, code
end


--- Returns nil, message and code if its ensemble does not answer.
function Locks:mutex(path, options)
    local session, problem, code = self:session(path)
    if not session then return nil, problem, code end
    return session:mutex(path, options)
end


function Locks:close()
    for _, session in pairs(self.sessions) do session:close() end
end


return locks
