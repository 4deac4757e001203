--- Modules of the user, given by name, or as "module:field".

local misuse = require "zklock.value.misuse"


local lua_module = {}


local function is_callable(value)
    local meta = getmetatable(value)
    return type(value) == "function" or meta and meta.__call ~= nil
end


---@param name string
---@param what string         its kind, for messages
---@param functions string[]  required functions; if empty, the module itself must be callable
---@param built_in string     names of modules that are built in, for messages
---@return any? module
---@return string? message
function lua_module.load(name, what, functions, built_in)
    local file, field = name:match "^([^:]*):?(.*)$"
    local found, module = pcall(require, file)
    if not found then
        if tostring(module):find("module '" .. file .. "' not found", 1, true) then
            return nil, ("no %s %s: there are %s, or the name of a module of yours that "
                .. "package.path finds"):format(what, misuse.show(name), built_in)
        end
        return nil, ("the %s %s cannot be loaded: %s"):format(what, name, module)
    end
    if field ~= "" then module = type(module) == "table" and module[field] end
    if not functions[1] and not is_callable(module) then
        return nil, ("the %s %s is not a function: the module must return one"):format(what, name)
    end
    for _, method in ipairs(functions) do
        if type(module) ~= "table" or not is_callable(module[method]) then
            return nil, ("the %s %s has no function %q: its module must return a table with it")
                :format(what, name, method)
        end
    end
    return module
end


return lua_module
