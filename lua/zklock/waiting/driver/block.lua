--- The driver for plain Lua. It blocks in slices, because Ctrl-C, a debug hook, runs only between
-- instructions of Lua.

local sessions = require "zklock.waiting.sessions"

local SLICE = 0.1 -- seconds

local _M = { stops_callers = true } -- a wait also stops the coroutines that resumed this one


function _M.wait(session, request)
    local handle, session_handle = request.handle, session.handle
    while not handle:done() do
        local has_news = session_handle:wait(SLICE)
        session:dispatch()
        if not has_news then sessions.dispatch() end
    end
end


return _M
