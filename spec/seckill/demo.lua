--- The command of a laboratory (make demo), run in this process.

local laboratory = require "zklock.seckill.laboratory"


-- A file that keeps what is written to it.
local function memory()
    local file = { text = "" }
    function file:write(...) self.text = self.text .. table.concat{ ... } end
    function file.flush() end
    return file
end


--- Returns the exit status, stdout and stderr.
---@param arguments string[]
---@param scenarios table[]?
---@param environment table?
---@return integer status
---@return string out
---@return string err
return function(arguments, scenarios, environment)
    local out, err = memory(), memory()
    local status = laboratory.main(arguments, out, err, scenarios, environment)
    return status, out.text, err.text
end
