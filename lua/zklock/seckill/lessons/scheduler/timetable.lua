--- The times of the choices in a list. All are known before the world begins, so a server can sleep
--- until its next step, and a stop has a known end.
---
--- A choice is a text, such as "ask 1" (a step of server 1), "stop 1" and "wake 1". With "expire"
--- time passes until the sessions of the stopped servers have expired, and with "lapse 1" until the
--- lock of server 1 has ended by itself.

local timetable = { session = 600 } -- timeout of a session in seconds

local BEGIN, SLOT = 1, 0.5 -- seconds, longer than a choice and its effects take


---@class zklock.scheduler.Timetable
---@field moments number[]  of the choices, and of the end
---@field steps number[][]  times of each server's steps
---@field stops table[]     { server =, from =, till = }

---@param path string[]  choices
---@return zklock.scheduler.Timetable
function timetable.of(path)
    local made = { moments = {}, steps = { {}, {} }, stops = {} }
    local at, stopped = BEGIN, {}
    for i, choice in ipairs(path) do
        made.moments[i] = at
        local name, server = choice:match "^(%l+) ?(%d?)$"
        server = tonumber(server)
        if name == "stop" then
            stopped[server] = { server = server, from = at }
            table.insert(made.stops, stopped[server])
        elseif name == "wake" then stopped[server].till = at
        elseif name ~= "expire" and name ~= "lapse" then table.insert(made.steps[server], at)
        end
        local time_passes = name == "expire" or name == "lapse"
        at = at + (time_passes and 2 * timetable.session or SLOT)
    end
    made.moments[#path + 1] = at
    return made
end


return timetable
