--- planted.lua - checks whether traces of a core with a defect conform to Trace.tla.
--
--   lua5.4 proof/tla/planted.lua          each of REFUSED has to be refused
--   lua5.4 proof/tla/planted.lua NAME...  tells which of these mutants of spec/mutants are
--
-- Each core makes SCHEDULES (300) runs. The first 12 traces that differ from those of the core
-- without a defect are checked. Ends with: N passed, N failed

package.path = "./?.lua;" .. package.path
local files = require "spec.files"
local mutant = require "spec.mutants.mutant"
local shell = require "spec.mutants.shell"

local SCHEDULES = os.getenv "SCHEDULES" or 300
local CHECKED = 12

-- A grant that looks at nobody, or follows a watch that was not set; a node that is left behind, of
-- another session, or made twice; a create that nobody waits for.
local REFUSED = { "BUG-12", "BUG-03-deadline", "BUG-11-vanished", "CURATOR-498", "nonce-reused",
                  "forgotten-cancel" }


-- The traces of a tree by their seeds, and the rule that the simulator saw broken, or nil.
local function traces_of(tree)
    mutant.must_build(tree, "build/sim/sim")
    local said = shell.run("ulimit -f 100000; timeout 60 %s/build/sim/sim trace 1 %d >%s/lines",
        tree, SCHEDULES, tree)
    local traces, seed = {}, nil
    for line in io.lines(tree .. "/lines") do
        seed = tonumber(line:match "^seed (%d+)$") or seed
        traces[seed] = (traces[seed] or "") .. line .. "\n"
    end
    return traces, said:match "seed %d+: ([^\n]+)"
end


local base

-- Returns the first line that does not conform, or nil; the simulator's broken rule, or nil; and
-- the number of traces that differ.
local function refusal(row)
    local tree = mutant.make(row)
    local traces, rule = traces_of(tree)
    local different = {}
    for seed, trace in pairs(traces) do
        if trace ~= base[seed] then different[#different + 1] = seed end
    end
    if #different == 0 then return nil, rule, 0 end
    table.sort(different)
    local text = {}
    for i = 1, math.min(CHECKED, #different) do text[i] = traces[different[i]] end
    files.write(tree .. "/lines", table.concat(text))
    shell.must("lua5.4 proof/tla/trace.lua %s/traces <%s/lines", tree, tree)
    local found = shell.run("node proof/tla/trace.mjs Trace %s/traces first", tree)
    return found:match "(%d+: DOES NOT CONFORM[^\n]*)", rule, #different
end


local rows = mutant.rows()
local all = #arg > 0 and arg or REFUSED
local passed = 0
mutant.copy()
base = traces_of(mutant.BASE)
for _, name in ipairs(all) do
    local row = assert(rows[name], name)
    local by, rule, different = refusal(row)
    if by then passed = passed + 1 end
    print(("%-22s %s\n    %d traces differ: %s%s"):format(name, row.what, different,
        by or "CONFORMS", rule and "\n    the simulator: " .. rule or ""))
    io.stdout:flush()
    shell.must("rm -rf %s", mutant.tree(row))
end
print(("%d passed, %d failed"):format(passed, #all - passed))
os.exit(passed == #all)
