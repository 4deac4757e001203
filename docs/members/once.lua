--- once.lua - a timer of the cluster, which the member runs whose name sorts first.

local join = require "join"
local zklock = require "zklock"

-- Calls fn() if the member is the first. Or false, why: fn failed, or zklock gave the member up.
local function tick(session, member, is_first, fn)
    local state, why = member:state()
    if why then return false, why end
    if state ~= "joined" or session:state() ~= "connected" or not is_first then return true end
    return pcall(fn)
end

--- Joins, and calls fn() every `seconds` while this member is the first, until the session is
-- closed, in nginx until the worker is told to exit. Or nil, message, code, if it cannot join at
-- first. After an error log(error) is called, and the member leaves for `seconds`, so that the next
-- member is the first. `sleep` is as in join.lua.
return function(session, folder, name, seconds, fn, log, sleep)
    sleep = sleep or zklock.sleep
    local member, message, code = join(session, folder, name, sleep)
    if not member then return nil, message, code end
    local first
    assert(session:members(folder, function(list) first = list and list[1] and list[1].name end))
    while sleep(seconds) and session:state() ~= "closed" do
        local ok, why
        if member then
            ok, why = tick(session, member, first == name, fn)
        else
            member, why = join(session, folder, name, sleep)
            ok = member
        end
        if not ok then
            log(why)
            if member then member:leave() end
            member = nil
        end
    end
    return true
end
