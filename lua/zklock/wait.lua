--- Waiting: chooses the driver and waits through it, so that however the wait
-- ends nothing is left behind.

local coroutines = require "zklock.coroutines"
local failure = require "zklock.failure"
local here = require "zklock.here"
local misuse = require "zklock.misuse"
local scope = require "zklock.scope"
local sessions = require "zklock.sessions"
local tasks = require "zklock.tasks"

local ipairs, pcall = ipairs, pcall
local require, select, type = require, select, type
local loaded = package.loaded
local now = here.now

local _M = {}

local built = {
    block = "zklock.driver.block",
    ngx = "zklock.driver.ngx",
    cqueues = "zklock.driver.cqueues",
    luv = "zklock.driver.luv",
    copas = "zklock.driver.copas",
}
local loops = { "cqueues", "luv", "copas" } -- libraries, by the names of their modules
local chosen -- by the user; nil: by ourselves

-- Loaded now: when it is needed there may be no descriptor to open its file with.
local usual = require(ngx and built.ngx or built.block)


-- The user's spawn(fn), as ours.
local function starter(spawn)
    return function(fn)
        spawn(fn)
        return true
    end
end


--- zklock.driver(name | { wait = fn, spawn = fn } | nil)
function _M.use(driver)
    if driver == nil then
        chosen = nil
        return true
    end
    if type(driver) == "table" then
        if type(driver.wait) ~= "function" then
            misuse.refuse("a driver is a table with a function wait(session, request, deadline)")
        end
        if driver.spawn ~= nil and type(driver.spawn) ~= "function" then
            misuse.refuse("a driver's spawn must be a function, not %s", misuse.show(driver.spawn))
        end
        chosen = { wait = driver.wait, spawn = driver.spawn and starter(driver.spawn) }
        return true
    end
    if not built[driver] then
        misuse.refuse('a driver is "block", "ngx", "cqueues", "luv", "copas" or a table with ' ..
                      "`wait`")
    end
    if driver == "ngx" and not ngx then
        return nil, 'context: the driver "ngx" is for nginx with the Lua module', "context"
    end
    if driver ~= "block" and coroutines.problem then
        return failure("unsupported", "zklock.driver", coroutines.problem)
    end
    local ok, found = pcall(require, built[driver])
    if not ok then
        return nil, ('the driver "%s" needs a library that cannot be loaded: %s'):format(
            driver, found), "unsupported"
    end
    chosen = found
    return true
end


-- Refuses every wait, until the driver can be loaded: without it nobody knows whether its loop
-- runs, and may not be blocked.
local function missing(name, problem)
    return {
        here = function() return true end,
        refusal = function()
            return ('unsupported: the driver "%s" cannot be loaded: %s'):format(name, problem),
                "unsupported"
        end,
    }
end


-- In plain Lua 5.1, in a loop.
local unable = {
    refusal = function()
        return select(2, failure("unsupported", "a wait in an event loop", coroutines.problem))
    end,
}


local function driver_of(name)
    local ok, found = pcall(require, built[name])
    return ok and found or missing(name, found)
end

for _, name in ipairs(loops) do
    if loaded[name] then driver_of(name) end
end


-- The driver of the event loop that this runs in, if it does. A library that was never loaded
-- has no loop.
local function of_loop(in_run)
    if not (loaded.cqueues or loaded.luv or loaded.copas) then return end
    for i = 1, #loops do
        local name = loops[i]
        local found = loaded[name] and driver_of(name)
        if found and found.here(in_run) then return coroutines.problem and unable or found end
    end
end


-- The driver for the running coroutine.
local function driver()
    local world = here.world()
    if world then return world:driver() end
    if chosen then return chosen end
    local of_run = tasks.driver()
    return of_loop(of_run ~= nil) or of_run or usual
end


local function direct(_, _, fn, ...)
    fn(...)
end


local function block(session, bound)
    session.handle:close(bound)
end


local function attend(way, session, request, deadline, take, ...)
    way.wait(session, request, deadline)
    local handle = request.handle
    if not (request.told or handle:done()) then
        local late = deadline and now() >= deadline
        handle:cancel(late and "timeout" or "interrupted")
    end
    return take(request, ...)
end


--- Waits for a request that was not done, by a driver, then gives what take(request, ...) gives.
-- The request is closed after, so take() has to take all that it needs.
function _M.by(way, session, request, timeout, take, ...)
    local deadline = timeout and now() + timeout
    return scope(request, attend, way, session, request, deadline, take, ...)
end


--- The same of any request, by the driver for the running coroutine.
function _M.wait(session, request, timeout, take, ...)
    if request.handle:done() then return scope(request, take, request, ...) end
    return _M.by(driver(), session, request, timeout, take, ...)
end


--- For an answer that says no more than "ok".
function _M.take_code(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    return failure(code, path, detail)
end


-- Why that driver cannot wait here: nothing, or message, code.
local function refusal_of(way, session)
    if session and session.process ~= here.process() then
        return select(2, failure("context", session.hosts,
                                 "a world of virtual time and what is outside share no session, " ..
                                 "nor do two processes of a world"))
    end
    local refusal = way.refusal
    if not refusal and ngx and ngx.get_phase() == "init" then refusal = usual.refusal end
    if refusal then return refusal(session) end
end


--- nil, or why the running host cannot wait here in the session (nil: in a new one): message,
-- code.
function _M.refusal(session)
    return refusal_of(driver(), session)
end


--- The driver for the running coroutine; or nil, message, code: why it cannot wait here.
function _M.driver(session)
    local way = driver()
    local message, code = refusal_of(way, session)
    if message then return nil, message, code end
    return way
end


--- Starts fn() beside the caller. False: nothing can run there.
---@return boolean begun
---@return (fun(): boolean)? is_gone nothing will resume it
function _M.spawn(fn)
    local spawn = driver().spawn
    if not spawn then return false end
    return spawn(fn)
end


--- Calls a callback of the user's, in a thread of its own where the session's host has such. There
-- calls of one `key` that is not false are made one after the other (not if it `overtakes`), and a
-- call that has not begun gives way to the next.
function _M.call(session, key, fn, ...)
    local process = session.process
    local way = process and process.driver or not here.world() and driver()
    local call = way and way.call or direct
    call(session, key, fn, ...)
end


--- How many callbacks of a session, or of all sessions, have not begun.
---@return integer
function _M.unsent(session)
    if not usual.unsent or session and session.process then return 0 end
    return usual.unsent(session)
end


--- A lease was acquired in the running host.
function _M.granted(lease)
    if usual.granted and not lease.session.process then usual.granted(lease) end
end


--- Closes a session, at most within `bound` seconds.
function _M.close(session, bound)
    if session.process then return session.process:close(session, bound) end
    local close = driver().close or block
    close(session, bound)
end


--- The light threads of a task that were killed will not ask for what they waited for.
function _M.abandon(task)
    local abandon = driver().abandon
    if abandon then abandon(task) end
end


--- Sleeps; others go on meanwhile where the host has others.
---@return true? ok
---@return string? message
---@return string? code "interrupted": the host is to end; "context"
function _M.sleep(seconds)
    if type(seconds) ~= "number" or not (seconds >= 0) then
        misuse.refuse("sleep takes seconds, 0 or more")
    end
    local sleep = driver().sleep
    if not sleep then
        sleep = tasks.active() and not of_loop(true) and tasks.sleep or sessions.sleep
    end
    return sleep(seconds)
end


--- Runs fn and every further function as a coroutine of its own, until all have
-- ended; gives what fn gives. Arguments that are not all functions go to fn.
-- An error in one ends the others and is raised here, unchanged.
function _M.run(fn, ...)
    if type(fn) ~= "function" then misuse.refuse("run takes functions") end
    if ngx then return failure("context", "zklock.run", "in nginx: ngx.thread.spawn") end
    if coroutines.problem then return failure("unsupported", "zklock.run", coroutines.problem) end
    return tasks.run(here.world() ~= nil or not of_loop(true), fn, ...)
end


return _M
