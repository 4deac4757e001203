--- A live line of progress on the terminal, if there is one.

local record = require "zklock.seckill.record"
local shell = require "zklock.seckill.shell"


local CLEAR = "\r\27[K"


local progress = {}


local function nothing() end


--- What is to be called now and then during a play, and what at its end.
---@param plan zklock.seckill.Plan
---@return fun(play: zklock.seckill.Play) show
---@return fun() clear
function progress.of(plan)
    if plan.quiet or not shell.succeeds "test -t 2" then return nothing, nothing end
    local counters, told = {}, 0
    local function show(play)
        for number in ipairs(play.servers) do
            counters[number] = counters[number] or record.counter(play.folder, number, "told")
            told = told + counters[number]()
        end
        io.stderr:write(CLEAR, ("%s: %d of %d buyers, %.1f s"):format(plan.name, told,
            plan.buyers, play:now()))
    end
    return show, function() io.stderr:write(CLEAR) end
end


return progress
