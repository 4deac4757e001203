--- Words for the result of a search.

local faults_of_worlds = require "zklock.world.faults"

local ipairs = ipairs
local concat, remove = table.concat, table.remove

local PLURALS = { expire = "expiries" }
local SINGULARS = { expire = "expiry" }

local _M = {}


-- A bound in words, as "2 stops".
local function bound_text(count, what)
    if count == 1 then return "1 " .. (SINGULARS[what] or what) end
    return ("%d %s"):format(count, PLURALS[what] or what .. "s")
end


--- The number of schedules, with the bounds that left schedules out.
---@param found zklock.Found
---@return string
function _M.schedules_text(found)
    if not found.bounds then return found.schedules .. " schedules" end
    local bounds, list = found.bounds, {}
    if bounds.preemptions then
        list[1] = bound_text(bounds.preemptions, "preemption")
    end
    for _, kind in ipairs(faults_of_worlds.kinds) do
        if bounds[kind] then list[#list + 1] = bound_text(bounds[kind], kind) end
    end
    local last = remove(list)
    local within = last and " with at most " ..
        (list[1] and concat(list, ", ") .. " and " or "") .. last or ""
    if found.complete then return ("all %d schedules%s"):format(found.schedules, within) end
    return ("%d schedules%s (not all: there were as many runs as all.runs allows)"):format(
        found.schedules, within)
end


--- The name by which the first wrong schedule is run again.
---@param first zklock.WrongSchedule
---@return string
function _M.name_of(first)
    if first.schedule then return ("schedule %q"):format(first.schedule) end
    local name = "seed " .. first.seed
    return first.depth and name .. ", depth " .. first.depth or name
end


return _M
