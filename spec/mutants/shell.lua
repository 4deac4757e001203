--- shell.lua - the shell, for the runners of mutants.

local shell = {}


function shell.quote(text)
    return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end


--- Runs a command; returns its output and errors, and its exit status.
function shell.run(command, ...)
    local pipe = assert(io.popen(("{ %s\n} 2>&1; echo \"\n$?\""):format(command:format(...))))
    local output, status = pipe:read("*a"):match("^(.*)\n(%d+)\n$")
    pipe:close()
    return output, tonumber(status)
end


function shell.must(command, ...)
    local output, status = shell.run(command, ...)
    if status ~= 0 then error(command:format(...) .. ": " .. output, 0) end
    return output
end


function shell.words(text)
    local words = {}
    for word in text:gmatch("%S+") do words[#words + 1] = word end
    return words
end


--- Returns the seconds since a fixed point.
function shell.now()
    return tonumber((shell.run("date +%%s.%%N")))
end


return shell
