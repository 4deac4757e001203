--- Reads, runs and prints Lua. The interpreter's own prompt is not used, because it compiles an
-- input as a tail call, whose errors name neither the line nor a missing name.

local completions = require "zklock.command.completions"
local core = require "zklock.core"
local display = require "zklock.command.display"
local is_interrupt = require "zklock.value.is_interrupt"
local nearest = require "zklock.command.nearest"
local variable = require "zklock.system.variable"

local getmetatable, io = getmetatable, io
local load = loadstring or load -- Lua 5.1's load takes no text
local pairs, pcall, print, require = pairs, pcall, print, require
local select, tostring, type, xpcall = select, tostring, type, xpcall
local concat = table.concat
local unpack = table.unpack or unpack

local NAME = "=stdin"
local INTERRUPTED = 4 -- EINTR, on every Unix
local FIRST, NEXT = "> ", ">> " -- of an input, and of its further lines
local KEPT = 1000 -- lines of the history, from one prompt to the next

local _M = {}


-- --- reading ------------------------------------------------------------------------

-- Reads a line. Returns nil at the end of input; nil, true after Ctrl-C.
local function read_plain(prompt)
    io.write(prompt)
    io.flush()
    local line, _, number = io.read("*l")
    return line, number == INTERRUPTED
end


-- Returns a function that appends a line to the history, if it can. readline's save_history would
-- append all earlier lines again.
local function open_history(readline, path)
    local lines, file = {}, io.open(path)
    if file then
        for line in file:lines() do lines[#lines + 1] = line end
        file:close()
    end
    file = #lines > KEPT and io.open(path, "w")
    if file then
        file:write(concat(lines, "\n", #lines - KEPT + 1), "\n")
        file:close()
    end
    readline.set_options{ histfile = path }
    return function(line)
        file = io.open(path, "a")
        if file then
            file:write(line, "\n")
            file:close()
        end
    end
end


-- Reads key by key, because the loop of readline (the Lua module) keeps the line at Ctrl-C.
local function reader_by(readline, save)
    return function(prompt)
        local line, over
        readline.handler_install(prompt, function(text)
            line, over = text, true
            readline.handler_remove()
        end)
        while not over do
            if not core.await_input() then
                readline.handler_remove()
                return nil, true
            end
            readline.read_char()
        end
        line = line and line:gsub(" $", "") -- a space that completion may have added
        if line and line ~= "" then
            readline.add_history(line)
            save(line)
        end
        return line
    end
end


-- Returns a reader, with history and completion if it can.
local function reader(is_terminal)
    local ok, readline = pcall(require, "readline")
    if not (ok and is_terminal) then return read_plain end
    completions.install(readline)
    local home = variable "HOME"
    if not home then return reader_by(readline, function() end) end
    return reader_by(readline, open_history(readline, home .. "/.zklock_history"))
end


-- --- running ------------------------------------------------------------------------

-- Compiles an expression as arguments of show(), so its calls are no tail calls. Else compiles the
-- text as it is.
local function compile(text)
    local chunk = load("return (...)(" .. text:gsub("^%s*=", "") .. "\n)", NAME)
    if chunk then return chunk end
    return load(text, NAME)
end


local function is_unfinished(message)
    return message:find "<eof>'?$" ~= nil
end


local function show(...)
    local count, values = select("#", ...), { ... }
    for i = 1, count do values[i] = display(values[i]) end
    if count > 0 then print(unpack(values, 1, count)) end
end


local function every_method()
    local names = {}
    for _, value in pairs(_G) do
        if type(value) ~= "string" and getmetatable(value) then
            for name in pairs(completions.fields(value)) do names[name] = true end
        end
    end
    return names
end


-- A table whose keys are the names that may be meant by `name`.
local function candidates(text, kind, name)
    if kind == "global" then return _G end
    local path = text:match("([%a_][%w_.]*)%s*[.:]%s*" .. name .. "%f[^%w_]")
    local value = path and completions.value_of(path)
    return value ~= nil and completions.fields(value) or every_method()
end


local function explain(text, message)
    if is_interrupt(message) then return "interrupted!" end
    if type(message) ~= "string" then return tostring(message) end
    local kind, name = message:match "attempt to .-(%a+) '([%a_][%w_]*)'"
    local meant = name and message:find("a nil value", 1, true)
        and nearest(name, candidates(text, kind, name))
    return meant and ("%s: did you mean %s?"):format(message, meant) or message
end


local function run(text, chunk)
    core.interruptible(true)
    local function call() chunk(show) end -- Lua 5.1's xpcall passes no arguments
    local ok, message = xpcall(call, function(message) return explain(text, message) end)
    core.interruptible(false)
    if not ok then io.stderr:write(message, "\n") end
end


-- Reads until the text compiles or fails for good. Ctrl-C drops the text. Nil at the end of input.
local function read_input(read)
    local text = ""
    while true do
        local line, interrupted = read(text == "" and FIRST or NEXT)
        if not line and not interrupted then return nil end
        if interrupted then
            print()
            text = ""
        else
            text = text == "" and line or text .. "\n" .. line
            local chunk, message = compile(text)
            if chunk or not is_unfinished(message) then return text, chunk, message end
        end
    end
end


local function typed_word(text, words)
    local name = text:match "^%s*(%a+)%s*$"
    local fn = words[name]
    return fn and rawget(_G, name) == fn and fn
end


---@param is_terminal boolean  the input is a terminal
---@param words table<string, function>  globals that are called when typed alone
---@param notice fun()  called before each input
function _M.run(is_terminal, words, notice)
    local read = reader(is_terminal)
    core.interruptible(false)
    notice()
    for text, chunk, message in read_input, read do
        local word = typed_word(text, words)
        if word then word()
        elseif chunk then run(text, chunk)
        else io.stderr:write(message, "\n") end
        notice()
    end
    print()
end


return _M
