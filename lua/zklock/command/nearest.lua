--- At the prompt a call of what is not there names what is, and is spelled like it.

local completions = require "zklock.command.completions"
local sorted_names = require "zklock.sorted_names"
local zklock = require "zklock"

local getinfo, setmetatable = debug.getinfo, debug.setmetatable
local error, min, pairs, tostring, type = error, math.min, pairs, tostring, type

local FAR = 3 -- edits: no misspelling

local _M = {}


-- How many letters are to be put in, taken out, replaced, or exchanged with the next one: the
-- "optimal string alignment" distance of Damerau and Levenshtein.
local function edits(a, b)
    local rows = { [0] = {} }
    for j = 0, #b do rows[0][j] = j end
    for i = 1, #a do
        local row, above, before = { [0] = i }, rows[i - 1], rows[i - 2]
        for j = 1, #b do
            local same = a:byte(i) == b:byte(j)
            row[j] = min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (same and 0 or 1))
            if before and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
                row[j] = min(row[j], before[j - 2] + 1)
            end
        end
        rows[i] = row
    end
    return rows[#a][#b]
end


--- The name that is most like a misspelled one, of those that are like it.
---@param word string
---@param names table<string, any>
---@return string?
function _M.name(word, names)
    local nearest, least = nil, FAR
    for _, name in pairs(sorted_names(names)) do
        local count = edits(word:lower(), name:lower())
        if count < least then nearest, least = name, count end
    end
    return nearest
end


-- Functions of a value, and what is global.
local function callable(value)
    local names = {}
    for name, field in pairs(value) do
        if type(name) == "string" and type(field) == "function" then names[name] = field end
    end
    return names
end


-- nil was called: as a method, then with its object, or by a name.
local function call(_, object)
    local info = getinfo(1, "n")
    local name, near = info.name, nil
    if name then
        if type(object) == "table" or type(object) == "userdata" then
            near = _M.name(name, callable(completions.fields(object)))
        end
        near = near or _M.name(name, callable(zklock)) or _M.name(name, callable(_G))
    end
    error(("%s is not there to be called%s"):format(name or "a nil value",
          near and (": did you mean %s?"):format(near) or ""), 2)
end


--- Has a call of nil say so.
function _M.install()
    setmetatable(nil, { __call = call })
end


return _M
