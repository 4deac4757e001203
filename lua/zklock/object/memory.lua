--- A ZooKeeper server inside this process, for tests, with faults and a look at its tree.
-- src/memory is the server; zklock.connect("memory:NAME") opens a session.

local failure = require "zklock.value.failure"
local hosts = require "zklock.value.hosts"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local strict_methods = require "zklock.value.strict_methods"
local runtime = require "zklock.waiting.runtime"

local setmetatable = setmetatable

---@class zklock.Memory
local Memory = {}
Memory.__index = Memory
Memory.__name = "zklock.memory"


-- Works in the session's runtime, which may be of another world than the caller's.
local function inflict(self, fault, session)
    if misuse.kind_of(session) ~= "zklock.session" then
        misuse.refuse("a fault happens to a session, not to %s", misuse.show(session))
    end
    local verbs = session.runtime:memory()
    if verbs.name(session.handle) ~= self.name then
        misuse.refuse("%s is no session of memory:%s", tostring(session), self.name)
    end
    return verbs[fault](session.handle)
end


--- Ends the session on the server, as after a silence of its timeout.
---@param session zklock.Session
---@return boolean done false: it was over before
function Memory:expire(session)
    return inflict(self, "expire", session)
end


--- Cuts the session's connection, and loses answers that were on their way.
---@param session zklock.Session
---@return boolean done false: it was cut off before, or is closed
function Memory:cut(session)
    return inflict(self, "cut", session)
end


--- Restores the session's connection.
---@param session zklock.Session
---@return boolean done false: it was not cut off, or is closed
function Memory:heal(session)
    return inflict(self, "heal", session)
end


--- Delays each answer from now on.
---@param seconds number 0 or more
function Memory:delay(seconds)
    runtime.current():memory().delay(self.name, options.delay(seconds))
end


--- Returns the names of a node's children, in order of creation.
---@param path string from the root of the tree, also where sessions have a chroot
---@return string[]? names
---@return string? message
---@return zklock.Code? code "no_node"
function Memory:children(path)
    local names = runtime.current():memory().children(self.name, options.node(path))
    if names then return names end
    return failure("no_node", path)
end


--- Expires every session, empties the tree, and delays answers no longer.
function Memory:reset()
    runtime.current():memory().reset(self.name)
end


function Memory:__tostring()
    return ("zklock.memory (%s)"):format(self.name)
end


strict_methods(Memory, Memory, "memory")


return function(name)
    return setmetatable({ name = hosts.check_memory_name(name) }, Memory)
end
