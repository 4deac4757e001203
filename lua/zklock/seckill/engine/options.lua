--- Checks options of engines and of their locks; raises an error that names the allowed values.

local check = require "zklock.value.check"
local misuse = require "zklock.value.misuse"

local refuse, show = misuse.refuse, misuse.show


local LONGEST = 1000000 -- seconds

local options = {}


function options.seconds(least)
    return function(value, name)
        if type(value) ~= "number" or not (value >= least and value <= LONGEST) then
            refuse("%s must be a number of seconds from %g to %d, not %s", name, least, LONGEST,
                show(value))
        end
    end
end


function options.whole_seconds(value, name)
    if type(value) ~= "number" or value % 1 ~= 0 or not (value >= 1 and value <= LONGEST) then
        refuse("%s must be a whole number of seconds from 1 to %d, not %s", name, LONGEST,
            show(value))
    end
end


function options.count(value, name)
    if type(value) ~= "number" or value % 1 ~= 0 or not (value >= 0 and value <= 1000) then
        refuse("%s must be a whole number from 0 to 1000, not %s", name, show(value))
    end
end


--- Any number of seconds, even negative.
function options.difference(value, name)
    if type(value) ~= "number" or not (value >= -LONGEST and value <= LONGEST) then
        refuse("%s must be a number of seconds, not %s", name, show(value))
    end
end


function options.text(value, name)
    if type(value) ~= "string" or value == "" or value:find "%c" then
        refuse("%s must be a string without control characters, not %s", name, show(value))
    end
end


options.anything, options.flag = check.anything, check.flag


local function is_address(value)
    local port = type(value) == "string" and tonumber(value:match "^[^:,%s]+:(%d+)$")
    return port and port >= 1 and port <= 65535
end


function options.address(value, name)
    if not is_address(value) then
        refuse("%s must be \"HOST:PORT\" of one server, not %s", name, show(value))
    end
end


--- The addresses in a list, or in "HOST:PORT,HOST:PORT".
function options.addresses_of(value)
    if type(value) ~= "string" then return value end
    local list = {}
    for address in (value .. ","):gmatch "([^,]*)," do list[#list + 1] = address end
    return list
end


function options.addresses(value, name)
    local wrong = "%s must be \"HOST:PORT,HOST:PORT\" or a list of \"HOST:PORT\", not %s"
    local list = options.addresses_of(value)
    if type(list) ~= "table" or not list[1] then refuse(wrong, name, show(value)) end
    for _, address in ipairs(list) do
        if not is_address(address) then refuse(wrong, name, show(address)) end
    end
end


options.complete = check.complete


local ACQUIRE = { timeout = options.seconds(0), owner = options.anything }

--- The options of acquire(), given as nothing, seconds or a table.
---@param given number|table|nil
---@return { timeout: number?, owner: any }
function options.of_acquire(given)
    if type(given) == "number" then given = { timeout = given } end
    return options.complete(given, ACQUIRE, {}, "the options of acquire")
end


local SWITCH = { timeout = options.seconds(0) }

--- The timeout of switch(), given as nothing, seconds or a table.
function options.of_switch(given)
    if type(given) == "number" then given = { timeout = given } end
    return options.complete(given, SWITCH, {}, "the options of switch").timeout
end


return options
