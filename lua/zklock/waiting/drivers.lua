--- Chooses the driver of a wait in the real process: the user's choice, else the driver of the
-- event loop or zklock.run around the caller, else the usual driver.

local coroutines = require "zklock.waiting.coroutines"
local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local tasks = require "zklock.waiting.tasks"

local ipairs, pcall = ipairs, pcall
local require, select, type = require, select, type
local loaded = package.loaded

---@class zklock.Driver
---@field wait fun(session: zklock.Session, request: zklock.Request, deadline: number?)
---@field spawn? fun(fn: fun())

local _M = {}

local BUILT_IN = {
    block = "zklock.waiting.driver.block",
    ngx = "zklock.waiting.driver.ngx",
    cqueues = "zklock.waiting.driver.cqueues",
    luv = "zklock.waiting.driver.luv",
    copas = "zklock.waiting.driver.copas",
}
local LOOPS = { "cqueues", "luv", "copas" } -- modules of event loops
local chosen -- by the user; nil lets _M.driver() decide

--- The driver without a loop, loaded now because later no descriptor may be free for its file.
_M.usual = require(ngx and BUILT_IN.ngx or BUILT_IN.block)


local function starter(spawn)
    return function(_, fn)
        spawn(fn)
        return true
    end
end


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
    if not BUILT_IN[driver] then
        misuse.refuse('a driver is "block", "ngx", "cqueues", "luv", "copas" or a table with ' ..
                      "`wait`")
    end
    if driver == "ngx" and not ngx then
        return nil, 'context: the driver "ngx" is for nginx with the Lua module', "context"
    end
    if driver ~= "block" and coroutines.problem then
        return failure("unsupported", "zklock.driver", coroutines.problem)
    end
    local ok, found = pcall(require, BUILT_IN[driver])
    if not ok then
        return nil, ('the driver "%s" needs a library that cannot be loaded: %s'):format(
            driver, found), "unsupported"
    end
    chosen = found
    return true
end


-- Stands for a driver that cannot be loaded. It refuses waits, for a wait that blocks would stop
-- the loop.
local function missing_driver(name, problem)
    return {
        drives = function() return true end,
        refusal = function()
            return ('unsupported: the driver "%s" cannot be loaded: %s'):format(name, problem),
                "unsupported"
        end,
    }
end


local cannot_yield = {
    refusal = function()
        return select(2, failure("unsupported", "a wait in an event loop", coroutines.problem))
    end,
}


local function loop_driver(name)
    local ok, found = pcall(require, BUILT_IN[name])
    return ok and found or missing_driver(name, found)
end

for _, name in ipairs(LOOPS) do
    if loaded[name] then loop_driver(name) end
end


--- The driver of the event loop around the caller, or nil. A library that was never loaded runs no
-- loop.
---@param in_run boolean a zklock.run drives the caller
function _M.of_loop(in_run)
    if not (loaded.cqueues or loaded.luv or loaded.copas) then return end
    for i = 1, #LOOPS do
        local name = LOOPS[i]
        local found = loaded[name] and loop_driver(name)
        if found and found.drives(in_run) then
            return coroutines.problem and cannot_yield or found
        end
    end
end


function _M.driver()
    if chosen then return chosen end
    local of_run = tasks.driver()
    return _M.of_loop(of_run ~= nil) or of_run or _M.usual
end


return _M
