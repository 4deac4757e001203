--- Makes methods refuse a call with "." for ":", or on another object.

local misuse = require "zklock.value.misuse"

local getmetatable, pairs, type = getmetatable, pairs, type


local function refuse(object, class, call)
    local kind = misuse.kind_of(object)
    local kinds = kind ~= type(object) and (" of a %s, not of a %s"):format(class.__name, kind)
    misuse.refuse("call it with a colon: %s(...)%s", call, kinds or "")
end


local function checked(fn, class, call)
    return function(self, ...)
        if getmetatable(self) ~= class then refuse(self, class, call) end
        return fn(self, ...)
    end
end


--- Wraps the `methods` of `class`. Messages call an object `name`.
return function(methods, class, name)
    for method, fn in pairs(methods) do
        if method:sub(1, 2) ~= "__" then
            methods[method] = checked(fn, class, name .. ":" .. method)
        end
    end
end
