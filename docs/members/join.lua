--- join.lua - joins a folder under a name. A process that was killed keeps the name for up to a
-- session timeout and a tick, and its successor waits so long.

local zklock = require "zklock"

--- The member. Or nil, message, code: `conflict` if the name is still taken after two session
-- timeouts, also by an earlier join of this session. `sleep` is zklock.sleep, or in an event loop
-- that loop's sleep, which returns true.
return function(session, folder, name, sleep)
    sleep = sleep or zklock.sleep
    local patience = 2 * session:timeout()
    while true do
        local member, message, code = session:join(folder, { name = name })
        if code ~= "conflict" or patience <= 0 then return member, message, code end
        local slept, why, interrupted = sleep(1)
        if not slept then return nil, why, interrupted end
        patience = patience - 1
    end
end
