--- The process of the command: how it begins, and by which signal it dies.

local core = require "zklock.core"

local _M = {}


---@param signal integer? of which the process dies at its end
---@param of_group boolean? the process group gets the signal, too
function _M.finish(status, signal, of_group)
    core.interruptible() -- its handler needs the Lua state, which ends now
    if signal then core.die_at_exit(signal, of_group) end
    os.exit(status, true)
end


--- Loads and runs the command line. See zklock.command for the arguments.
function _M.run(...)
    core.open_standard()
    core.settle_signals()
    return _M.finish(require("zklock.command").main(...))
end


return _M
