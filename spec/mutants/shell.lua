--- shell.lua - what the runner of the mutants asks the shell for.

local shell = {}


--- The text as one word of a command.
function shell.quote(text)
    return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end


--- Output, both kinds, and exit status of a command.
function shell.run(command, ...)
    local pipe = assert(io.popen(("{ %s\n} 2>&1; echo \"\n$?\""):format(command:format(...))))
    local output, status = pipe:read("*a"):match("^(.*)\n(%d+)\n$")
    pipe:close()
    return output, tonumber(status)
end


--- A command that must succeed; gives its output.
function shell.must(command, ...)
    local output, status = shell.run(command, ...)
    if status ~= 0 then error(command:format(...) .. ": " .. output, 0) end
    return output
end


--- The words of a text, in a list.
function shell.words(text)
    local words = {}
    for word in text:gmatch("%S+") do words[#words + 1] = word end
    return words
end


--- Seconds since any fixed point.
function shell.now()
    return tonumber((shell.run("date +%%s.%%N")))
end


return shell
