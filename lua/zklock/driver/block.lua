--- The driver for plain Lua: it blocks the thread, in slices, so that Ctrl-C
-- (a debug hook, which only runs between instructions of Lua) works.

local SLICE = 0.1 -- seconds

local _M = {}


function _M.wait(session, request)
    local handle, news = request.handle, session.handle
    while not handle:done() do
        news:wait(SLICE)
        session:dispatch()
    end
end


return _M
