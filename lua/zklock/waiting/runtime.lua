--- A runtime is the process that runs the code, the real one or one in a world of virtual time
-- (zklock.world.current).

local core = require "zklock.core"
local drivers = require "zklock.waiting.drivers"
local failure = require "zklock.value.failure"
local sessions = require "zklock.waiting.sessions"

local real_now = core.now
local os_time, select, setmetatable = os.time, select, setmetatable

---@class zklock.Runtime
---@field owners { names: table<any, string>, last: integer, objects: table<string, any>? }
---@field tokens { count: integer, uses: table<string, any> } see zklock.object.token_uses
---@field resty_session zklock.Session?
local real = {
    owners = {
        names = setmetatable({}, { __mode = "k" }), last = 0,
        objects = setmetatable({}, { __mode = "v" }), -- by their names
    },
    tokens = { count = 0, uses = {} },
}

local current_of_worlds -- nil before the first world

local _M = {
    real = real,
    FOREIGN = "a world of virtual time shares no session with the code outside, nor do two "
        .. "processes of a world",
}


--- Sets the function that returns the runtime of the world whose code runs now.
---@param current fun(): zklock.Runtime?
function _M.set_worlds_current(current)
    current_of_worlds = current
end


---@return zklock.Runtime
function _M.current()
    return current_of_worlds and current_of_worlds() or real
end


function _M.now()
    return _M.current():now()
end


-- --- the real process ----------------------------------------------------------------------

function real.now() return real_now() end
function real.date() return os_time() end


real.driver = drivers.driver


--- True if zklock.run may drive its coroutines here, so outside an event loop.
function real.drives_tasks()
    return not drivers.of_loop(true)
end


--- Message and code for a session of another runtime.
function real.refuse(_, session)
    return select(2, failure("context", session.hosts, _M.FOREIGN))
end


--- Options of core.session() that depend on the runtime.
function real.session_options(_, opts)
    return { steps = opts.on_event ~= nil, identity = opts.identity or core.identity() }
end


--- The reason why a session cannot have these servers.
function real.refuse_hosts() end


function real.add(_, session)
    sessions.add(session)
end


function real.connected() end
function real.meet_error() end
function real.note_event() end
function real.note_acquire() end


--- The reason why sessions have no descriptors.
function real.no_descriptors() end


function real.call(_, session, key, fn, ...)
    local call = drivers.driver().call
    if call then call(session, key, fn, ...) else fn(...) end
end


function real.unsent(_, session)
    local unsent = drivers.usual.unsent
    return unsent and unsent(session) or 0
end


function real.granted(_, lease)
    local granted = drivers.usual.granted
    if granted then granted(lease) end
end


function real.close(_, session, bound)
    local close = drivers.driver().close
    if close then close(session, bound) else session.handle:close(bound) end
end


function real.memory() return core.memory end


--- Totals of all sessions, and the count of callbacks that have not begun.
function real:totals()
    return core.totals(nil), self:unsent()
end


return _M
