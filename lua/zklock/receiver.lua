--- Makes methods say so when they are called with . instead of : or on another object.

local misuse = require "zklock.misuse"

local getmetatable, pairs = getmetatable, pairs


local function checked(fn, class, call)
    return function(self, ...)
        if getmetatable(self) ~= class then
            misuse.refuse("call it with a colon: %s(...) of a %s, not of %s", call, class.__name,
                          misuse.kind_of(self))
        end
        return fn(self, ...)
    end
end


--- Replaces every method in the table `methods` of objects of `class`; `name`
-- is what such an object is called in messages.
return function(methods, class, name)
    for method, fn in pairs(methods) do
        if method:sub(1, 2) ~= "__" then
            methods[method] = checked(fn, class, name .. ":" .. method)
        end
    end
end
