--- A strategy that fails, hangs, loops or dies for some buyers, or does not even open.

local zklock = require "zklock"

local Moody = {}
Moody.__index = Moody


function Moody.open(server)
    if server.parameters.never then error "it does not open" end
    while server.parameters.opens_late do zklock.sleep(1) end
    return setmetatable({ parameters = server.parameters, inside = false }, Moody)
end


-- Sends the signal once and from the background, because a process ignores interrupts while it
-- executes a command, and a second interrupt ends it at once.
function Moody:wait_for_signal(signal)
    if not self.sent then
        self.sent = true
        os.execute(("server=$PPID; (sleep 0.1; kill -%s $server 2>/dev/null) &"):format(signal))
    end
    while true do zklock.sleep(1) end
end


function Moody:token() return self.parameters.token end

function Moody:on_state(_, fn)
    if self.parameters.state then fn(self.parameters.state) end
end


-- Buyers of one server exclude each other.
function Moody:enter(_, buyer)
    if buyer.number % self.parameters.every == 0 then
        if self.parameters.signal then self:wait_for_signal(self.parameters.signal) end
        if self.parameters.exits then os.exit(self.parameters.exits) end
        while self.parameters.hangs do zklock.sleep(1) end
        while self.parameters.yields do coroutine.yield() end
        while self.parameters.loops do end
        if self.parameters.blocks then os.execute("exec sleep " .. self.parameters.blocks) end
        error "moody today"
    end
    if self.parameters.prints then print(("?"):rep(self.parameters.prints)) end
    while self.inside do zklock.sleep(0.001) end
    self.inside = true
    return self
end


function Moody:leave() self.inside = false end


return Moody
