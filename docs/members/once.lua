--- once.lua - a timer of the cluster, which the member runs whose name sorts first.

local join = require "join"
local zklock = require "zklock"

--- Joins, and calls fn() every `seconds` while this member is the first, until the session is
-- closed, in nginx until the worker is told to exit. Or nil, message, code.
return function(session, folder, name, seconds, fn)
    local member, message, code = join(session, folder, name)
    if not member then return nil, message, code end
    local first
    assert(session:members(folder, function(list) first = list and list[1] and list[1].name end))
    while zklock.sleep(seconds) and session:state() ~= "closed" do
        local joined = member:state() == "joined" and session:state() == "connected"
        if joined and first == name then fn() end
    end
    return true
end
