--- Lines of a table.

local say = {}


--- Prints a line, at once, without blanks at its end.
function say.line(format, ...)
    print((format:format(...):gsub("%s+$", "")))
    io.stdout:flush()
end


--- A value and its range as text; `format` is of one number.
function say.range(format, value, least, most)
    return (format .. " (" .. format .. " to " .. format .. ")"):format(value, least, most)
end


function say.network(delay)
    return delay == 0 and "loopback" or ("%g ms round trip"):format(delay)
end


return say
