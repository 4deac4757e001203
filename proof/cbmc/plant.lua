--- plant.lua - makes a tree with each of the planted defects (defects.lua), as spec/mutants does,
-- with the proofs in it, below $BUILD. Prints a line for each: proof, name, tree and promise, with
-- tabs between them.

local mutant = require "spec.mutants.mutant"
local shell = require "spec.mutants.shell"

mutant.copy()
shell.must("rm -f %s/proof && cp -R proof %s", mutant.BASE, mutant.BASE) -- it is a link
for _, row in ipairs(require "proof.cbmc.defects") do
    row.name = row[2]
    print(table.concat({ row[1], row.name, mutant.make(row), row.breaks }, "\t"))
end
