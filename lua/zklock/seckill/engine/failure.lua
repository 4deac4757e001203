--- What a failure of an engine says: nil, message, code; as zklock's own do.

local brief = require("zklock.value.misuse").brief


local texts = {
    timeout = "not had in time",
    busy = "it is taken",
    lost = "the lock was lost",
    released = "this lease was released before",
    interrupted = "the wait was ended",
    connection = "the server did not answer as it should",
    unsupported = "not supported",
}


local failure = {}


--- What a function of the library gives to its caller.
---@param code string
---@param subject string   what it is about
---@param detail string?   the server's reason, or ours
---@return nil, string message, string code
function failure.of(code, subject, detail)
    local text = ("%s: %s: %s"):format(code, brief(subject), texts[code])
    if detail then text = ("%s (%s)"):format(text, detail) end
    return nil, text, code
end


local Problem = { __name = "zklock.engine.problem" }
Problem.__index = Problem


--- Inside an engine a failure is raised; `failure.catch` makes it what a caller gets.
---@param code string
---@param detail string
function failure.raise(code, detail)
    error(setmetatable({ code = code, detail = detail }, Problem), 0)
end


local function results(subject, ok, first, ...)
    if ok then return first, ... end
    if getmetatable(first) == Problem then
        return failure.of(first.code, subject, first.detail)
    end
    error(first, 0)
end


--- Calls fn(...), which does not wait; gives what it gives, or its failure.
---@param subject string
---@param fn function
function failure.catch(subject, fn, ...)
    return results(subject, pcall(fn, ...))
end


return failure
