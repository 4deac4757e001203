--- Standard output of a verb. A write that fails ends the verb.

local refusal = require "zklock.command.refusal"
local status = require "zklock.command.status"

local setmetatable = setmetatable

---@class zklock.command.Output
---@field file file*
local Output = {}
Output.__index = Output

local _M = {}


local function check_written(self, done, reason)
    if done then return self end
    refusal.raise(status.SOFTWARE, "the output cannot be written: %s", reason)
end


function Output:write(...) return check_written(self, self.file:write(...)) end

function Output:flush() return check_written(self, self.file:flush()) end


---@return zklock.command.Output
function _M.to(file) return setmetatable({ file = file }, Output) end


return _M
