--- The running task, which is a request or timer of nginx. nginx reuses coroutines for later
-- requests, so the coroutine alone does not tell the holder.

local ngx = ngx
local rawget = rawget

-- Key in ngx.ctx, where each request and timer has its own. Reads are raw, because the ngx.ctx of a
-- request falls back to that of its connection's handshake, which is another task.
local KEY = {}
local last_number = 0


---@class zklock.Task
---@field name string
---@field waits table set of zklock.Request that its light threads wait for, or died waiting for
---@field over? boolean its nginx request has ended


---@return zklock.Task? task nil: there is none
return function()
    if not ngx then return nil end
    local ctx = ngx.ctx
    if not rawget(ctx, KEY) then
        last_number = last_number + 1
        local task = { name = "task " .. last_number, waits = {} }
        ctx[KEY] = rawget(ctx, KEY) or task -- a finalizer may have made the task
    end
    return rawget(ctx, KEY)
end
