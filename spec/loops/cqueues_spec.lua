--- Waits inside cqueues.
local loop = require "spec.loops.loop" "cqueues"
local promises = require "spec.loops.promises"

loop.start = "controller:wrap("
describe("cqueues", function() promises(loop, it, before_each, after_each) end)
