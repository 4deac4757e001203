--- join.lua - joins a folder under a name. A process that was killed keeps the name for up to a
-- session timeout and a tick, and its successor waits so long.

local zklock = require "zklock"

--- The member. Or nil, message, code.
return function(session, folder, name)
    while true do
        local member, message, code = session:join(folder, { name = name })
        if code ~= "conflict" then return member, message, code end
        local slept, why, interrupted = zklock.sleep(1)
        if not slept then return nil, why, interrupted end
    end
end
