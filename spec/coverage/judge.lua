--- judge.lua - compares the conditions that the tests covered with left.lua:
--
--   llvm-cov export ... >FILE; lua spec/coverage/judge.lua FILE
--
-- A condition must be covered, or be in left.lua with its reason. A row of left.lua fails, too, if
-- its condition is covered or gone from the sources. Ends with: N passed, N failed

local export = require "spec.coverage.export"
local left = require "spec.coverage.left"

local path = assert(arg[1], "usage: judge.lua FILE")
local conditions, decisions = export.conditions(path, { core = true, session = true })


-- --- rows of left.lua -----------------------------------------------------------------

local function key_of(file, fn, decision, condition)
    return ("%s: %s: %s: %s"):format(file, fn, decision, condition)
end


local rows = {} -- { [key] = row }

for _, row in ipairs(left) do
    local file, fn, text = row[1], row[2], row[3]
    assert(row[4], text)
    local decision = text:gsub("`", "")
    rows[key_of(file, fn, decision, text:match "`(.*)`" or decision)] = row
end


-- --- the verdict ----------------------------------------------------------------------

local passed, failed, impossible = 0, 0, 0

local function fail(format, ...)
    failed = failed + 1
    print(format:format(...))
end


local function report_uncovered(condition)
    local what = condition.condition
    if condition.decision ~= what then what = ("%s, in: %s,"):format(what, condition.decision) end
    fail("%s:%d: %s: %s %s", condition.path, condition.line, condition.at, what, condition.lacks)
end


for _, each in ipairs(conditions) do
    local row = rows[key_of(each.path, each.at, each.decision, each.condition)]
    if row then row.is_met = row.is_met or each.lacks ~= nil end
    if not each.lacks then
        passed = passed + 1
    elseif row then
        passed = passed + 1
        impossible = impossible + 1
    else
        report_uncovered(each)
    end
end

for key, row in pairs(rows) do
    if not row.is_met then fail("left.lua has %s, which is covered or not there", key) end
end

print(("%d decisions, %d conditions: %d covered, %d cannot be")
    :format(decisions, #conditions, passed - impossible, impossible))
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
