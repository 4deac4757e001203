--- Waits inside luv.
local loop = require "spec.loops.loop" "luv"
local promises = require "spec.loops.promises"

loop.start = "coroutine.wrap("
describe("luv", function() promises(loop, it, before_each, after_each) end)
