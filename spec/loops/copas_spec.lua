--- Waits inside copas, which Debian has for Lua 5.1.
local promises = require "spec.loops.promises"
local zklock = require "zklock"

if not pcall(require, "copas") then
    describe("the driver of a library that is not installed", function()
        it("says so, and changes nothing", function()
            local ok, message, code = zklock.driver("copas")
            assert.is_nil(ok)
            assert.equal("unsupported", code)
            assert.is_truthy(message:find("module 'copas' not found", 1, true), message)
        end)
    end)
    return
end

local loop = require "spec.loops.loop" "copas"

loop.start = "copas.addthread("
describe("copas", function() promises(loop, it, before_each, after_each) end)
