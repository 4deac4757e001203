--- mutant.lua - a copy of the tree with one defect in it.
--
-- A mutant is a row of core.lua or zookeeper.lua:
--
--   name     of its tree, build/mutants/<name>, and in the table that is printed
--   what     it does wrong
--   file     which source
--   find     text that is in there exactly once ...
--   replace  ... and what stands there instead
--   also     optional: more of these, { file =, find =, replace = }, `file` as above if not given
--   catch    how it is caught; see catch.lua

local shell = require "spec.mutants.shell"

local mutant = {}

local FOLDER = (os.getenv("BUILD") or "build") .. "/mutants/"

mutant.BASE = FOLDER .. "base" -- the tree as it is


--- Where the mutant's tree is.
function mutant.tree(row)
    return FOLDER .. row.name
end


local function occurrences(text, part)
    local count, at = 0, 1
    while true do
        local first, last = text:find(part, at, true)
        if not first then return count end
        count, at = count + 1, last + 1
    end
end


local function edits_of(row)
    local edits = { { file = row.file, find = row.find, replace = row.replace } }
    for _, each in ipairs(row.also or {}) do
        edits[#edits + 1] =
            { file = each.file or row.file, find = each.find, replace = each.replace }
    end
    return edits
end


local function edit(text, find, replace)
    local first, last = text:find(find, 1, true)
    return text:sub(1, first - 1) .. replace .. text:sub(last + 1)
end


--- The changed sources, { file = text }; or nil and why it is no defect of the tree as it is.
function mutant.sources(row)
    local sources = {}
    for _, each in ipairs(edits_of(row)) do
        local text = sources[each.file] or assert(shell.read(mutant.BASE .. "/" .. each.file))
        local count = occurrences(text, each.find)
        if count ~= 1 then
            return nil, ("%s: its text occurs %d times in %s, not once:\n%s"):format(
                row.name, count, each.file, each.find)
        end
        sources[each.file] = edit(text, each.find, each.replace)
        if sources[each.file] == text then return nil, row.name .. " changes nothing" end
    end
    return sources
end


--- Copies the tree as it is. From here on nobody looks at the original, which may change.
function mutant.copy()
    shell.must("rm -rf %s && mkdir -p %s/spec", mutant.BASE, mutant.BASE)
    shell.must("cp -R src %s && cp -R spec/core spec/sim %s/spec", mutant.BASE, mutant.BASE)
    shell.must("cp spec/mutants/tree.mk %s", mutant.BASE)
end


function mutant.build(targets)
    shell.must("make -s -r -j2 -C %s -f tree.mk %s", mutant.BASE, targets)
end


--- Makes the mutant's tree. The sources are newer than what is built, so make sees them.
function mutant.make(row)
    local tree = mutant.tree(row)
    shell.must("rm -rf %s && cp -Rp %s %s", tree, mutant.BASE, tree)
    for file, text in pairs(assert(mutant.sources(row))) do
        os.remove(tree .. "/" .. file)
        shell.write(tree .. "/" .. file, text)
    end
    return tree
end


return mutant
