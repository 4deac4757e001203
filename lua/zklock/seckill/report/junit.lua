--- JUnit's XML for continuous integration, with a case for each result.

local utf8 = require "zklock.value.utf8"


local junit = {}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local CASE = '  <testcase classname="zklock.seckill" name="%s" time="%.3f">%s</testcase>'
local SUITE = '<?xml version="1.0" encoding="UTF-8"?>\n'
    .. '<testsuite name="zklock seckill" tests="%d" failures="%d" time="%.3f">\n%s\n</testsuite>\n'


local function escape(text) return (utf8.plain(text):gsub('[&<>"]', ENTITIES)) end


---@class zklock.seckill.Case
---@field name string
---@field seconds number
---@field problem string?  nil if the case passed

function junit.of(cases)
    local lines, failures, seconds = {}, 0, 0
    for i, case in ipairs(cases) do
        local failure = ""
        if case.problem then
            failures = failures + 1
            failure = ('<failure message="%s"/>'):format(escape(case.problem))
        end
        seconds = seconds + case.seconds
        lines[i] = CASE:format(escape(case.name), case.seconds, failure)
    end
    return SUITE:format(#cases, failures, seconds, table.concat(lines, "\n"))
end


return junit
