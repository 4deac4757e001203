--- mutant.lua - a copy of the tree with one defect in it.
--
-- A mutant is a row of core.lua, zookeeper.lua, memory.lua or world.lua:
--
--   { "BUG-07", "names are compared as text",  its tree is build/mutants/BUG-07; the defect
--     at = "compare",                          a function, macro, table or struct (place.lua)
--     find = "return one < other;",            occurs exactly once, however it is wrapped, in all
--                                              definitions of that name
--     replace = "return text_below(one);",     its replacement, or nothing
--     also = { { at =, find =, replace = } },  more changes, if any; `at` as above if left out
--     rare = true,                             few schedules of the simulator catch it
--     catch = }                                how the mutant is caught (catch.lua)

local files = require "spec.files"
local place = require "spec.mutants.place"
local shell = require "spec.mutants.shell"

local mutant = {}

local FOLDER = (os.getenv("BUILD") or "build") .. "/mutants/"

mutant.BASE = FOLDER .. "base" -- the unchanged tree


function mutant.tree(row)
    return FOLDER .. row.name
end


--- Returns the rows of all tables, in order and by name; each has `name` and `what`, too.
function mutant.rows()
    local rows = {}
    for _, file in ipairs{ "core", "zookeeper", "memory", "world" } do
        for _, row in ipairs(require("spec.mutants." .. file)) do
            row.name, row.what = row[1], row[2]
            assert(row.name:match("^[%w-]+$"), "a bad name: " .. row.name)
            assert(not rows[row.name], "two mutants of one name: " .. row.name)
            rows[#rows + 1] = row
            rows[row.name] = row
        end
    end
    return rows
end


local sources_of = {} -- { file = text } of each requested tree

-- Returns the sources of the unchanged tree.
local function originals()
    local sources = sources_of[mutant.BASE]
    if sources then return sources end
    sources = {}
    for file in shell.must("cd %s && find src -name '*.[ch]'", mutant.BASE):gmatch("%S+") do
        sources[file] = assert(files.read(mutant.BASE .. "/" .. file))
    end
    sources_of[mutant.BASE] = sources
    return sources
end


-- Returns all occurrences of an edit's text, each { file =, first =, last = }, and the number of
-- definitions with the name `at`.
local function find(edit)
    local found, definitions = {}, 0
    for file, text in pairs(originals()) do
        for _, where in ipairs(place.definitions(text, edit.at)) do
            definitions = definitions + 1
            local body = text:sub(where.first, where.last)
            for _, part in ipairs(place.occurrences(body, edit.find)) do
                found[#found + 1] = { file = file, first = where.first + part.first - 1,
                                      last = where.first + part.last - 1 }
            end
        end
    end
    return found, definitions
end


-- Returns the only occurrence of an edit's text, or nil and why there is none or more.
local function locate(edit)
    local found, definitions = find(edit)
    if definitions == 0 then
        return nil, "src has no function, macro, table or struct " .. edit.at
    elseif #found ~= 1 then
        return nil, ("its text occurs %d times in %s, not once:\n%s"):format(
            #found, edit.at, edit.find)
    elseif place.same(edit.find, edit.replace) then
        return nil, "it changes nothing in " .. edit.at
    end
    return found[1]
end


-- Returns the changes of a row, each { at =, find =, replace = }.
local function edits_of(row)
    local edits = {}
    for _, each in ipairs{ row, table.unpack(row.also or {}) } do
        edits[#edits + 1] = { at = each.at or row.at, find = each.find,
                              replace = each.replace or "" }
    end
    return edits
end


--- Returns the file that a row changes first.
function mutant.file(row)
    return assert(locate(edits_of(row)[1])).file
end


--- Returns the changed sources, { file = text }, or nil and why it is no defect of the tree.
function mutant.sources(row)
    local spots, changed = {}, {}
    for i, each in ipairs(edits_of(row)) do
        local spot, problem = locate(each)
        if not spot then return nil, row.name .. ": " .. problem end
        spot.replace = each.replace:match("^%s*(.-)%s*$")
        spots[i] = spot
    end
    table.sort(spots, function(a, b) return a.first > b.first end) -- so no edit moves another
    for _, spot in ipairs(spots) do
        local text = changed[spot.file] or originals()[spot.file]
        changed[spot.file] = text:sub(1, spot.first - 1) .. spot.replace .. text:sub(spot.last + 1)
    end
    return changed
end


--- Copies the unchanged tree; all but the sources by links. From here on the sources may change.
function mutant.copy()
    shell.must("rm -rf %s && mkdir -p %s", mutant.BASE, mutant.BASE)
    shell.must("ln -s \"$PWD\"/* %s && cd %s && rm -f src build", mutant.BASE, mutant.BASE)
    shell.must("cp -R src %s", mutant.BASE)
end


-- There are no warnings, because a defect may leave something unused.
local MAKE = "make -s -r -j2 -C %s BUILD=build WARNINGS=-w CFLAGS='-O1 -g1' %s"

--- Builds files of a tree. Returns make's output and status.
function mutant.build(tree, targets)
    return shell.run(MAKE, tree, targets)
end


function mutant.must_build(tree, targets)
    shell.must(MAKE, tree, targets)
end


--- Makes the mutant's tree. The sources are newer than its build, so make sees them.
function mutant.make(row)
    local tree = mutant.tree(row)
    shell.must("rm -rf %s && cp -Rp %s %s", tree, mutant.BASE, tree)
    for file, text in pairs(assert(mutant.sources(row))) do
        os.remove(tree .. "/" .. file)
        files.write(tree .. "/" .. file, text)
    end
    return tree
end


return mutant
