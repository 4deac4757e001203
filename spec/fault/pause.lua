--- Stops a server, and comes back when every thread of it has stopped: the signal
-- alone may let it answer one request more.

local rig = require "spec.rig"


---@param server table of rig
---@param n? integer which of an ensemble
return function(server, n)
    server:pause(n)
    rig.wait_for("the server to stop", function()
        local states = rig.shell("sed 's/.*) //' /proc/%d/task/*/stat | cut -c 1", server:pid(n))
        return states:find("T") and not states:find("[^T\n]")
    end)
end
