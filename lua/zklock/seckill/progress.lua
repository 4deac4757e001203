--- A live line of progress on the terminal, if there is one.

local core = require "zklock.core"
local record = require "zklock.seckill.record"
local shell = require "zklock.system.shell"


local CLEAR = "\r\27[K"
local UPDATE = 0.1 -- seconds between updates of the line for schedules


local progress = {}


local function do_nothing() end


local function is_shown(plan) return not plan.quiet and shell.succeeds "test -t 2" end

local function clear() io.stderr:write(CLEAR) end


--- Returns a function to call regularly during a sale, and a function to call at the end.
---@param plan zklock.seckill.Plan
---@return fun(play: zklock.seckill.Play) show
---@return fun() clear
function progress.of(plan)
    if not is_shown(plan) then return do_nothing, do_nothing end
    local counters, answered = {}, 0
    local function show(play)
        for number in ipairs(play.servers) do
            counters[number] = counters[number] or record.counter(play.folder, number, "told")
            answered = answered + counters[number]()
        end
        io.stderr:write(CLEAR, ("%s: %d of %d buyers, %.1f s"):format(plan.name, answered,
            plan.buyers, play:now()))
    end
    return show, clear
end


--- Returns a function to call after each schedule of a simulated sale, and a function to call at
--- the end.
---@param plan zklock.seckill.Plan
---@return fun(found: zklock.Found) show
---@return fun() clear
function progress.of_schedules(plan)
    if not is_shown(plan) then return do_nothing, do_nothing end
    local due = 0
    local function show(found)
        if core.now() < due then return end
        due = core.now() + UPDATE
        io.stderr:write(CLEAR, ("%s: %d schedules, %d wrong"):format(plan.name,
            found.schedules, found.wrong))
    end
    return show, clear
end


return progress
