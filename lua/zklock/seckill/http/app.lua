--- The sale inside nginx; conf.lua binds its functions to directives.
---
---     POST /mall/commodity/purchase?commodityId=ID&number=N[&buyer=B]
---
--- answers in JSON with 200 sold; 409 sold out, or too few left; 400, 404, 405 a malformed request;
--- 503 no lock in time, nothing sold; 504 outcome unknown. All but 504 have the field `sold`.
---
--- Each worker writes its own record of buyers. A request without a buyer gets a number from its
--- server.

local buyers = require "zklock.seckill.buyer"
local database = require "zklock.seckill.database"
local dkjson = require "dkjson"
local faults = require "zklock.seckill.fault"
local records = require "zklock.seckill.record"
local sql = require "zklock.seckill.store.sql"
local strategies = require "zklock.seckill.strategies"
local show = require "zklock.value.misuse".show
local zklock = require "zklock"

local ngx = ngx


local RETRY_PAUSE = 0.5 -- seconds between attempts to open store and strategy
local READY = 2 -- seconds that a purchase waits for its worker to be ready
local POLL = 0.02 -- seconds between checks whether the worker is ready
local QUANTITY_PATTERN = "^0*[1-9]%d?%d?%d?%d?%d?$"
local BUYER_PATTERN = "^[1-9]%d?%d?%d?%d?%d?%d?%d?%d?$"


local app = {}

local given -- the server's options as strings, from zklock.seckill.http.run

local strategy_module

-- This worker, with the fields of zklock.seckill.Server that buyers need.
local server = { parameters = {} }
local session
local is_ready = false


-- answers --------------------------------------------------------------------------------------

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


local function maybe_sold(code, message)
    return 504, { error = code, message = message }
end


-- the request ----------------------------------------------------------------------------------

-- Returns nil, message if the request's parameter does not match the pattern.
local function parameter(name, pattern, meaning)
    local value = ngx.req.get_uri_args()[name]
    if value == nil then return nil, name .. " is missing" end
    if type(value) == "table" then return nil, name .. " is given more than once" end
    value = value == true and "" or value
    if value:find(pattern) and #value <= 32 then return value end
    return nil, ("%s must be %s, not %s"):format(name, meaning, show(value))
end


-- A buyer's number that no other server assigns.
local function next_number()
    local count = ngx.shared.mall:incr("requests", 1, 0)
    return (count - 1) * tonumber(given.servers) + server.number
end


local function buyer_number()
    if ngx.req.get_uri_args().buyer == nil then return next_number() end
    local number, message = parameter("buyer", BUYER_PATTERN, "a whole number from 1 to 999999999")
    return tonumber(number), message
end


-- Returns nil, message for a malformed request. Each product has its own lock (REQ-11).
local function read_request()
    local product, quantity, number, message
    product, message = parameter("commodityId", "^%w+$", "up to 32 letters and digits")
    if not product then return nil, message end
    quantity, message = parameter("number", QUANTITY_PATTERN, "a whole number from 1 to 999999")
    if not quantity then return nil, message end
    number, message = buyer_number()
    if not number then return nil, message end
    return { buyer = number, product = product, quantity = tonumber(quantity), lock = product }
end


-- the purchase ---------------------------------------------------------------------------------

local function refuse(buyer, left)
    buyer:tell "refused"
    if left <= 0 then return refusal(409, "sold_out", "sold out") end
    return refusal(409, "not_enough", ("%d wanted, %d left"):format(buyer.quantity, left))
end


local function confirmation(buyer, left)
    return 200, { sold = true, left = left, token = buyer.token, server = server.name }
end


local function late_refusal()
    return refusal(503, "lost", "the lock was lost before the purchase, and another has taken it")
end


-- Between reading and writing, only the lock keeps other buyers out (S0's rule).
local function buy(buyer)
    local left = buyer:stock()
    if not buyer:may_buy(left) then return refuse(buyer, left) end
    buyer:pause()
    left = left - buyer.quantity
    if not buyer:buy(left) then return late_refusal() end
    return confirmation(buyer, left)
end


local function finish_hold(ok, ...)
    ngx.shared.mall:incr("holding", -1)
    if not ok then error((...), 0) end
    return ...
end


function server.call_as_holder(fn, ...)
    ngx.shared.mall:incr("holding", 1, 0)
    return finish_hold(pcall(fn, ...))
end


local function leave(buyer, ok, ...)
    buyer:leave()
    if not ok then error((...), 0) end
    return ...
end


local function buy_in_turn(buyer)
    local hold, message, code = buyer:enter()
    if not hold then return refusal(503, code, message) end
    return leave(buyer, pcall(server.call_as_holder, buy, buyer))
end


-- Outcomes after which the product may have been sold.
local IN_DOUBT = { unknown = true, lost = true }


local function buy_together(buyer)
    local result, message, code = server.strategy:buy(buyer)
    if not result then
        buyer:tell(code)
        if IN_DOUBT[code] then return maybe_sold(code, message) end
        return refusal(503, code, message)
    end
    if not result.sold then return refuse(buyer, result.left) end
    buyer:tell(result.late and "late" or "sold")
    if result.late then return late_refusal() end
    return confirmation(buyer, result.left)
end


-- After a reload a worker gets requests before its session is connected.
local function wait_until_ready()
    local due = ngx.now() + READY
    while not is_ready and ngx.now() < due do ngx.sleep(POLL) end
    return is_ready
end


-- A request for an unknown or sold-out product takes no lock, which would create a node in
-- ZooKeeper for any name that a stranger sends.
local function serve()
    if ngx.req.get_method() ~= "POST" then
        ngx.header.allow = "POST"
        return refusal(405, "method_not_allowed", "a purchase is a POST")
    end
    local wanted, message = read_request()
    if not wanted then return refusal(400, "bad_request", message) end
    if not wait_until_ready() then
        return refusal(503, "starting", "the server is not ready yet")
    end
    local left = server.store:stock(wanted.product)
    if not left then
        return refusal(404, "unknown_commodity", "no such product: " .. wanted.product)
    end
    local buyer = buyers.new(server, wanted)
    ngx.ctx.buyer = buyer
    if left <= 0 then return refuse(buyer, left) end
    if server.strategy.buy then return buy_together(buyer) end
    return buy_in_turn(buyer)
end


-- Answers after an error in serve(). The store has undone the purchase, unless COMMIT was sent.
local function fail(problem)
    ngx.log(ngx.ERR, problem)
    local buyer, in_doubt = ngx.ctx.buyer, database.leaves_in_doubt(problem)
    if buyer then buyer:tell(in_doubt and "unknown" or "error") end
    if in_doubt then
        return maybe_sold("unknown", "COMMIT was not answered: it may have been sold")
    end
    return refusal(500, "store", "the purchase failed: see the server's log")
end


--- content_by_lua of a purchase.
function app.purchase()
    ngx.shared.mall:incr("inside", 1, 0)
    ngx.ctx.inside = true
    local ok, status, content = pcall(serve)
    if not ok then status, content = fail(status) end
    answer(status, content)
end


--- log_by_lua of a purchase. Releases the request's locks, however the purchase ended.
function app.finish()
    if session then session:release_all() end
    if ngx.ctx.inside then ngx.shared.mall:incr("inside", -1) end
end


-- the server -----------------------------------------------------------------------------------

--- content_by_lua of the state. Answers the run's path, the process ids of ready workers, and the
--- numbers of purchases under way and of holders.
function app.state()
    local mall = ngx.shared.mall
    local pids = {}
    for number = 0, ngx.worker.count() - 1 do pids[#pids + 1] = mall:get("worker" .. number) end
    answer(200, {
        root = given.root, pids = pids,
        inside = mall:get "inside" or 0, holding = mall:get "holding" or 0,
    })
end


function server.session()
    session = session or assert(zklock.connect(given.zookeeper, {
        timeout = tonumber(given.session), identity = given.name,
        drain = server.timeout, -- serve waiting requests after a reload, too
    }))
    return session
end


function server.path(_, name) return given.root .. "/" .. name end


-- A timer's function, which opens store and strategy, and starts the timer again after a failure.
local function open(premature)
    if premature then return end
    local ok, problem = pcall(function()
        server.record = server.record or records.create(given.folder, ngx.worker.id() + 1)
        server.store = server.store or sql.open{ url = given.store }
        server.strategy = strategy_module.open(server)
    end)
    if ok then
        is_ready = true
        ngx.shared.mall:set("worker" .. ngx.worker.id(), ngx.worker.pid())
    else
        ngx.log(ngx.ERR, problem)
        ngx.timer.at(RETRY_PAUSE, open)
    end
end


-- Strategies for nginx only. "shared" locks in nginx's shared memory, because a file would be
-- shared by all servers of the machine.
local NGINX_STRATEGIES = {
    combined = "zklock.seckill.http.combined",
    shared = "zklock.seckill.http.shared_memory",
}

local function load_strategy(name)
    if NGINX_STRATEGIES[name] then return require(NGINX_STRATEGIES[name]) end
    return assert(strategies.load(name))
end


---@param options table<string, string>  of the server
function app.configure(options)
    given = options
    strategy_module = load_strategy(options.strategy)
    server.name, server.number = options.name, tonumber(options.number)
    server.timeout = tonumber(options.timeout)
    server.plan = { pause = tonumber(options.pause), fenced = true, faults = {} }
    server.faults = faults.of_server(server)
end


--- init_worker_by_lua. Starts a timer, because a wait is impossible here.
function app.start()
    math.randomseed(ngx.worker.pid() * 1000 + ngx.now() * 1000 % 1000)
    ngx.timer.at(0, open)
end


return app
