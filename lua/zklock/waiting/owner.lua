--- The owner of a lease or of a wait is the running coroutine within its task, or any value of the
-- user's. C gets it as a text; equal texts are one owner.

local current_task = require "zklock.waiting.nginx_task"
local runtime = require "zklock.waiting.runtime"

local running = coroutine.running
local format = string.format
local math_type = math.type or function() end -- Lua 5.3
local tostring, type = tostring, type

local _M = {}


local function name_of(object)
    local owners = runtime.current().owners
    local names, objects = owners.names, owners.objects
    if not names[object] then
        owners.last = owners.last + 1
        local name = "object " .. owners.last
        names[object] = names[object] or name -- a finalizer may have named it
        if objects then objects[names[object]] = object end
    end
    return names[object]
end


--- The prefix of keys of the running task's coroutines; "" without a task.
---@return string
function _M.prefix()
    local task = current_task()
    return task and task.name .. " " or ""
end


local function within_task(key)
    return _M.prefix() .. key
end


local function running_owner()
    local thread = running()
    return within_task(thread and name_of(thread) or "main") -- Lua 5.1 has no thread for main
end


---@param owner any nil: the running coroutine
---@return string
function _M.key(owner)
    if owner == nil then return running_owner() end
    local kind = type(owner)
    if kind == "string" then return format("string %q", owner) end -- without NUL
    if kind == "number" then
        return format(math_type(owner) == "integer" and "number %d" or "number %.17g", owner + 0)
    end
    if kind == "boolean" then return "boolean " .. tostring(owner) end
    if kind == "thread" then return within_task(name_of(owner)) end
    return name_of(owner)
end


--- The coroutine of a key that begins with prefix(); nil for other owners.
---@param key string
---@return thread|"main"|nil
function _M.thread_of(key)
    if key == "main" then return key end
    local object = runtime.real.owners.objects[key:sub(#_M.prefix() + 1)]
    return type(object) == "thread" and object or nil
end


return _M
