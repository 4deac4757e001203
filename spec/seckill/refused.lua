--- Asserts that fn(...) raises an error with that pattern that blames the caller's line.

local assert = require "luassert"

return function(pattern, fn, ...)
    local ok, message = pcall(fn, ...)
    assert.is_false(ok)
    assert.matches(pattern, message)
    assert.matches("refused.lua:%d+: ", message)
end
