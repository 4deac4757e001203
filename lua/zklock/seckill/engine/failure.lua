--- The failures of engines, as nil, message and code in zklock's words. The code "connection" means
--- that a server of any kind does not answer.

local brief = require("zklock.value.misuse").brief
local is_interrupt = require "zklock.value.is_interrupt"
local zklock_failure = require "zklock.value.failure"


local failure = {}


--- The results of a failed call.
---@param code string
---@param subject string   the lock, engine or server
---@param detail string?   the server's reason, or the engine's
---@return nil, string message, string code
function failure.of(code, subject, detail)
    if code ~= "connection" then return zklock_failure(code, subject, detail) end
    return nil, ("connection: %s: %s"):format(brief(subject), detail or "no answer"), code
end


local Problem = { __name = "zklock.engine.problem" }
Problem.__index = Problem


--- Raises a failure inside an engine, for `failure.catch`.
function failure.raise(code, detail)
    error(setmetatable({ code = code, detail = detail }, Problem), 0)
end


local function results_of_pcall(subject, ok, first, ...)
    if ok then return first, ... end
    if getmetatable(first) == Problem then
        return failure.of(first.code, subject, first.detail)
    end
    error(first, 0)
end


--- Calls fn(...); returns its results or its failure.
function failure.catch(subject, fn, ...)
    return results_of_pcall(subject, pcall(fn, ...))
end


--- Calls fn(...) as pcall does, but raises an interrupt again.
function failure.attempt(fn, ...)
    local ok, result = pcall(fn, ...)
    if not ok and is_interrupt(result) then error(result, 0) end
    return ok, result
end


return failure
