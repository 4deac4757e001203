--- No lock, on purpose, for any number of concurrent buyers.

local Together = { simulated = true }
Together.__index = Together


function Together.open() return setmetatable({}, Together) end
function Together:enter() return self end
function Together.leave() end
function Together.shared() return true end


return Together
