--- Times as shown on pages.

local times = {}

local SPACE = "\194\160" -- no line break between a number and its unit


--- A duration in milliseconds or seconds, rounded for readers.
function times.duration(seconds)
    if seconds == 0 then return "0" .. SPACE .. "s" end
    if seconds < 0.1 then return ("%.1f%sms"):format(seconds * 1000, SPACE) end
    return ("%.2f%ss"):format(seconds, SPACE)
end


function times.milliseconds(seconds) return ("%.0f%sms"):format(1000 * seconds, SPACE) end


--- A time of a run; "–" if there is none.
function times.moment(seconds) return seconds and ("%.3f%ss"):format(seconds, SPACE) or "–" end


return times
