--- Strategy "shared" of an nginx: a key in its shared memory, in the style of lua-resty-lock,
--- which Debian does not have. All workers of the server see it, and nobody else does.

local ngx = ngx


local STEP = 0.001 -- between looks, at first
local LONGEST = 0.02
local LIFE = 300 -- seconds after which a lock is free whose holder has died


local SharedMemory = {}
SharedMemory.__index = SharedMemory


local locks = ngx.shared.locks
local count = 0


function SharedMemory.open(server)
    return setmetatable({ timeout = server.timeout }, SharedMemory)
end


-- The mark of a holder, in the key: only the holder with that mark may delete the key.
local function next_mark()
    count = count + 1
    return ngx.worker.pid() .. "-" .. count
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
