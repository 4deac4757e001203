--- Waiting: chooses the driver and waits through it, so that however the wait
-- ends nothing is left behind.

local core = require "zklock.core"
local failure = require "zklock.failure"
local scope = require "zklock.scope"
local tasks = require "zklock.tasks"

local error, pcall, require, type = error, pcall, require, type
local loaded = package.loaded
local now = core.now

local _M = {}

local built = {
    block = "zklock.driver.block",
    cqueues = "zklock.driver.cqueues",
    luv = "zklock.driver.luv",
    copas = "zklock.driver.copas",
}
local planned = { ngx = true }
local loops = { "cqueues", "luv", "copas" } -- libraries, by the names of their modules
local chosen -- by the user; nil: by ourselves


--- zklock.driver(name | { wait = fn } | nil)
function _M.use(driver)
    if driver == nil then
        chosen = nil
        return true
    end
    if type(driver) == "table" then
        if type(driver.wait) ~= "function" then
            error("a driver is a table with a function wait(session, request, deadline)", 2)
        end
        chosen = driver
        return true
    end
    if planned[driver] then
        return nil, ('the driver "%s" is not built yet'):format(driver), "unsupported"
    end
    if not built[driver] then
        error('a driver is "block", "ngx", "cqueues", "luv", "copas" or a table with `wait`', 2)
    end
    local ok, found = pcall(require, built[driver])
    if not ok then
        return nil, ('the driver "%s" needs a library that cannot be loaded: %s'):format(
            driver, found), "unsupported"
    end
    chosen = found
    return true
end


-- The driver of the event loop that this runs in, if it does. A library that was never loaded
-- has no loop.
local function of_loop(in_run)
    for i = 1, #loops do
        local name = loops[i]
        local found = loaded[name] and require(built[name])
        if found and found.here(in_run) then return found end
    end
end


-- The driver for the running coroutine. To block an nginx worker is worse than
-- to refuse.
local function driver()
    if chosen then return chosen end
    local in_run = tasks.active()
    local found = of_loop(in_run) or in_run and tasks
    if found then return found end
    if ngx then return nil end
    return require(built.block)
end


local function attend(session, request, deadline, take, ...)
    local handle = request.handle
    if not handle:done() then
        driver().wait(session, request, deadline)
        if not handle:done() then
            local late = deadline and now() >= deadline
            handle:cancel(late and "timeout" or "interrupted")
        end
    end
    return take(request, ...)
end


--- Waits for a request, then gives what take(request, ...) gives. The request
-- is closed after, so take() has to take all that it needs.
function _M.wait(session, request, timeout, take, ...)
    local deadline = timeout and now() + timeout
    return scope(request, attend, session, request, deadline, take, ...)
end


--- For an answer that says no more than "ok".
function _M.take_code(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    return failure(code, path, detail)
end


--- nil, or why the running host cannot wait in the session (nil: in a new one): message, code.
function _M.refusal(session)
    local host = driver()
    if not host then
        return "waiting inside nginx is not built yet: use zklock.driver{ wait = ... }",
               "unsupported"
    end
    if host.refusal then return host.refusal(session) end
end


return _M
