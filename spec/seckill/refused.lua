--- Asserts that fn(...) raises an error that matches the pattern and blames the caller's line.

local assert = require "luassert"

return function(pattern, fn, ...)
    local ok, message = pcall(fn, ...)
    assert.is_false(ok)
    assert.matches(pattern, message)
    assert.matches("refused.lua:%d+: ", message)
end
