--- The driver for nginx with the Lua module (OpenResty). A wait suspends its light thread on a
-- semaphore. Each session has a dispatcher, a light thread that the session's own threads wake over
-- a unix socket, and that posts the semaphores.
--
-- A light thread that is killed while it waits (its client went, another thread called ngx.exit)
-- runs nothing more. The post for it stays in the semaphore. The dispatcher finds such a post a
-- moment later, and gives up the wait.

local core = require "zklock.core"
local coroutines = require "zklock.waiting.coroutines"
local calls_of = require "zklock.waiting.driver.ngx_calls"
local current_task = require "zklock.waiting.nginx_task"
local failure = require "zklock.value.failure"
local leaving = require "zklock.waiting.driver.ngx_end"
local semaphore = require "ngx.semaphore"

local assert, ipairs, pairs, pcall = assert, ipairs, pairs, pcall
local select, setmetatable = select, setmetatable
local max, min = math.max, math.min
local now = core.now
local ngx = ngx
local ERR, log = ngx.ERR, ngx.log
local sleep = ngx.sleep
local get_phase = ngx.get_phase
local spawn, kill, wait_for = ngx.thread.spawn, ngx.thread.kill, ngx.thread.wait
local tcp, timer_at, timer_every = ngx.socket.tcp, ngx.timer.at, ngx.timer.every

local STEP = 0.01 -- seconds between looks for news where no socket tells it
local IDLE = 0.1 -- the same while no light thread waits
local WATCH = 5 -- between looks for a dispatcher that does not run
local LOOK = 0.5 -- between looks for the worker's end, and for timers that were dropped
local SLICE = 60 -- of a wait, after which its light thread dispatches
local LATE = 0.1 -- after a wait's deadline, until its light thread dispatches
local CLOSE_BOUND = 1 -- that a close may take
local FOREVER = 2147483647 -- milliseconds

local _M = { stops_callers = true } -- a wait also stops the coroutines that resumed this one


-- --- where waits are possible -----------------------------------------------------

-- The Lua module lets a light thread wait in these phases, but only a patched nginx (OpenResty)
-- resumes it. In any other the handshake would hang.
local patched = ngx.config.nginx_configure():find("openresty", 1, true) ~= nil
local waits_by_phase = { ssl_client_hello = patched, ssl_session_fetch = patched }

-- In any other phase tries, once, a wait for a posted semaphore, which ends at once, or fails where
-- waits are not allowed.
local function can_wait_in(phase)
    if waits_by_phase[phase] == nil then
        local ok, waited = pcall(function() return semaphore.new(1):wait(0) end)
        waits_by_phase[phase] = ok and waited == true
    end
    return waits_by_phase[phase]
end


local NEEDS_PATCHES = "only OpenResty's own nginx can; ssl_certificate_by_lua can in any"

local instead = {
    init = "the master forks its workers later; open the session in a request, or in " ..
           "ngx.timer.at(0, ...) of init_worker_by_lua",
    init_worker = "do it in ngx.timer.at(0, ...)",
    ssl_client_hello = NEEDS_PATCHES,
    ssl_session_fetch = NEEDS_PATCHES,
}

local ELSEWHERE = "it can be done in rewrite, access and content, in " ..
                  "ssl_certificate_by_lua, and in timers; a lease can be released anywhere"

local NO_CACHE = "each request has a Lua of its own, and none could keep the session; " ..
                 "set lua_code_cache on"


local function refusal_of_place()
    local phase = get_phase()
    local subject, why
    if not can_wait_in(phase) then
        subject, why = ('waiting in the phase "%s"'):format(phase), instead[phase] or ELSEWHERE
    elseif not core.isyieldable() then
        subject, why = "waiting here", coroutines.NO_YIELD
    elseif core.states() > 1 then
        subject, why = "lua_code_cache off", NO_CACHE
    end
    if subject then return select(2, failure("context", subject, why)) end
end


function _M.refusal(session)
    local message, code = refusal_of_place()
    if message then return message, code end
    return leaving.refusal(session)
end


-- --- the dispatcher -----------------------------------------------------------------

---@class zklock.Dispatcher
---@field weak table refers to its session weakly
---@field waits table set of requests whose light thread waits, or was killed while it did; the
-- session's own table is weak, and a collected request is closed later
---@field woken zklock.Request[] posted, and not seen awake yet
---@field calls zklock.NgxCalls callbacks that have not begun
---@field started_at? number when its timer was asked for
---@field runs boolean
---@field looker thread? of keep_looking()
local Dispatcher = {}
Dispatcher.__index = Dispatcher

local dispatchers = setmetatable({}, { __mode = "k" }) -- by session
leaving.set_dispatchers(dispatchers)


local function dispatcher_of(session)
    local self = dispatchers[session]
    if self then return self end
    self = setmetatable({
        weak = setmetatable({ session = session }, { __mode = "v" }),
        waits = {},
        woken = {},
        calls = calls_of(),
        runs = false,
    }, Dispatcher)
    dispatchers[session] = self
    return self
end


-- Restarts dispatchers whose timers were dropped. nginx also calls this timer when the worker is to
-- exit, so that the dispatchers end their reads, which would keep the worker.
local function watch(premature)
    if leaving.check_exiting(premature) then return end
    for session, dispatcher in pairs(dispatchers) do
        if not (dispatcher.runs or session.handle:ended()) then dispatcher:start() end
    end
end


local watch_begun

-- nginx may refuse a timer. Then the next wait or sleep asks again.
local function begin_watch()
    if not watch_begun then watch_begun = timer_every(WATCH, watch) end
end


-- True if no light thread waits for the request, which has a post if its end was told. A semaphore
-- counts its posts less its waiters.
local function is_orphan(request)
    return request.asleep and request.sema:count() >= (request.told and 1 or 0)
end


function Dispatcher:drop(request)
    self.waits[request], request.task.waits[request] = nil, nil
    request:close()
end


function Dispatcher:is_needed()
    for request in pairs(self.waits) do
        if request.asleep and not is_orphan(request) then return true end
    end
    return false
end


function Dispatcher:interrupt_waits()
    for request in pairs(self.waits) do
        if leaving.must_end(request) then request:interrupt() end
    end
end


-- Does what is due at the end of the worker. False if the dispatcher may end.
function Dispatcher:proceed()
    local session = self.weak.session
    if not session or session.handle:ended() then return false end
    if not leaving.check_exiting() then return true end
    local more = leaving.proceed()
    self:interrupt_waits()
    return more or self:is_needed()
end


-- Drops requests whose posts have stayed in their semaphores since the previous deliver(), because
-- their light threads were killed before they woke.
function Dispatcher:drop_killed()
    if #self.woken == 0 then return end
    local none = {}
    local woken = self.woken
    self.woken = none
    for _, request in ipairs(woken) do
        if is_orphan(request) then self:drop(request)
        elseif request.asleep then self.woken[#self.woken + 1] = request end
    end
end


function Dispatcher:deliver()
    local session = self.weak.session
    if not session then return end
    self:drop_killed()
    session.handle:heard()
    session:dispatch()
    if #self.woken > 0 then session.handle:poke() end -- for drop_killed() in a moment
end


function Dispatcher:connect()
    local handle = self.weak.session.handle
    local path, problem = handle:listen()
    if not path then return nil, problem end
    local socket = tcp()
    socket:settimeouts(1000, 1000, FOREVER)
    local connected, reason = socket:connect("unix:" .. path)
    local accepted = handle:accept() -- in any case, because it removes the path
    if connected and accepted then return socket end
    return nil, reason or "another process connected"
end


local function read(socket)
    local bytes, problem = socket:receiveany(16)
    return bytes ~= nil or problem == "timeout"
end


local warned

local function warn(problem)
    if warned then return end
    warned = true
    log(ERR, "zklock: no socket in $TMPDIR or /tmp, so zklock looks every 10 ms: ", problem)
end


function Dispatcher:pace()
    if leaving.check_exiting() then return leaving.step() end
    return self:is_needed() and STEP or IDLE
end


-- Reads the socket until the worker is to exit, which the read would prevent.
function Dispatcher:work()
    local socket, problem
    if not leaving.check_exiting() then
        socket, problem = self:connect()
        if not socket then warn(problem) end
    end
    self:deliver()
    while self:proceed() do
        if not (socket and not leaving.check_exiting() and read(socket)) then
            if socket then socket:close() end
            socket = nil
            sleep(self:pace())
        end
        self:deliver()
    end
    if socket then socket:close() end
    self:deliver()
    self.calls:begin()
end


-- Runs beside work() in the same timer, because nginx may drop any other. A thread that ends begins
-- the callbacks' threads, because nginx keeps those that a living thread began. It is started only
-- when needed, as nginx keeps some memory of each thread until the timer ends.
function Dispatcher:keep_looking()
    while true do
        sleep(LOOK)
        leaving.check_exiting()
        self.calls:drop_late()
        if self.calls:any_overdue() then wait_for(spawn(self.calls.begin, self.calls)) end
    end
end


function Dispatcher:look_and_work()
    self.looker = spawn(self.keep_looking, self)
    self:work()
end


local function run(_, self)
    if self.runs then return end
    self.runs = true
    local ok, problem = pcall(self.look_and_work, self)
    if self.looker then kill(self.looker) end
    self.runs, self.started_at, self.looker = false, nil, nil
    leaving.ring() -- sleepers must look by themselves now
    if not ok then log(ERR, "zklock: ", problem) end
end


-- Asks again after a second, because nginx may drop a timer when it runs many.
function Dispatcher:start()
    if self.runs or self.started_at and now() < self.started_at + 1 then return end
    self.started_at = now()
    timer_at(0, run, self)
    begin_watch()
end


-- --- a wait ---------------------------------------------------------------------------

-- Not a closure of the light thread, because nginx clears the stack of a killed thread, and so the
-- upvalues of its closures.
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
    if posted then return end
    session:dispatch()
    if self.runs then return end
    self:drop_killed()
    self.calls:drop_late()
    if leaving.check_exiting() then
        leaving.proceed()
        self:interrupt_waits()
    end
end


---@param session zklock.Session
---@param request zklock.Request
---@param deadline? number
function _M.wait(session, request, deadline)
    local self, task = dispatcher_of(session), current_task()
    request.dispatcher, request.task = self, task
    request.sema, request.begun = assert(semaphore.new()), now()
    request.of_timer = get_phase() == "timer"
    self.waits[request], task.waits[request] = true, true
    request:on_done(wake)
    while not request:done() do
        self:start()
        self:sleep(session, request, deadline)
    end
    self.waits[request], task.waits[request] = nil, nil
end


--- Ends the waits of the task's killed light threads. In log_by_lua, notes that the task's request
-- is over.
function _M.abandon(task)
    task.over = get_phase() == "log"
    for request in pairs(task.waits) do
        if is_orphan(request) then request.dispatcher:drop(request) end
    end
end


-- --- callbacks ---------------------------------------------------------------------------

--- Calls fn(...) as wait.call() tells, in a light thread because the caller may be the dispatcher.
function _M.call(session, key, fn, ...)
    dispatcher_of(session).calls:add(key, fn, ...)
end


--- The number of callbacks that have not begun.
---@param session? zklock.Session default: all
function _M.unsent(session)
    local count = 0
    for each, dispatcher in pairs(dispatchers) do
        if each == (session or each) then count = count + dispatcher.calls:count() end
    end
    return count
end


--- Starts fn() in a timer, which outlives the client. False if nginx refuses a timer. Calls
--- on_dropped() if nginx drops it.
function _M.spawn(session, fn, on_dropped)
    return dispatcher_of(session).calls:start(fn, on_dropped)
end


-- --- the end of a session, sleep --------------------------------------------------------

--- Closes a session without blocking the worker, in the background where nothing can wait.
function _M.close(session, bound)
    local due = now() + min(bound, CLOSE_BOUND)
    session.handle:close_soon(due - now())
    if refusal_of_place() then return end
    while not session.handle:ended() and now() < due do sleep(STEP) end
end


function _M.sleep(seconds)
    local message, code = refusal_of_place()
    if message then return nil, message, code end
    begin_watch()
    return leaving.sleep(seconds)
end


_M.granted = leaving.granted


return _M
