--- export.lua - the conditions of a folder in the output of `llvm-cov export`.
--
-- A decision is an expression such as `a && b || c`, with three conditions, or the only condition
-- of an if, a loop or a ?:, or a case of a switch. A condition among several is covered when two
-- runs differ in this condition alone, and in the outcome (MC/DC); a single condition, when it was
-- true and was false; a case, when it was taken. Code that is compiled several times, such as an
-- inline function, counts once, and any copy may cover it.

local json = require "dkjson"

local files = require "spec.files"

local export = {}


-- --- sources ------------------------------------------------------------------------

local sources = {} -- { [path] = { text =, [line] = its first byte } }

local function source_of(path)
    local source = sources[path]
    if source then return source end
    source = { text = assert(files.read(path)) }
    for first in source.text:gmatch "()[^\n]*\n" do source[#source + 1] = first end
    sources[path] = source
    return source
end


-- Returns the text of a span, { line, column, line, column }, in one line, without comments.
local function text_of(path, span)
    local source = source_of(path)
    local text = source.text:sub(source[span[1]] + span[2] - 1, source[span[3]] + span[4] - 2)
    return (text:gsub("/%*.-%*/", " "):gsub("%s+", " "))
end


-- --- spans --------------------------------------------------------------------------

local function is_before(line, column, other_line, other_column)
    return line < other_line or (line == other_line and column < other_column)
end


local function comes_first(a, b) return is_before(a[1], a[2], b[1], b[2]) end


local function is_in(span, other)
    return not is_before(span[1], span[2], other[1], other[2])
        and not is_before(other[3], other[4], span[3], span[4])
end


-- --- the exported file --------------------------------------------------------------
--
-- A branch is an array of a span and two counts, how often it was true and false. An MC/DC record
-- is an array of a span, ..., and an array that tells for each condition whether it is covered.

-- Returns the record of this place. The first time it makes a record of `fields`.
local function record_at(places, path, span, fields)
    local key = ("%s:%d:%d:%d:%d"):format(path, span[1], span[2], span[3], span[4])
    if not places[key] then
        fields.path, fields.span = path, { span[1], span[2], span[3], span[4] }
        places[key] = fields
    end
    return places[key]
end


local function add_branch(found, path, branch)
    local known = record_at(found.branches, path, branch, { yes = 0, no = 0 })
    known.yes, known.no = known.yes + branch[5], known.no + branch[6]
end


local function add_decision(found, path, record)
    local known = record_at(found.decisions, path, record, { covered = {} })
    for i, is_covered in ipairs(record[#record]) do
        known.covered[i] = known.covered[i] or is_covered
    end
end


local function add_function(found, path, record)
    local known = record_at(found.functions, path, record.regions[1], { calls = 0 })
    known.name = record.name:match "[%w_]+$"
    known.calls = known.calls + record.count
    for _, branch in ipairs(record.branches) do add_branch(found, path, branch) end
    for _, decision in ipairs(record.mcdc_records) do add_decision(found, path, decision) end
end


local function read_export(path, folders)
    local found = { functions = {}, branches = {}, decisions = {} }
    local data = assert(json.decode(assert(files.read(path)))).data[1]
    for _, record in ipairs(data.functions) do
        local source, folder = record.filenames[1]:match "(src/(%w+)/[^/]+)$"
        if folders[folder] then add_function(found, source, record) end
    end
    return found
end


-- --- conditions ---------------------------------------------------------------------

-- Returns the branches in the span, in order; an inner one comes after its outer one.
local function branches_in(branches, path, span)
    local list = {}
    for _, branch in pairs(branches) do
        if branch.path == path and is_in(branch.span, span) then list[#list + 1] = branch end
    end
    table.sort(list, function(a, b)
        if comes_first(a.span, b.span) or comes_first(b.span, a.span) then
            return comes_first(a.span, b.span)
        end
        return a ~= b and is_in(b.span, a.span)
    end)
    return list
end


-- Returns the conditions of a decision, which are branches in no other branch, as the condition of
-- a ?: may be.
local function outermost(branches)
    local list = {}
    for _, branch in ipairs(branches) do
        local last = list[#list]
        if not (last and is_in(branch.span, last.span)) then list[#list + 1] = branch end
    end
    return list
end


local function lack_of(branch)
    if branch.yes == 0 then return "is never true" end
    return branch.no == 0 and "is never false" or nil
end


local function lack_of_case(branch)
    return branch.yes == 0 and "is never taken" or nil
end


local function is_case(text) return text:find "^case " or text == "default" end


local function add(list, fn, branch, decision, lacks)
    list[#list + 1] = { path = branch.path, line = branch.span[1], at = fn.name,
                        decision = decision, condition = text_of(branch.path, branch.span),
                        lacks = lacks }
end


-- Adds the conditions of a decision, and marks its branches.
local function add_conditions(list, fn, decision, found)
    local inside = branches_in(found.branches, decision.path, decision.span)
    local branches = outermost(inside)
    for _, branch in ipairs(inside) do branch.is_within = true end
    local text = text_of(decision.path, decision.span)
    assert(#branches == #decision.covered, text)
    for i, branch in ipairs(branches) do
        branch.is_part = true
        local lacks = lack_of(branch) or not decision.covered[i] and "never decides alone" or nil
        add(list, fn, branch, text, lacks)
    end
end


-- A switch takes no decision about a value without a case, because each value of an enum has one.
local function is_switch(branch)
    local source = source_of(branch.path)
    local line = source[branch.span[1]]
    local before = source.text:sub(line, line + branch.span[2] - 2)
    return before:find "switch %($"
end


-- Whether the branch stands beside && or ||. clang finds no decision with a `!` of several
-- conditions.
local function is_of_several(branch)
    local source = source_of(branch.path)
    local first = source[branch.span[1]] + branch.span[2] - 1
    local after = source[branch.span[3]] + branch.span[4] - 1
    return source.text:sub(math.max(1, first - 200), first - 1):find "[&|][&|]%s*[!(]*$"
        or source.text:find("^%)*%s*[&|][&|]", after)
end


-- Adds a branch that is the only condition of its decision; returns false for any other branch.
local function add_alone(list, fn, branch)
    if branch.is_part or is_switch(branch) then return false end
    local text = text_of(branch.path, branch.span)
    local lacks = (is_case(text) and lack_of_case or lack_of)(branch)
    if not branch.is_within and is_of_several(branch) then lacks = "is in no decision to clang" end
    add(list, fn, branch, text, lacks)
    return true
end


local function add_uncalled(list, fn)
    if fn.calls > 0 then return end
    list[#list + 1] = { path = fn.path, line = fn.span[1], at = fn.name, decision = "",
                        condition = "", lacks = "is never called" }
end


--- Returns the conditions in these folders of src, a set, and the functions that were never called,
-- each as { path =, line =, at = its function, decision =, condition =, lacks = }; `lacks` is nil
-- for a covered one. Also returns the number of decisions.
function export.conditions(path, folders)
    local found, list = read_export(path, folders), {}
    local decisions = 0
    for _, fn in pairs(found.functions) do
        add_uncalled(list, fn)
        for _, decision in pairs(found.decisions) do
            if decision.path == fn.path and is_in(decision.span, fn.span) then
                add_conditions(list, fn, decision, found)
                decisions = decisions + 1
            end
        end
        for _, branch in ipairs(branches_in(found.branches, fn.path, fn.span)) do
            if add_alone(list, fn, branch) then decisions = decisions + 1 end
        end
    end
    table.sort(list, function(a, b)
        if a.path ~= b.path then return a.path < b.path end
        return a.line < b.line
    end)
    return list, decisions
end


return export
