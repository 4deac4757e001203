--- A shop on several hosts: one lock in ZooKeeper for each product, one stock in MySQL. See
-- nginx.conf and docs/start.md.

local store = require "store"
local zklock = require "zklock"

local _M = {}
local session -- of this worker, shared by all its requests

local STATUS = {
    sold = 200, ["no such product"] = 404, ["sold out"] = 409,
    stale = 503, failed = 503, -- nothing is sold
    unknown = 504, -- it may be sold
} -- after 503, 504 or no answer the client sends the same order again


-- In a timer, which no client can end; again in a second until ZooKeeper answers.
local function open(premature)
    if premature then return end
    local message
    session, message = zklock.connect(os.getenv "ZK_HOSTS" or "127.0.0.1:2181", {
        drain = 10, -- at a reload the old worker's requests get their locks
        recover = os.getenv "RECOVER" or "/dev/shm/shop", -- after a crash: locks are soon free
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


local function answer(status, text)
    ngx.status = status
    ngx.say(text)
end


-- The text, if it is up to 32 letters and digits.
local function word(text)
    return text and #text <= 32 and text:match "^%w+$"
end


--- In content_by_lua.
function _M.buy()
    local id = (ngx.var.arg_id or ""):match "^[1-9]%d*$"
    local buyer, order = word(ngx.var.arg_buyer), word(ngx.var.arg_order)
    if ngx.req.get_method() ~= "POST" then return answer(405, "a purchase is a POST") end
    if not id or #id > 9 or not buyer or not order then
        return answer(400, "id must be a number, buyer and order letters and digits")
    end
    if not ready() then return answer(503, "ZooKeeper has not answered yet") end

    local lock = session:mutex("/locks/product-" .. id)
    local ok, outcome, code, outcome_when_lost = lock:with(3, store.sell, id, buyer, order)
    if code == "lost" then
        outcome = outcome_when_lost -- it counts: the store had seen no later token when it sold
    elseif not ok then
        return answer(503, code) -- without the lock: nothing is sold
    end
    answer(STATUS[outcome], outcome)
end


--- In log_by_lua: gives up what the request still holds, however it ended.
function _M.finish()
    if session then session:release_all() end
end


return _M
