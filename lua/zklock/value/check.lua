--- Checks of user input. A wrong value raises, and says what is allowed.

local misuse = require "zklock.value.misuse"
local path_rules = require "zklock.value.path"
local sorted_names = require "zklock.value.sorted_names"
local utf8 = require "zklock.value.utf8"

local huge = math.huge
local ipairs, pairs, type = ipairs, pairs, type
local concat = table.concat
local flaw = path_rules.flaw
local refuse, show = misuse.refuse, misuse.show

local TEXT_SIZE = 4096 -- bytes of identity and data; a request above 1 MB ends the connection
local PATH_SIZE = 256 * 1024 -- bytes
local NAME_SIZE = 100

local check = { PATH_SIZE = PATH_SIZE }


-- --- values -----------------------------------------------------------------------------

function check.type(value, expected, what)
    if type(value) ~= expected then
        refuse("%s must be a %s, not %s", what, expected, show(value))
    end
end


function check.size(value, name, limit)
    if #value > limit then
        refuse("%s must be at most %d bytes long, not %d", name, limit, #value)
    end
end

function check.text(value, name)
    check.type(value, "string", name)
    if value:find("%c") then refuse("%s must not contain control characters", name) end
    check.size(value, name, TEXT_SIZE)
end

function check.utf8_text(value, name)
    check.text(value, name)
    if not utf8.is_valid(value) then refuse("%s must be UTF-8, not %s", name, show(value)) end
end

function check.data(value, name)
    check.type(value, "string", name)
    if value:find("\0", 1, true) then refuse("%s must not contain NUL", name) end
    check.size(value, name, TEXT_SIZE)
end

function check.flag(value, name)
    check.type(value, "boolean", name)
end

function check.callback(value, name)
    check.type(value, "function", name)
end

function check.anything()
end

function check.duration(value, name)
    check.type(value, "number", name)
    if not (value >= 0) then
        refuse("%s must be seconds, 0 or more, not %s", name, show(value))
    end
end

function check.positive(value, name)
    check.type(value, "number", name)
    if not (value > 0 and value < huge) then
        refuse("%s must be seconds, more than 0, not %s", name, show(value))
    end
end

function check.whole(value, name, limit)
    check.type(value, "number", name)
    if not (value >= 1 and value <= limit and value % 1 == 0) then
        refuse("%s must be a whole number, 1 to %d, not %s", name, limit, show(value))
    end
end

function check.count(value, name)
    check.whole(value, name, 2147483647)
end

function check.pause(value, name, most)
    check.type(value, "number", name)
    if not (value >= 0 and value < huge) then
        refuse("%s must be seconds, 0 or more, and finite, not %s", name, show(value))
    elseif most and value > most then
        refuse("%s must be at most %d seconds, not %s", name, most, show(value))
    end
end

function check.one_of(...)
    local allowed = { ... }
    return function(value, name)
        for _, each in ipairs(allowed) do
            if value == each then return end
        end
        refuse('%s must be "%s", not %s', name, concat(allowed, '" or "'), show(value))
    end
end

function check.name(value, name)
    check.text(value, name)
    if value == "" then refuse("%s must not be empty", name) end
    check.size(value, name, NAME_SIZE)
end

function check.label(value, name)
    check.name(value, name)
    check.utf8_text(value, name)
end


function check.node(path, name)
    check.type(path, "string", name)
    check.size(path, name, PATH_SIZE)
    local why = path ~= "/" and flaw(path)
    if why then refuse("%s %s %s", name, show(path), why) end
end


-- --- tables -----------------------------------------------------------------------------

function check.is_index(key, length)
    return type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
end


local function refuse_unknown(name, names, what)
    if names[name] then return end
    refuse("unknown option %s in %s; known: %s", show(name), what,
           concat(sorted_names(names), ", "))
end


---@param given table
---@param names table<string, any>
---@param what string  for messages
function check.known(given, names, what)
    check.type(given, "table", what)
    for name in pairs(given) do refuse_unknown(name, names, what) end
end


---@param given table?
---@param checks table<string, fun(value: any, name: string)> by option
---@param defaults table
---@param what string  for messages
---@return table
function check.complete(given, checks, defaults, what)
    local result = {}
    for name, default in pairs(defaults) do result[name] = default end
    if given == nil then return result end
    check.type(given, "table", what)
    for name, value in pairs(given) do
        refuse_unknown(name, checks, what)
        checks[name](value, name)
        result[name] = value
    end
    return result
end


return check
