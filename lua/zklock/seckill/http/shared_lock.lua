--- The local lock of a server: a key in nginx's shared memory, in the style of
--- lua-resty-lock, which Debian does not have. All workers of the server see it, and
--- nobody else does.

local ngx = ngx


local STEP = 0.001 -- between looks, at first
local LONGEST = 0.02
local LIFE = 300 -- after which a lock is free whose holder is no more


---@class zklock.seckill.SharedLock
local SharedLock = {}
SharedLock.__index = SharedLock


local shared_lock = {}

local locks = ngx.shared.locks
local count = 0


--- The server's lock of that name.
---@param name string
---@param timeout number?  seconds; nil: for ever
function shared_lock.open(name, timeout)
    return setmetatable({ name = name, timeout = timeout }, SharedLock)
end


-- Who holds it: only that one may delete the key.
local function next_mark()
    count = count + 1
    return ngx.worker.pid() .. "-" .. count
end


function SharedLock:enter()
    local mark, step, waited = next_mark(), STEP, 0
    while not locks:add(self.name, mark, LIFE) do
        if self.timeout and waited >= self.timeout then
            return nil, "the local lock was held for too long", "timeout"
        end
        ngx.sleep(step)
        waited, step = waited + step, math.min(2 * step, LONGEST)
    end
    return mark
end


function SharedLock:leave(mark)
    if locks:get(self.name) == mark then locks:delete(self.name) end
end


function SharedLock.token() end


return shared_lock
