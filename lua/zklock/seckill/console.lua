--- Prints a line for each scenario and a summary on stdout. If stderr is a terminal, it shows the
--- scenario under way.

local core = require "zklock.core"
local shell = require "zklock.system.shell"


local ROW = "%-37s  %-36s  %-18s  %s\n"
local CLEAR = "\r\27[K"


---@class zklock.seckill.Console
local Console = {}
Console.__index = Console


local console = {}


---@param options zklock.seckill.Options
---@param out file*  for the table
---@param err file*  for the progress
function console.new(options, out, err)
    return setmetatable({
        options = options,
        out = out,
        err = shell.succeeds "test -t 2" and err or nil,
        began = core.now(),
    }, Console)
end


function Console:introduce()
    self.out:write(self.options.environment.introduction(self.options))
end


function Console:started(scenario)
    if self.err then self.err:write(CLEAR, scenario.title, " …  ", scenario.id) end
end


local function verdict_text(result)
    local text
    if result.verdict == "failed" then
        text = "FAILED"
    elseif result.as_expected then
        text = result.verdict == "right" and "right" or "wrong, as expected"
    else
        text = result.verdict == "right" and "RIGHT, but it must go wrong" or "WRONG, must be right"
    end
    if result.tries > 1 then text = ("%s (try %d)"):format(text, result.tries) end
    return text
end


local function log_line(entry, since)
    local token = entry.token and ("  [token %s]"):format(entry.token) or ""
    return ("%11.3f s  %-9s  %s%s\n"):format(entry.at - since, entry.who, entry.line, token)
end


function Console:print_log(log, excerpt)
    local shown = self.options.verbose and log or excerpt
    for _, entry in ipairs(shown) do
        self.out:write(log_line(entry, log[1].at))
    end
    if #shown < #log then
        self.out:write(("            … and %d more lines (--verbose)\n"):format(#log - #shown))
    end
end


function Console:finished(result)
    if self.err then self.err:write(CLEAR) end
    self.out:write(ROW:format(result.title, result.finding, verdict_text(result), result.id))
    local excerpt = result.as_expected and result.glimpse or result.log
    if result.log and (self.options.verbose or result.glimpse or not result.as_expected) then
        self:print_log(result.log, excerpt)
    end
    self.out:flush()
end


local function count_verdicts(results, verdict)
    local n = 0
    for _, result in ipairs(results) do
        if result.verdict == verdict then n = n + 1 end
    end
    return n
end


local function expectation_text(results)
    local unexpected = {}
    for _, result in ipairs(results) do
        if not result.as_expected then unexpected[#unexpected + 1] = result.id end
    end
    if not unexpected[1] then return "all as expected" end
    return "NOT as expected: " .. table.concat(unexpected, " ")
end


function Console:sum_up(results)
    local right, wrong = count_verdicts(results, "right"), count_verdicts(results, "wrong")
    local failed = count_verdicts(results, "failed")
    self.out:write(self.options.environment.summary(results))
    self.out:write(("\n%d scenario%s: %d right, %d wrong%s, %s in %.0f s\n"):format(
        #results, #results == 1 and "" or "s", right, wrong,
        failed > 0 and (", %d failed"):format(failed) or "",
        expectation_text(results), core.now() - self.began))
end


function Console:clear_progress()
    if self.err then self.err:write(CLEAR) end
end


return console
