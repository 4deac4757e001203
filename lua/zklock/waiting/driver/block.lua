--- The driver for plain Lua. It blocks in slices, because Ctrl-C, a debug hook, runs only between
-- instructions of Lua.

local now = require("zklock.core").now
local sessions = require "zklock.waiting.sessions"

local SLICE = 0.1 -- seconds

local _M = { stops_callers = true } -- a wait also stops the coroutines that resumed this one


function _M.wait(session, request)
    local handle, session_handle = request.handle, session.handle
    local all_due = now() + SLICE -- news of the other sessions
    while not handle:done() do
        session_handle:wait(SLICE)
        session:dispatch()
        if now() >= all_due then
            sessions.dispatch()
            all_due = now() + SLICE
        end
    end
end


return _M
