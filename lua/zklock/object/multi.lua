--- The multi-lock takes several locks, all or none, under one deadline.

local Lock = require "zklock.object.lock"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local runtime = require "zklock.waiting.runtime"

local concat = table.concat
local getmetatable, ipairs, max = getmetatable, ipairs, math.max
local brief, refuse = misuse.brief, misuse.refuse
local now = runtime.now

local may_be_part = { mutex = true, read = true, write = true }


local function check_parts(session, locks)
    local seen = {}
    for i, lock in ipairs(options.locks(locks)) do
        if getmetatable(lock) ~= Lock or not may_be_part[lock.contends_as]
           or lock.batch then
            refuse('lock %d of multi must be a mutex with order = "fifo", or one side of a ' ..
                   "read-write lock", i)
        end
        if lock.session ~= session then
            refuse("lock %d of multi, %s, is of another session", i, brief(lock.path))
        end
        if seen[lock.path] then
            refuse("lock %d of multi: %s is in it already", i, brief(lock.path))
        end
        seen[lock.path] = true
    end
end


local verbs = {}

function verbs.ask(self, owner, timeout, stopped, opts)
    return self.session.handle:acquire_all(self.acquire_options, owner, timeout, stopped, opts)
end


local function call_each_part(self, method, timeout)
    local session = self.session
    if session:gone() then return failure(session:gone(), self.path) end
    local deadline = now() + options.timeout(timeout, session:timeout())
    local results = {}
    for i, part in ipairs(self.parts) do
        local message, code
        results[i], message, code = part[method](part, max(deadline - now(), 0))
        if not results[i] then return nil, message, code end
    end
    return results
end


function verbs.queue(self, timeout) return call_each_part(self, "queue", timeout) end


function verbs.revoke(self, timeout)
    local counts, message, code = call_each_part(self, "revoke", timeout)
    if not counts then return nil, message, code end
    local total = 0
    for _, count in ipairs(counts) do total = total + count end
    return total
end


---@param locks zklock.Lock[]
---@return zklock.Lock
return function(session, locks)
    check_parts(session, locks)
    local parts, part_options, paths = {}, {}, {}
    for i, lock in ipairs(locks) do
        parts[i], paths[i], part_options[i] = lock, lock.path, lock.acquire_options
    end
    local self = Lock.new(session, concat(paths, " + "), "multi", {})
    self.parts, self.acquire_options = parts, part_options
    self.verbs = verbs
    return self
end
