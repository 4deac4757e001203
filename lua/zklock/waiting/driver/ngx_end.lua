--- The end of an nginx worker. A worker that is told to exit lives until no timer runs and no
-- request is open, so a loop in a timer would keep it for ever. Dispatchers, waits and sleeps call
-- proceed(), which goes through the stages:
--
--   STAYS     until nginx tells the worker to exit
--   LEAVING   for the longest `drain` of its sessions, all goes on
--   OVER      leases of timers are lost, members have left, watches have stopped; then the sleeps
--             and waits of timers end. Requests go on
--   CLOSED    the sessions are closed, because a loop ignored that its sleep was interrupted, and
--             no request holds a lease

local core = require "zklock.core"
local current_task = require "zklock.waiting.nginx_task"
local failure = require "zklock.value.failure"
local semaphore = require "ngx.semaphore"

local collectgarbage, ipairs, next = collectgarbage, ipairs, next
local pairs, select, setmetatable = pairs, select, setmetatable
local max, min = math.max, math.min
local now = core.now
local get_phase, sleep = ngx.get_phase, ngx.sleep
local exiting = ngx.worker.exiting

local STAYS, LEAVING, OVER, CLOSED = 0, 1, 2, 3

local STEP = 0.01 -- seconds between calls of proceed() in a worker that is to exit
local WATCH_STEP = 0.5 -- between calls in a sleep, where no dispatcher runs
local SLICE = 60 -- the same where a dispatcher runs
local SOON = 0.001 -- until a lease of a timer is lost
local PATIENCE = 0.5 -- with a loop that ignores an interrupted sleep
local CLOSE_BOUND = 1 -- that a close may take

local function weak(mode) return setmetatable({}, { __mode = mode }) end

local stage, leaving_at, drain = STAYS, nil, 0
local over_at -- when the stage became OVER
local collected_at = 0 -- when the collector last ran, to find requests that have ended

local dispatchers -- session -> zklock.Dispatcher
local timer_leases = weak "k" -- a set
local request_leases = weak "kv" -- lease -> task of its request, while that lives
local sleepers = weak "k" -- token on the stack of a sleep -> the stage when it began; STAYS for the
-- sleep of a request
local bell -- the semaphore that sleepers wait for

local _M = {}


-- --- holders and sleepers -------------------------------------------------------------------

function _M.granted(lease)
    if get_phase() == "timer" then timer_leases[lease] = true
    else request_leases[lease] = current_task() end
end


local function pause(seconds)
    if not bell then bell = semaphore.new() end
    if bell then bell:wait(seconds) else sleep(min(seconds, STEP)) end
end


--- Wakes all sleepers, which look how long to sleep. Later sleeps use another bell.
function _M.ring()
    local rung = bell
    bell = nil
    local count = rung and -rung:count() or 0
    if count > 0 then rung:post(count) end
end


local ended = { lost = true, released = true }

local function is_held(lease)
    return not ended[lease.handle:state()]
end


local function any_timer_holds()
    for lease in pairs(timer_leases) do
        if is_held(lease) then return true end
    end
    return false
end


-- A request is over when release_all in log_by_lua tells so, or the collector took its ngx.ctx.
local function any_request_holds()
    if not next(request_leases) then return false end
    if now() > collected_at + 1 then
        collectgarbage()
        collected_at = now()
    end
    for lease, task in pairs(request_leases) do
        if not task.over and is_held(lease) then return true end
    end
    return false
end


local function any_wait()
    for _, dispatcher in pairs(dispatchers) do
        if dispatcher:is_needed() then return true end
    end
    return false
end


-- True if a timer sleeps, though its sleep before was interrupted.
local function any_timer_sleeps_again()
    for _, first_stage in pairs(sleepers) do
        if first_stage == OVER then return true end
    end
    return false
end


-- --- the stages ---------------------------------------------------------------------------

local function sessions()
    local list = {}
    for session in pairs(dispatchers) do
        if not session.handle:ended() then list[#list + 1] = session end
    end
    return list
end


--- True once the worker is told to exit, which `told` reports. Begins the stage LEAVING then.
function _M.check_exiting(told)
    if stage == STAYS and (told or exiting()) then
        stage, leaving_at = LEAVING, now()
        collectgarbage() -- takes killed sleepers and unused sessions
        collected_at = leaving_at
        for _, session in ipairs(sessions()) do
            drain = max(drain, session.drain)
            session.handle:poke()
        end
        _M.ring()
    end
    return stage ~= STAYS
end


-- Members leave, watches and followers stop.
local function depart()
    for _, session in ipairs(sessions()) do
        local listeners = {} -- a list, because each that stops changes the sets
        for follower in pairs(session.followers) do listeners[#listeners + 1] = follower end
        for _, each in pairs(session.watchers) do listeners[#listeners + 1] = each end
        for _, each in ipairs(listeners) do (each.leave or each.stop)(each) end
    end
end


-- Timers must not wait any more then, so that none acquires a lease only to lose it.
local function drain_is_over()
    return stage >= OVER or stage == LEAVING and now() >= leaving_at + drain
end


-- True if no lease of a timer is left. Makes such leases expire.
local function take_leases()
    local left = false
    for lease in pairs(timer_leases) do
        if is_held(lease) then
            lease.handle:expire(SOON)
            left = true
        end
    end
    return not left
end


local function enter(new)
    stage = new
    _M.ring()
end


local function close_sessions()
    for _, session in ipairs(sessions()) do session.handle:close_soon(CLOSE_BOUND) end
end


local function any_listener()
    for _, session in ipairs(sessions()) do
        if next(session.watchers) or next(session.followers) then return true end
    end
    return false
end


-- True if nothing would have to be ended after the drain.
local function is_idle()
    return not (next(sleepers) or any_wait() or any_timer_holds() or any_listener())
end


--- Does the work that is due. False if none will be due any more.
function _M.proceed()
    if not _M.check_exiting() then return true end
    if stage == LEAVING and drain_is_over() and take_leases() then
        depart()
        over_at = now()
        enter(OVER)
    end
    if stage == LEAVING and not is_idle() then return true end
    local serves = any_request_holds()
    if stage == OVER and any_timer_sleeps_again() then
        if serves or now() < over_at + PATIENCE then return true end
        close_sessions()
        enter(CLOSED)
    end
    return serves
end


-- --- waits --------------------------------------------------------------------------------

--- Seconds between looks of a dispatcher, or of a wait without one.
function _M.step()
    return stage == OVER and 10 * STEP or STEP
end


--- True if the wait must end. A request's wait gets `drain` even if it begins late; a timer's does
-- not.
function _M.must_end(request)
    if request.of_timer then return drain_is_over() end
    return stage >= LEAVING and now() >= max(leaving_at, request.begun) + drain
end


local REFUSED = "a worker that is told to exit"

--- Message and code if the caller must not wait in the session (nil stands for a new one), else
-- nothing. A loop that ignores the refusal is slowed down.
function _M.refusal(session)
    if not _M.check_exiting() then return end
    if session and stage < CLOSED then
        if stage == LEAVING then _M.proceed() end
        if not drain_is_over() or get_phase() ~= "timer" then return end
    end
    sleep(STEP)
    return select(2, failure("interrupted", REFUSED))
end


-- --- sleeps -------------------------------------------------------------------------------

local function slice()
    for _, dispatcher in pairs(dispatchers) do
        if dispatcher.runs then return SLICE end
    end
    return (stage == LEAVING or stage == OVER) and STEP or WATCH_STEP
end


local function sleep_until(due, first_stage)
    repeat
        pause(min(max(due - now(), 0.001), slice()))
        _M.proceed()
    until now() >= due or stage >= OVER and stage > first_stage
end


--- Sleeps, while the worker goes on. nginx counts whole milliseconds and may be short by one.
---@return true? ok
---@return string? message
---@return string? code "interrupted"
function _M.sleep(seconds)
    _M.proceed()
    local sleeper, first_stage = {}, stage
    sleepers[sleeper] = get_phase() == "timer" and first_stage or STAYS
    local least = first_stage >= OVER and STEP or 0
    if seconds == 0 then sleep(least)
    else sleep_until(now() + max(seconds, least), first_stage) end
    sleepers[sleeper] = nil
    if stage < OVER then return true end
    return failure("interrupted", "zklock.sleep", REFUSED)
end


function _M.set_dispatchers(by_session)
    dispatchers = by_session
end


return _M
