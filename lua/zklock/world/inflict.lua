--- The effect of each kind of fault on a process.

local ipairs = ipairs
local huge, max = math.huge, math.max

local inflict = {}

function inflict.stop(self, process, seconds)
    process.stopped = true
    self.core:stop(process.number)
    self:tell(process, "is stopped for %g s", seconds)
    self:schedule(self:now() + seconds, function()
        if process.over then return end
        self:tell(process, "goes on")
        self.core:go_on(process.number)
        process:go_on()
    end)
end


function inflict.kill(self, process)
    self:tell(process, "is killed")
    process:finish()
    self.core:kill(process.number)
    self:forget_sleepers(process.run)
end


-- Lets all sessions connect again, or process.cut_sessions.
local function heal(self, process, all)
    local done = process.cut_until > self:now()
    for _, session in ipairs(process.sessions) do
        if all or process.cut_sessions[session] then
            done = self.core:heal(session.handle) or done
        end
    end
    process.cut_until, process.cut_sessions = 0, {}
    if done then self:tell(process, "has a network again") end
    return done
end


function inflict.heal(self, process)
    return heal(self, process, true)
end


function inflict.cut(self, process, seconds)
    local silently = self.core:draw("how", 2) == 1
    self:tell(process, "is cut off%s", seconds and (" for %g s"):format(seconds) or "")
    for _, session in ipairs(process.sessions) do process:cut(session, silently) end
    local due = seconds and self:now() + seconds or huge
    process.cut_until = max(process.cut_until, due)
    if not seconds then return end
    self:schedule(due, function()
        if not process.over and process.cut_until == due then heal(self, process, false) end
    end)
end


function inflict.expire(self, process)
    self:tell(process, "has its sessions ended by the server")
    for _, session in ipairs(process.sessions) do self.core:expire(session.handle) end
end


return inflict
