--- Strategy "shared" for nginx, a key in shared memory as in lua-resty-lock, which Debian lacks. It
--- excludes all workers of one server, and no other server.

local core = require "zklock.core"

local ngx = ngx


local FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.02 -- seconds between attempts
local LIFE = 300 -- seconds until the lock of a dead holder is free


local SharedMemory = {}
SharedMemory.__index = SharedMemory


local locks = ngx.shared.locks
local mark_count = 0


function SharedMemory.open(server)
    return setmetatable({ timeout = server.timeout }, SharedMemory)
end


-- A holder's mark in the key. Only the holder with that mark may delete it.
local function next_mark()
    mark_count = mark_count + 1
    return ngx.worker.pid() .. "-" .. mark_count
end


function SharedMemory:enter(lock)
    local mark, pause, due = next_mark(), FIRST_PAUSE, core.now() + self.timeout
    while not locks:add(lock, mark, LIFE) do
        if core.now() >= due then
            return nil, "the local lock was held for too long", "timeout"
        end
        ngx.sleep(pause)
        pause = math.min(2 * pause, LONGEST_PAUSE)
    end
    return { lock = lock, mark = mark }
end


function SharedMemory.leave(_, hold)
    if locks:get(hold.lock) == hold.mark then locks:delete(hold.lock) end
end


return SharedMemory
