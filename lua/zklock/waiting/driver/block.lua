--- The driver for plain Lua: it blocks the thread, in slices, so that Ctrl-C
-- (a debug hook, which only runs between instructions of Lua) works.

local sessions = require "zklock.waiting.sessions"

local SLICE = 0.1 -- seconds

local _M = { stops_callers = true } -- a wait stops the coroutines that resumed this one, too


-- Other sessions are looked after when nothing happens in this one.
function _M.wait(session, request)
    local handle, news = request.handle, session.handle
    while not handle:done() do
        local any = news:wait(SLICE)
        session:dispatch()
        if not any then sessions.dispatch() end
    end
end


return _M
