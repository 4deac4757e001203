--- A comparison of sales that differ in their strategy.

local misuse = require "zklock.value.misuse"
local report = require "zklock.seckill.report"


---@class zklock.seckill.Comparison: zklock.seckill.Sale[]
---@field verdict "right" | "wrong" | "stuck"  the first verdict that is not "right"
local Comparison = { __name = "zklock.seckill.comparison" }
Comparison.__index = Comparison


local comparison = {}


---@param sales zklock.seckill.Sale[]
---@return zklock.seckill.Comparison
function comparison.of(sales)
    sales.verdict = "right"
    for _, sale in ipairs(sales) do
        if sales.verdict == "right" then sales.verdict = sale.verdict end
    end
    return setmetatable(sales, Comparison)
end


local HEAD = "%-18s %-7s %6s %8s %7s %9s  %9s  %9s  %10s  %10s"
local ROW = "%-18s %-7s %6d %8d %7d %9.1f  %9s  %9s  %10s  %10s"


local function milliseconds(distribution, fraction)
    local seconds = distribution:quantile(fraction)
    return seconds and ("%.1f"):format(1000 * seconds) or "-"
end


function Comparison:__tostring()
    local lines = { HEAD:format("(times in ms)", "", "sold", "refused", "failed", "grants/s",
        "wait p50", "wait p99", "answer p50", "answer p99") }
    for _, sale in ipairs(self) do
        lines[#lines + 1] = ROW:format(sale.name, sale.verdict, sale.sold, sale.refused,
            sale.failed, sale.wait:count() / math.max(sale.seconds, 0.001),
            milliseconds(sale.wait, 0.5), milliseconds(sale.wait, 0.99),
            milliseconds(sale.answer, 0.5), milliseconds(sale.answer, 0.99))
    end
    return table.concat(lines, "\n")
end


local function report_contents(self, method)
    if getmetatable(self) ~= Comparison then
        misuse.refuse("a report is a comparison's, as in sales:report(file), and not that of %s",
            misuse.show(self))
    end
    local sales, names = {}, {}
    for i, sale in ipairs(self) do
        sales[i], names[i] = sale[method](sale), sale.name
    end
    return { title = table.concat(names, ", "), sales = sales }
end


---@param file string
---@param language "en" | "zh" | nil  of the page; by default that of $ZKLOCK_LANGUAGE
---@return true?
---@return string? message
function Comparison:report(file, language)
    local contents = report_contents(self, "record")
    contents.language = language
    return report.write(file, contents)
end


---@param file string
---@return true?
---@return string? message
function Comparison:json(file) return report.json(file, report_contents(self, "fields")) end


---@param file string
---@return true?
---@return string? message
function Comparison:csv(file) return report.csv(file, report_contents(self, "record")) end


return comparison
