--- Strategy "shared", a lock file for all processes of a machine, like nginx's shared memory for
--- its workers. It is enough as long as all servers run on one machine. A server that dies with the
--- lock leaves it locked for ever.

local core = require "zklock.core"
local zklock = require "zklock"


local POLL = 0.002 -- seconds, on average


local Shared = {}
Shared.__index = Shared


-- The two names of a lock's file. A rename between them is atomic, so only one waiter succeeds.
local function names_of(folder, lock)
    local name = folder .. "/shared-" .. lock:gsub("[^%w]", function(c)
        return ("%%%02x"):format(c:byte())
    end)
    return name .. ".free", name .. ".held"
end


function Shared.prepare(sale)
    for _, lock in ipairs(sale.locks) do
        assert(io.open((names_of(sale.folder, lock)), "w")):close()
    end
end


function Shared.open(server)
    return setmetatable({ folder = server.folder, timeout = server.timeout }, Shared)
end


function Shared:enter(lock, _, wish)
    local free, held = names_of(self.folder, lock)
    local due = core.now() + (wish and wish.timeout or self.timeout)
    while not os.rename(free, held) do
        if core.now() > due then
            return nil, "waited too long for the lock file", "timeout"
        end
        zklock.sleep(POLL * (0.5 + math.random())) -- two pollers in step would starve each other
    end
    return { free = free, held = held }
end


function Shared.leave(_, hold)
    assert(os.rename(hold.held, hold.free))
end


return Shared
