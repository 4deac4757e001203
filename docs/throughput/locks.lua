--- Locks of several ensembles, of which the path chooses one; README.md has the rules.

local zklock = require "zklock"

local MARK = "/zklock-part" -- in each ensemble: "1 of 2"
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


--- While no client runs: writes into each ensemble which part of the set it is.
function locks.mark(ensembles)
    for i, hosts in ipairs(ensembles) do
        local session = assert(zklock.connect(hosts))
        assert(session:mutex(MARK .. "-lock"):with(WAIT, function(lease)
            local verb = session:get(MARK) and "set" or "create"
            assert(lease:guard{ { verb, MARK, part(i, ensembles) } })
        end))
        session:close()
    end
end


--- A session with each ensemble; nil and why, if one of them is not that part of the set.
function locks.connect(ensembles, options)
    local self = setmetatable({ sessions = {} }, Locks)
    for i, hosts in ipairs(ensembles) do
        local session, problem = zklock.connect(hosts, options)
        self.sessions[i] = session
        local mark = session and session:get(MARK)
        if mark ~= part(i, ensembles) then
            self:close()
            return nil, problem or ("%s is %s, not %s"):format(hosts, mark or "no part",
                                                                part(i, ensembles))
        end
    end
    return self
end


--- The session in which all that is about this path is done.
function Locks:session(path)
    return self.sessions[hash(path) % #self.sessions + 1]
end


function Locks:mutex(path, options) return self:session(path):mutex(path, options) end


function Locks:close()
    for _, session in ipairs(self.sessions) do session:close() end
end


return locks
