--- Remembers which tokens this process has used on a path. A store that compares tokens of turns
-- (`keep`, `token = "turns"`) with plain ones refuses good writes, and no server can tell. The
-- session tells the first such mix as an event.

local sessions = require "zklock.waiting.sessions"

local LIMIT = 1000 -- paths remembered at once

local _M = {}

-- runtime.tokens.uses maps "hosts path" to whether its tokens count grants, or to "mixed".


---@param lock zklock.Lock of a session with on_event
function _M.record(lock)
    if lock.contends_as ~= "mutex" then return end
    local session, counting = lock.session, lock.counting
    local key = session.hosts .. " " .. lock.path
    local memory = session.runtime.tokens
    local known = memory.uses[key]
    if known == counting or known == "mixed" then return end
    if known == nil then
        if memory.count == LIMIT then memory.uses, memory.count = {}, 0 end
        memory.uses[key], memory.count = counting, memory.count + 1
        return
    end
    memory.uses[key] = "mixed"
    local time = session.runtime:date()
    local mixed, event = {}, { event = "mixed_tokens", path = lock.path, time = time }
    session.mixed = session.mixed or mixed -- a finalizer may have made it
    session.mixed[#session.mixed + 1] = event
    sessions.look_again(session)
end


return _M
