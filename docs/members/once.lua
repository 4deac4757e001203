--- once.lua - a timer of the cluster, which the member runs whose name sorts first.

local join = require "join"
local zklock = require "zklock"

--- Joins, and calls fn() every `seconds` while this member is the first, until the session is
-- closed, in nginx until the worker is told to exit. Or nil, message, code. An error of fn makes
-- the next member the first, and is raised.
return function(session, folder, name, seconds, fn)
    local member, message, code = join(session, folder, name)
    if not member then return nil, message, code end
    local first
    local stop = assert(session:members(folder, function(list)
        first = list and list[1] and list[1].name
    end))
    while zklock.sleep(seconds) and session:state() ~= "closed" do
        local joined = member:state() == "joined" and session:state() == "connected"
        if joined and first == name then
            local ok, why = pcall(fn)
            if not ok then
                stop()
                member:leave()
                error(why, 0)
            end
        end
    end
    return true
end
