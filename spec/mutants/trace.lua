--- trace.lua - a helper of busted that tells trace.c the running test. The names of the tests are
-- the lines of $TRACE.tests.

local busted = require "busted"

local full_name = require("busted.outputHandlers.base")().getFullName

local SETUP = 499 -- the last segment

local set_segment = _G.TRACE_SEGMENT
local tests, count = assert(io.open(os.getenv "TRACE" .. ".tests", "w")), 0
tests:setvbuf "no"


local function before_all()
    set_segment(SETUP)
    return nil, true
end


-- busted sends no event before a setup, so a setup of this helper goes before each.
local adds = false

local function add_setup()
    if not adds then
        adds = true
        busted.strict_setup(before_all)
        adds = false
    end
    return nil, true
end


-- Steps before a test belong to the test.
local function before_test()
    set_segment(count + 1)
    return nil, true
end


local function begin_test(element)
    count = count + 1
    set_segment(count)
    tests:write((full_name(element):gsub("\n", " ")), "\n")
    return nil, true
end


busted.subscribe({ "register", "strict_setup" }, add_setup, { priority = 1 })
busted.subscribe({ "describe", "start" }, before_all)
busted.subscribe({ "test", "end" }, before_test)
busted.subscribe({ "test", "start" }, begin_test)
