--- Remembers which tokens this process has used on a path. A store that compares tokens of turns
-- (`keep`, `token = "turns"`) with plain ones refuses good writes, and no server can tell. The
-- session tells the first such mix as an event.

local sessions = require "zklock.waiting.sessions"

local ipairs = ipairs

local LIMIT = 1000 -- paths remembered at once

local _M = {}

-- runtime.tokens.uses maps "hosts path" to whether its tokens count grants, or to "mixed".


local function record(lock)
    if lock.contends_as ~= "mutex" then return end
    local session, counting = lock.session, lock.counting
    local key = session.hosts .. " " .. lock.path
    local tokens = session.runtime.tokens
    local known = tokens.uses[key]
    if known == counting or known == "mixed" then return end
    if known == nil then
        if tokens.count == LIMIT then tokens.uses, tokens.count = {}, 0 end
        tokens.uses[key], tokens.count = counting, tokens.count + 1
        return
    end
    tokens.uses[key] = "mixed"
    local time = session.runtime:date()
    local made, event = {}, { event = "mixed_tokens", path = lock.path, time = time }
    local events = session.mixed_token_events or made -- a finalizer may have made them
    session.mixed_token_events = events
    events[#events + 1] = event
    sessions.mark_unfinished(session)
end


---@param lock zklock.Lock that was granted, of a session with on_event
function _M.record(lock)
    for _, part in ipairs(lock.parts or { lock }) do record(part) end
end


return _M
