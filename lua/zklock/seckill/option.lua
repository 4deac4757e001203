--- Each function reads an option of a sale or of a fault. A missing option gets its default, and a
--- wrong option raises an error with the allowed values.

local misuse = require "zklock.value.misuse"

local refuse, show = misuse.refuse, misuse.show


local option = { MOST_SECONDS = 3600 }


function option.is_whole(value, least, most)
    return type(value) == "number" and value % 1 == 0 and value >= least and value <= most
end


function option.whole(options, name, least, most, default)
    local value = options[name]
    if value == nil then return default end
    if not option.is_whole(value, least, most) then
        refuse("%s must be a whole number from %d to %d, not %s", name, least, most, show(value))
    end
    return math.floor(value)
end


function option.seconds(options, name, default, least)
    local value, most = options[name], option.MOST_SECONDS
    least = least or 0
    if value == nil then return default end
    if type(value) ~= "number" or not (value >= least and value <= most) then
        refuse("%s must be a number of seconds from %g to %d, not %s", name, least, most,
            show(value))
    end
    return value
end


function option.text(options, name, default)
    local value = options[name]
    if value == nil then return default end
    if type(value) ~= "string" or value == "" then
        refuse("%s must be a string, not %s", name, show(value))
    end
    return value
end


function option.flag(options, name, default)
    local value = options[name]
    if value == nil then return default end
    if type(value) ~= "boolean" then
        refuse("%s must be true or false, not %s", name, show(value))
    end
    return value
end


return option
