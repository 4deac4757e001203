--- A shop that sells ten pieces of everything. See nginx.conf.

local zklock = require "zklock"

local _M = {}
local session -- of this worker, shared by all its requests


-- Runs in a timer, which no client can end. Tries again each second until ZooKeeper answers.
local function open(premature)
    if premature then return end
    local message
    session, message = zklock.connect(os.getenv("ZK_HOSTS") or "127.0.0.1:2181", {
        drain = 10, -- at a reload the old worker's requests get their locks
    })
    if session then return end
    ngx.log(ngx.ERR, message)
    ngx.timer.at(1, open)
end


--- In init_worker_by_lua, where nothing can wait.
function _M.start()
    ngx.timer.at(0, open)
end


-- The first requests of a new worker wait for its session, as long as connect() waits.
local function ready()
    for _ = 1, 500 do
        if session then return true end
        ngx.sleep(0.01)
    end
end


-- Reads, thinks and writes, while the lock keeps other requests out. A lasting store must be shown
-- the token before it is read (docs/which-lock.md).
local function sell(lease, sku)
    local stock = ngx.shared.stock
    local left = stock:get(sku) or 10
    if left == 0 then return "sold out" end
    ngx.sleep(0.001)
    stock:set(sku, left - 1)
    return ("sold, %d left, token %s"):format(left - 1, lease:token_string())
end


--- In content_by_lua.
function _M.buy()
    local sku = (ngx.var.arg_sku or ""):match("^%w+$")
    if not sku then return ngx.exit(ngx.HTTP_BAD_REQUEST) end
    if not ready() then return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE) end
    local ok, answer, code = session:mutex("/shop/" .. sku, { metrics = "shop" }):with(3, sell, sku)
    if code == "lost" then -- it may have been sold, so do not try again
        ngx.status = ngx.HTTP_INTERNAL_SERVER_ERROR
    elseif not ok then
        ngx.status = ngx.HTTP_SERVICE_UNAVAILABLE
    end
    ngx.say(answer)
end


--- In log_by_lua. Releases all that the request still holds, however it ended.
function _M.finish()
    if session then session:release_all() end
end


return _M
