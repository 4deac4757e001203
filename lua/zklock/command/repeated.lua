--- Shows output once, or each second with --watch.

local is_interrupt = require "zklock.value.is_interrupt"
local refusal = require "zklock.command.refusal"
local shell = require "zklock.system.shell"
local status = require "zklock.command.status"
local zklock = require "zklock"

local pcall = pcall

local PERIOD = 1 -- seconds
local CLEAR = "\27[H\27[2J"

local _M = {}


function _M.describe(parser)
    parser:flag("--watch", "Show it again each second, until Ctrl-C.")
end


local function watch(out, show)
    local separator = shell.succeeds "test -t 1" and CLEAR or "\n"
    local text, complaint = show()
    while true do
        out:write(separator, text, complaint and complaint .. "\n" or "")
        out:flush()
        zklock.sleep(PERIOD)
        text, complaint = show()
    end
end


function _M.run(given, session, out, show)
    local ok, problem = pcall(function()
        if given.watch then watch(out, show) end
        local text, complaint = show()
        out:write(text)
        if complaint then
            out:flush()
            refusal.raise(status.NO_PERMISSION, "%s", complaint)
        end
    end)
    session:close()
    if not ok and not (given.watch and is_interrupt(problem)) then error(problem, 0) end
    return 0
end


return _M
