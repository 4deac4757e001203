--- The driver for nginx with the Lua module (OpenResty). A wait suspends the light
-- thread on a semaphore; one light thread a session, the dispatcher, is woken by the
-- session's own threads over a unix socket and posts the semaphores.
--
-- A light thread that is killed while it waits (its client went, another thread called
-- ngx.exit) runs nothing more. What was posted for it stays in its semaphore then, and the
-- dispatcher, which looks a moment later, gives up what the thread was waiting for.

local core = require "zklock.core"
local current_task = require "zklock.host_task"
local failure = require "zklock.failure"
local semaphore = require "ngx.semaphore"

local assert, ipairs, pairs, pcall = assert, ipairs, pairs, pcall
local select, setmetatable, unpack = select, setmetatable, unpack
local max, min = math.max, math.min
local now = core.now
local ngx = ngx
local ERR, log = ngx.ERR, ngx.log
local exiting, sleep = ngx.worker.exiting, ngx.sleep
local get_phase, spawn = ngx.get_phase, ngx.thread.spawn
local tcp, timer_at = ngx.socket.tcp, ngx.timer.at

local STEP = 0.01 -- seconds, between looks where nothing wakes us
local IDLE = 0.1 -- the same while nobody waits
local SLICE = 60 -- of a wait, after which its thread looks itself
local LATE = 0.1 -- a wait is told of its deadline; this late it looks itself
local DAY = 86400
local CLOSE_BOUND = 1
local FOREVER = 2147483647 -- milliseconds

local _M = {}


-- --- where waits are possible -----------------------------------------------------

-- Here the Lua module lets a light thread wait, but only OpenResty's own nginx goes on after that:
-- it has the patches. In another one the handshake would hang.
local patched = ngx.config.nginx_configure():find("openresty", 1, true) ~= nil
local can_wait = { ssl_client_hello = patched, ssl_session_fetch = patched } -- by phase

-- Of another phase a look tells: a wait for a semaphore that has a post ends at once, or fails
-- where it is not allowed.
local function waits_in(phase)
    if can_wait[phase] == nil then
        local ok, waited = pcall(function() return semaphore.new(1):wait(0) end)
        can_wait[phase] = ok and waited == true
    end
    return can_wait[phase]
end


local NEEDS_PATCHES = "only OpenResty's own nginx can; ssl_certificate_by_lua can in any"

local instead = {
    init = "the master forks its workers after it: open the session in a request, or in " ..
           "ngx.timer.at(0, ...) of init_worker_by_lua",
    init_worker = "do it in ngx.timer.at(0, ...)",
    ssl_client_hello = NEEDS_PATCHES,
    ssl_session_fetch = NEEDS_PATCHES,
}

local ELSEWHERE = "it can be done in rewrite, access and content, in " ..
                  "ssl_certificate_by_lua, and in timers; a lease can be released anywhere"

local NO_YIELD = "nothing can wait inside require, a finalizer, or a function that was " ..
                 "given to table.sort or string.gsub"

local NO_CACHE = "each request has a Lua of its own, and none could keep the session: " ..
                 "set lua_code_cache on"


--- nil, or why it cannot be waited here: message, code.
function _M.refusal()
    local phase = get_phase()
    local subject, why
    if not waits_in(phase) then
        subject, why = ('waiting in the phase "%s"'):format(phase), instead[phase] or ELSEWHERE
    elseif not core.isyieldable() then
        subject, why = "waiting here", NO_YIELD
    elseif core.states() > 1 then
        subject, why = "lua_code_cache off", NO_CACHE
    end
    if subject then return select(2, failure("context", subject, why)) end
end


-- --- the dispatcher -----------------------------------------------------------------

-- Since when the worker is to go; nil: it stays.
local leaving

---@class zklock.Dispatcher
---@field weak table its session; one to which nothing else refers is collected
---@field waits table requests for which a light thread waits, or waited until it was killed;
-- the session's own table is weak, and a request that is collected is closed some time later
---@field woken zklock.Request[] posted, and not seen awake yet
---@field started? number when its light thread was asked for
---@field runs boolean
local Dispatcher = {}
Dispatcher.__index = Dispatcher

local dispatchers = setmetatable({}, { __mode = "k" }) -- by session


local function dispatcher_of(session)
    local self = dispatchers[session]
    if self then return self end
    self = setmetatable({
        weak = setmetatable({ session = session }, { __mode = "v" }),
        waits = {},
        woken = {},
        runs = false,
    }, Dispatcher)
    dispatchers[session] = self
    return self
end


-- A timer that lasts as long as the worker: nginx fires it when the worker is to go, and the
-- dispatchers hear of it. Their reading would keep the worker.
local watched

local function watch_for_the_end(premature)
    if premature then
        leaving = now()
        for session in pairs(dispatchers) do session.handle:poke() end
    else
        watched = timer_at(DAY, watch_for_the_end)
    end
end


-- No light thread waits for the request: a semaphore's count is the posts less the waiters.
local function is_orphan(request)
    return request.asleep and request.sema:count() >= 0
end


-- No light thread waits for the request any more.
function Dispatcher:drop(request)
    self.waits[request] = nil
    request:close()
end


-- A light thread waits for one of the requests.
function Dispatcher:is_needed()
    for request in pairs(self.waits) do
        if request.asleep and not is_orphan(request) then return true end
    end
    return false
end


-- The worker is to go: each waiter has a moment left.
function Dispatcher:hurry(drain)
    for request in pairs(self.waits) do
        if now() > max(leaving, request.begun) + drain then request:interrupt() end
    end
end


function Dispatcher:is_wanted()
    local session = self.weak.session
    if not session or session.handle:ended() then return false end
    if exiting() then leaving = leaving or now() end
    if not leaving then return true end
    self:hurry(session.drain)
    return self:is_needed()
end


-- A waiter that was posted the last time has gone on since, or was killed before that: then
-- the post is still there, and no waiter for it.
function Dispatcher:look_after()
    if #self.woken == 0 then return end
    local none = {}
    local woken = self.woken
    self.woken = none
    for _, request in ipairs(woken) do
        if request.asleep and request.sema:count() > 0 then self:drop(request) end
    end
end


function Dispatcher:deliver()
    local session = self.weak.session
    if not session then return end
    self:look_after()
    session.handle:heard()
    session:dispatch()
    if #self.woken > 0 then session.handle:poke() end -- to look after them in a moment
end


-- The socket over which the session wakes us; nil, reason.
function Dispatcher:connect()
    local handle = self.weak.session.handle
    local path, problem = handle:listen()
    if not path then return nil, problem end
    local socket = tcp()
    socket:settimeouts(1000, 1000, FOREVER)
    local connected, reason = socket:connect("unix:" .. path)
    local accepted = handle:accept() -- in any case: it removes the path
    if connected and accepted then return socket end
    return nil, reason or "somebody else connected"
end


-- False: the socket is of no use any more.
local function read(socket)
    local bytes, problem = socket:receiveany(16)
    return bytes ~= nil or problem == "timeout"
end


local warned

local function warn(problem)
    if warned then return end
    warned = true
    log(ERR, "zklock: no socket in $TMPDIR or /tmp, so it looks every 10 ms: ", problem)
end


-- The socket's reading would keep a worker that is to go.
function Dispatcher:work()
    local socket, problem
    if not exiting() then
        socket, problem = self:connect()
        if not socket then warn(problem) end
    end
    self:deliver()
    while self:is_wanted() do
        if not (socket and not leaving and read(socket)) then
            if socket then socket:close() end
            socket = nil
            sleep(self:is_needed() and STEP or IDLE)
        end
        self:deliver()
    end
    if socket then socket:close() end
end


local function run(_, self)
    if self.runs then return end
    self.runs = true
    local ok, problem = pcall(self.work, self)
    self.runs, self.started = false, nil
    if not ok then log(ERR, "zklock: ", problem) end
end


-- nginx may not run a timer when it runs many: ask again.
function Dispatcher:start()
    if self.runs or self.started and now() < self.started + 1 then return end
    self.started = now()
    timer_at(0, run, self)
    if not watched then watched = timer_at(DAY, watch_for_the_end) end
end


-- --- a wait ---------------------------------------------------------------------------

-- The request is done: its light thread goes on, if there still is one. No closure of that
-- thread's: when it is killed, nginx clears its stack, and with that such a closure's upvalues.
local function wake(request)
    local woken = request.dispatcher.woken
    request.sema:post(1)
    woken[#woken + 1] = request
end


function Dispatcher:sleep(session, request, deadline)
    local limit = STEP
    if self.runs then limit = min(deadline and max(deadline - now(), 0) + LATE or SLICE, SLICE) end
    request.asleep = true
    local posted = request.sema:wait(limit)
    request.asleep = false
    if not posted then session:dispatch() end
end


---@param session zklock.Session
---@param request zklock.Request
---@param deadline? number
function _M.wait(session, request, deadline)
    local self, task = dispatcher_of(session), current_task()
    request.dispatcher, request.sema, request.begun = self, assert(semaphore.new()), now()
    self.waits[request], task.waits[request] = true, true
    request:on_done(wake)
    while not request:done() do
        self:start()
        self:sleep(session, request, deadline)
    end
    self.waits[request], task.waits[request] = nil, nil
end


--- Ends what the task's killed light threads were waiting for.
function _M.abandon(task)
    for request in pairs(task.waits) do
        if is_orphan(request) then request.dispatcher:drop(request) end
    end
end


-- --- callbacks ---------------------------------------------------------------------------

local calls, asked -- calls to be made, and when a light thread for them was asked for


local function make_calls()
    local due = calls or {}
    calls = nil
    for _, call in ipairs(due) do spawn(unpack(call, 1, call.n)) end
end


--- Calls fn(...) in a light thread of its own: the caller may be the dispatcher.
function _M.call(...)
    local call, none = { n = select("#", ...), ... }, {}
    if not calls then calls, asked = none, nil end -- a finalizer may have made them
    calls[#calls + 1] = call
    if asked and now() < asked + 1 then return end
    asked = timer_at(0, make_calls) and now()
end


--- Starts fn() in a timer: no client takes it along. nginx may not run a timer when it runs many.
function _M.spawn(fn)
    local began, runs = now(), false
    local pends = timer_at(0, function()
        runs = true
        fn()
    end)
    return pends ~= nil, function() return not runs and now() > began + 1 end
end


-- --- the end of a session, sleep --------------------------------------------------------

--- Closes a session without blocking the worker; where nothing can wait, in the background.
function _M.close(session, bound)
    local due = now() + min(bound, CLOSE_BOUND)
    session.handle:close_soon(due - now())
    if _M.refusal() then return end
    while not session.handle:ended() and now() < due do sleep(STEP) end
end


--- Sleeps; the worker goes on. nginx counts in whole milliseconds and may be short by one.
function _M.sleep(seconds)
    local message, code = _M.refusal()
    if message then return nil, message, code end
    local due = now() + seconds
    sleep(seconds)
    while now() < due do sleep(0.001) end
end


return _M
