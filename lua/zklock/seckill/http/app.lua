--- The sale inside nginx. conf.lua says which directive calls what.
---
---     POST /mall/commodity/purchase?commodityId=ID&number=N
---
--- answers in JSON: 200 sold; 409 sold out, or fewer left than wanted; 400, 404, 405 a request
--- that is none; 503 not now: the lock was not to be had, and nothing was sold.

local dkjson = require "dkjson"
local shops = require "zklock.seckill.http.shop"
local strategies = require "zklock.seckill.strategy"
local zklock = require "zklock"

local ngx = ngx


local PATIENCE = 0.5 -- seconds, until a worker tries again to reach ZooKeeper
local MANY = "^0*[1-9]%d?%d?%d?%d?%d?$"


local app = {}

-- How this server sells; see zklock.seckill.http.server. In nginx all is text.
local given

-- Of this worker.
local session
local shop
local by_product = {} -- strategies


-- answers --------------------------------------------------------------------------------------

-- Whoever decides gives a status and what to say; it is said when the lock is given up.
local function answer(status, content)
    local body = dkjson.encode(content) .. "\n"
    ngx.status = status
    ngx.header.content_type = "application/json"
    ngx.header.content_length = #body
    ngx.print(body)
end


local function refusal(status, code, message)
    return status, { sold = false, error = code, message = message }
end


-- what is asked --------------------------------------------------------------------------------

-- The parameter, which must match the pattern; nil, message.
local function parameter(name, pattern, meaning)
    local value = ngx.req.get_uri_args()[name]
    if value == nil then return nil, name .. " is missing" end
    if type(value) == "table" then return nil, name .. " is given more than once" end
    value = value == true and "" or value
    if value:find(pattern) and #value <= 32 then return value end
    return nil, ("%s must be %s, not %q"):format(name, meaning, value)
end


-- The product and how many of it; nil, message.
local function wish()
    local id, message = parameter("commodityId", "^%w+$", "up to 32 letters and digits")
    if not id then return nil, message end
    local number
    number, message = parameter("number", MANY, "a whole number from 1 to 999999")
    if not number then return nil, message end
    return { id = id, number = tonumber(number) }
end


-- the purchase ---------------------------------------------------------------------------------

-- The strategy for one product: each has a lock of its own (REQ-11).
local function strategy_for(id)
    local strategy = by_product[id]
    if strategy then return strategy end
    strategy = strategies.open {
        given = {
            strategy = given.strategy, order = given.order,
            lock = "/" .. id, timeout = given.timeout,
        },
        connect = function() return session end,
        path = function(_, name) return given.root .. name end,
    }
    by_product[id] = strategy
    return strategy
end


local function sold_out(left, wanted)
    if left <= 0 then return refusal(409, "sold_out", "sold out") end
    return refusal(409, "not_enough", ("%d wanted, %d left"):format(wanted, left))
end


-- Between reading and writing only the lock keeps others out (S0's rule).
local function buy(wanted, token)
    local left = shop:left(wanted.id)
    if left < wanted.number then return sold_out(left, wanted.number) end
    zklock.sleep(tonumber(given.pause))
    local written = shop:sell {
        id = wanted.id, number = wanted.number, left = left - wanted.number,
        server = given.name, token = token,
    }
    if not written then
        return refusal(503, "lost", "the lock was lost before the purchase, and another has bought")
    end
    return 200, { sold = true, left = left - wanted.number, token = token, server = given.name }
end


local function buy_in_turn(wanted)
    local strategy = strategy_for(wanted.id)
    local hold, message, code = strategy:enter()
    if not hold then return refusal(503, code, message) end
    local mall = ngx.shared.mall
    mall:incr("holding", 1, 0)
    local ok, status, content = pcall(buy, wanted, strategy:token(hold))
    mall:incr("holding", -1)
    strategy:leave(hold)
    if not ok then error(status, 0) end
    return status, content
end


-- Who asks for what there is not takes no lock: ZooKeeper keeps no node for names that
-- strangers make up, and a sold-out product costs nothing any more.
local function serve()
    if ngx.req.get_method() ~= "POST" then
        ngx.header.allow = "POST"
        return refusal(405, "method_not_allowed", "a purchase is a POST")
    end
    local wanted, message = wish()
    if not wanted then return refusal(400, "bad_request", message) end
    if not (shop and (session or given.strategy ~= "zookeeper")) then
        return refusal(503, "starting", "the server is not ready yet")
    end
    local left = shop:left(wanted.id)
    if not left then return refusal(404, "unknown_commodity", "no such product: " .. wanted.id) end
    if left <= 0 then return sold_out(left) end
    return buy_in_turn(wanted)
end


--- content_by_lua: a purchase.
function app.purchase()
    ngx.shared.mall:incr("inside", 1, 0)
    ngx.ctx.inside = true
    local ok, status, content = pcall(serve)
    if ok then return answer(status, content) end
    ngx.log(ngx.ERR, status)
    answer(refusal(500, "store", "the purchase failed: see the server's log"))
end


--- log_by_lua of a purchase: however it ended, it holds nothing any more.
function app.finish()
    if session then session:release_all() end
    if ngx.ctx.inside then ngx.shared.mall:incr("inside", -1) end
end


-- the server -----------------------------------------------------------------------------------

--- content_by_lua: the server's run, the process ids of its workers that are ready, how many
--- purchases are under way, and how many of them have the lock.
function app.state()
    local mall = ngx.shared.mall
    local pids = {}
    for number = 0, ngx.worker.count() - 1 do pids[#pids + 1] = mall:get("worker" .. number) end
    answer(200, {
        root = given.root, pids = pids,
        inside = mall:get "inside" or 0, holding = mall:get "holding" or 0,
    })
end


-- A timer: again until it is done.
local function open(premature)
    if premature then return end
    local ok, problem = pcall(function()
        shop = shop or shops.open(given.store)
        if given.strategy == "zookeeper" then
            session = session or assert(zklock.connect(given.zookeeper, {
                timeout = tonumber(given.session), identity = given.name,
            }))
        end
    end)
    if ok then
        ngx.shared.mall:set("worker" .. ngx.worker.id(), ngx.worker.pid())
    else
        ngx.log(ngx.ERR, problem)
        ngx.timer.at(PATIENCE, open)
    end
end


--- init_by_lua: how to sell.
---@param words table<string, string>
function app.configure(words)
    given = words
end


--- init_worker_by_lua, where nothing can wait.
function app.start()
    math.randomseed(ngx.worker.pid() * 1000 + ngx.now() * 1000 % 1000)
    ngx.timer.at(0, open)
end


return app
