--- Completes a global, or a field of an object or table.

local sorted_names = require "zklock.value.sorted_names"

local getmetatable, pairs, pcall, type = getmetatable, pairs, pcall, type

local _M = {}


---@return table<string, any>
function _M.fields(value)
    local class = getmetatable(value)
    local methods = type(class) == "table" and (class.methods or class.__index)
    if type(methods) == "table" then return methods end
    return type(value) == "table" and value or {}
end


--- The value of names such as "a.b". Nothing is called but __index.
---@param path string
function _M.value_of(path)
    local value = _G
    for name in path:gmatch "[^.]+" do
        local ok, field = pcall(function() return value[name] end)
        if not ok then return end
        value = field
    end
    return value
end


--- Completes a word, sorted. "session:mu" gives { "session:mutex", "session:multi" }.
---@param word string
---@return string[]
function _M.complete(word)
    local path, separator, start = word:match "^([%a_][%w_.]*)([.:])([%w_]*)$"
    if not path then path, separator, start = "", "", word end
    local found = {}
    for name, value in pairs(_M.fields(_M.value_of(path))) do
        local fits = type(name) == "string" and name:find "^%a" and name:sub(1, #start) == start
        if fits and (separator ~= ":" or type(value) == "function") then
            found[path .. separator .. name] = true
        end
    end
    return sorted_names(found)
end


function _M.install(readline)
    readline.set_complete_function(function(line, from, to)
        readline.set_completion_append_character "" -- readline forgets it each time
        return _M.complete(line:sub(from, to))
    end)
end


return _M
