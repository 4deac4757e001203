--- A batch is one call of the user's function with a lease and some items.

local entries = require "zklock.object.combine.entry"
local misuse = require "zklock.value.misuse"

local pcall, type = pcall, type
local running = coroutine.running


-- Returns a plain list of the results, or nil and their flaw. A metatable may raise at any read.
local function copy(results, count)
    if type(results) ~= "table" then return nil, "not " .. misuse.show(results) end
    local list = {}
    for i = 1, count do
        list[i] = results[i]
        if list[i] == nil then return nil, ("and result %d is nil"):format(i) end
    end
    if results[count + 1] ~= nil then return nil, "and there are more" end
    return list
end


-- Asks the server if the lease clock is not sure.
local function is_held(lease)
    local state = lease:state()
    return state == "held" or state == "suspect" and lease:check() == true
end


---@param fn function
---@param inside table<thread, zklock.Lease> coroutines that run fn
---@return table? results as many as there are items
---@return zklock.Answer? answer to all items, if there are no results
return function(fn, inside, lease, items)
    local count, thread = #items, running() or "main" -- Lua 5.1 has no thread for main
    inside[thread] = lease
    local ok, results = pcall(fn, lease, items)
    inside[thread] = nil
    if not ok then return nil, { value = results, raised = true } end
    local readable, list, why = pcall(copy, results, count)
    if not readable then return nil, { value = list, raised = true } end
    if not list then
        local text = "%scombine's function must return a list of %d results, %s"
        return nil, { value = text:format(misuse.defined_at(fn), count, why), raised = true }
    end
    if is_held(lease) then return list end
    return nil, entries.failed("lost", lease.path, "it may have been carried out")
end
