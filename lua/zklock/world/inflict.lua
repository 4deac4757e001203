--- The effect of each kind of fault on a process.

local ipairs = ipairs
local huge, max = math.huge, math.max

local inflict = {}

local function go_on_at(self, process, due)
    process:end_fault("stop", due, function()
        self:tell(process, "goes on")
        self.core:go_on(process.number)
        process:go_on()
    end)
    process.stopped_until = due
end


function inflict.stop(self, process, seconds)
    process.stopped = true
    self.core:stop(process.number)
    self:tell(process, "is stopped for %g s", seconds)
    go_on_at(self, process, self:now() + seconds)
end


--- Lets a stop last for so long from now on, unless it lasts longer.
function inflict.longer_stop(self, process, seconds)
    self:tell(process, "is stopped again, for %g s", seconds)
    go_on_at(self, process, max(process.stopped_until, self:now() + seconds))
end


function inflict.kill(self, process)
    self:tell(process, "is killed")
    process:finish()
    self.core:kill(process.number)
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
    process:end_fault "cut"
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
    if due < process.cut_until then return end -- an earlier cut lasts for longer
    process.cut_until = due
    process:end_fault("cut", seconds and due, function() heal(self, process, false) end)
end


function inflict.expire(self, process)
    self:tell(process, "has its sessions ended by the server")
    for _, session in ipairs(process.sessions) do self.core:expire(session.handle) end
end


return inflict
