--- Times as pages say them.

local times = {}

local SPACE = "\194\160" -- between a number and its unit: no line ends there


--- Seconds, with as many figures as tell something.
function times.duration(seconds)
    if seconds == 0 then return "0" .. SPACE .. "s" end
    if seconds < 0.1 then return ("%.1f%sms"):format(seconds * 1000, SPACE) end
    return ("%.2f%ss"):format(seconds, SPACE)
end


--- Whole milliseconds.
function times.milliseconds(seconds) return ("%.0f%sms"):format(1000 * seconds, SPACE) end


--- A moment of a run; "–": it did not come.
function times.moment(seconds) return seconds and ("%.3f%ss"):format(seconds, SPACE) or "–" end


return times
