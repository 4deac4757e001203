--- planted.lua - whether the traces of a core with a defect conform to Trace.tla.
--
--   lua5.4 proof/tla/planted.lua          each of REFUSED has to be refused
--   lua5.4 proof/tla/planted.lua NAME...  of these of spec/mutants: which are
--
-- SCHEDULES (12) are made with each. Ends with: N passed, N failed

package.path = "./?.lua;" .. package.path
local mutant = require "spec.mutants.mutant"
local shell = require "spec.mutants.shell"

local SCHEDULES = os.getenv "SCHEDULES" or 12

-- A grant that looks at nobody, or follows a watch that was not set; a node that is left behind, of
-- another session, or made twice; a create that nobody waits for.
local REFUSED = { "BUG-12", "BUG-03-deadline", "BUG-11-vanished", "CURATOR-498", "nonce-reused",
                  "forgotten-cancel" }


-- The first line that does not conform, or nil; and the rule that the simulator saw broken, or nil.
local function refusal(row)
    local tree = mutant.make(row)
    local traces = tree .. "/traces"
    shell.must("make -s -r -C %s -f tree.mk sim/sim", tree)
    local run = shell.run("ulimit -f 4000; timeout 60 %s/sim/sim trace 1 %d >%s/lines; " ..
        "lua5.4 proof/tla/trace.lua %s <%s/lines", tree, SCHEDULES, tree, traces, tree)
    local found = shell.run("node proof/tla/trace.mjs Trace %s first", traces)
    return found:match "(%d+: DOES NOT CONFORM[^\n]*)", run:match "seed %d+: ([^\n]+)"
end


local rows = mutant.rows()
local all = #arg > 0 and arg or REFUSED
local passed = 0
mutant.copy()
mutant.build "sim/sim"
for _, name in ipairs(all) do
    local row = assert(rows[name], name)
    local by, rule = refusal(row)
    if by then passed = passed + 1 end
    print(("%-22s %s\n    %s%s"):format(name, row.what, by or "CONFORMS",
        rule and "\n    the simulator: " .. rule or ""))
    io.stdout:flush()
    shell.must("rm -rf %s", mutant.tree(row))
end
print(("%d passed, %d failed"):format(passed, #all - passed))
os.exit(passed == #all)
