--- What a word at the prompt may go on with: a global, or what an object or a table has.

local sorted_names = require "zklock.value.sorted_names"

local getmetatable, pairs, pcall, type = getmetatable, pairs, pcall, type

local _M = {}


--- The table that has an object's methods, or a table's own fields.
---@return table<string, any>
function _M.fields(value)
    local class = getmetatable(value)
    local methods = type(class) == "table" and (class.methods or class.__index)
    if type(methods) == "table" then return methods end
    return type(value) == "table" and value or {}
end


--- What "a.b" is, of names alone: nothing is called but __index.
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


--- All that a word may become: "session:mu" -> { "session:mutex", "session:multi" }, sorted.
---@param word string
---@return string[]
function _M.of(word)
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


--- Has a readline, the Lua module, complete by it.
function _M.install(readline)
    readline.set_complete_function(function(line, from, to)
        readline.set_completion_append_character "" -- readline forgets it each time
        return _M.of(line:sub(from, to))
    end)
end


return _M
