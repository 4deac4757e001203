--- Derives the key of a session:locked() call from its arguments. Equal arguments give equal keys,
-- in all processes.

local escape = require "zklock.value.path".escape
local misuse = require "zklock.value.misuse"

local ipairs, pairs, select, type = ipairs, pairs, select, type
local max = math.max
local concat = table.concat
local refuse, show = misuse.refuse, misuse.show
local type_of_number = math.type -- nil where all numbers are doubles

local LAST_PLACE = 255 -- more arguments than a call may have in LuaJIT
local EXACT = 2 ^ 53 -- a double above it may stand for several integers


local function is_integer(value)
    if type(value) ~= "number" then return false end
    if type_of_number and type_of_number(value) == "integer" then return true end
    return value % 1 == 0 and value >= -EXACT and value <= EXACT
end


local function part_text(value, what)
    if type(value) == "string" and value ~= "" then return escape(value) end
    if is_integer(value) then return ("%d"):format(value) end
    refuse("%s must be text that is not empty, or a whole number (as a float up to 2^53), not %s",
           what, show(value))
end


local function is_place(value, count)
    return is_integer(value) and value >= 1 and value <= count
end


local function check_list(list, what)
    if #list == 0 then refuse("%s must not be an empty list", what) end
    for at in pairs(list) do
        if not is_place(at, #list) then
            refuse("%s must be a list without holes or names, and it has %s", what, show(at))
        end
    end
end


local function reader_by_places(places)
    local names = {}
    for i, place in ipairs(places) do names[i] = ("argument %d, a key,"):format(place) end
    return function(...)
        local parts = {}
        for i, place in ipairs(places) do parts[i] = part_text((select(place, ...)), names[i]) end
        return concat(parts, ":")
    end
end


local function reader_by_function(fn)
    local what = "the result of the key's function"
    return function(...)
        local given = fn(...)
        if type(given) ~= "table" then return part_text(given, what) end
        check_list(given, what)
        local parts = {}
        for i = 1, #given do parts[i] = part_text(given[i], ("part %d of %s"):format(i, what)) end
        return concat(parts, ":")
    end
end


local function check_place(place)
    if not is_place(place, LAST_PLACE) then
        refuse("the key must be an argument's place, 1 to %d, a list of such places, or a " ..
               "function, not %s", LAST_PLACE, show(place))
    end
end


---@param given integer|integer[]|function
---@return fun(...): string
return function(given)
    if type(given) == "function" then return reader_by_function(given) end
    if type(given) == "table" then
        check_list(given, "the key")
    else
        given = { given }
    end
    local places = {}
    for i = 1, max(#given, 1) do
        check_place(given[i])
        places[i] = given[i]
    end
    return reader_by_places(places)
end
