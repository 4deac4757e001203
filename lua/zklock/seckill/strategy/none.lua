--- Strategy "none", without any lock.

local None = { simulated = true, unlocked = true }
None.__index = None


function None.open() return setmetatable({}, None) end
function None:enter() return self end
None.enter_all = None.enter
function None.leave() end


return None
