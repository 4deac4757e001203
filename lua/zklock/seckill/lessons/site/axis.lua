--- The axis of time of a picture.

local axis = {}


--- The distance between ticks, 1, 2 or 5 times a power of ten, for at least `least` steps.
---@param seconds number  of the whole axis
---@param least integer   3 to 5
---@return number
function axis.step(seconds, least)
    local power = 10 ^ math.floor(math.log(seconds, 10))
    for _, factor in ipairs{ 1, 0.5, 0.2, 0.1 } do
        if seconds / (factor * power) >= least then return factor * power end
    end
end


return axis
