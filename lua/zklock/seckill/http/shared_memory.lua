--- Strategy "shared" for nginx, a key in shared memory as in lua-resty-lock, which Debian lacks. It
--- excludes all workers of one server, and no other server.

local ngx = ngx


local STEP = 0.001 -- seconds between looks, at first
local LONGEST = 0.02 -- and at most
local LIFE = 300 -- seconds until a dead holder's lock is free


local SharedMemory = {}
SharedMemory.__index = SharedMemory


local locks = ngx.shared.locks
local marks = 0


function SharedMemory.open(server)
    return setmetatable({ timeout = server.timeout }, SharedMemory)
end


-- A holder's mark in the key. Only the holder with that mark may delete it.
local function next_mark()
    marks = marks + 1
    return ngx.worker.pid() .. "-" .. marks
end


function SharedMemory:enter(lock)
    local mark, step, waited = next_mark(), STEP, 0
    while not locks:add(lock, mark, LIFE) do
        if waited >= self.timeout then
            return nil, "the local lock was held for too long", "timeout"
        end
        ngx.sleep(step)
        waited, step = waited + step, math.min(2 * step, LONGEST)
    end
    return { lock = lock, mark = mark }
end


function SharedMemory.leave(_, hold)
    if locks:get(hold.lock) == hold.mark then locks:delete(hold.lock) end
end


return SharedMemory
