--- A run is one attempt at a scenario, with a store, servers, and the clients' observations.

local client = require "zklock.seckill.http.client"
local core = require "zklock.core"
local database = require "zklock.seckill.database"
local places = require "zklock.seckill.place"
local seed_article = require "zklock.seckill.seed"
local servers = require "zklock.seckill.http.server"
local shell = require "zklock.system.shell"
local sql = require "zklock.seckill.store.sql"


-- A request waits for its lock for TIMEOUT seconds and the pauses of AHEAD earlier requests. Its
-- answer may take PATIENCE seconds longer.
local TIMEOUT = 10
local AHEAD = 20
local PATIENCE = 10


---@class zklock.seckill.http.Observation
---@field server integer   the number of the server
---@field asked number     seconds since the sale began
---@field told number?     time of the answer, if there was one
---@field outcome string?  nil if only the server's record has the outcome

---@class zklock.seckill.http.Run
---@field store zklock.seckill.Sql
---@field place zklock.seckill.Place
---@field options zklock.seckill.Options
---@field servers zklock.seckill.http.Server[]
---@field began_at number  time when all servers were ready, by zklock's clock
---@field observations zklock.seckill.http.Observation[]  by buyer; each request is a new buyer
local Run = {}
Run.__index = Run


local run = {}


-- A new database on the server leaves existing tables untouched.
local function url_of(store, folder, name)
    if not database.is_url(store) then return folder .. "/store.db" end
    return database.on_server_of(store, (name:gsub("%W", "_"):lower()))
end


---@param name string  unique among attempts
---@param options zklock.seckill.Options
---@param reaper zklock.system.Reaper
---@return zklock.seckill.http.Run
function run.open(name, options, reaper)
    local id = reaper.folder:match "%.(%w+)$"
    local folder = reaper.folder .. "/" .. name
    assert(shell.succeeds("mkdir " .. shell.quote(folder)))
    return setmetatable({
        folder = folder, root = ("/zklock-seckill.%s/%s"):format(id, name),
        place = {
            url = url_of(options.store, folder, ("zklock_%s_%s"):format(id, name)),
            folder = folder,
        },
        options = options, reaper = reaper, servers = {}, observations = {},
    }, Run)
end


--- Fills the store, and starts servers on the first ports.
---@param count integer
---@param sale table { strategy, stock, pause, timeout }; all but strategy are optional
function Run:start(count, sale)
    local options = self.options
    local pause = sale.pause or options.pause
    self.timeout = sale.timeout or TIMEOUT + AHEAD * pause
    self.place.products = { [seed_article.PRODUCT] = sale.stock or seed_article.STOCK }
    places.guard(self.place, options.store, self.reaper)
    self.store = sql.create(self.place)
    for i = 1, count do
        local port = options.ports[i]
        local folder = ("%s/nginx-%d"):format(self.folder, i)
        self.servers[i] = servers.start(folder, port, {
            name = port, number = i, servers = count, folder = folder,
            store = self.place.url, root = self.root, strategy = sale.strategy,
            pause = pause, timeout = self.timeout,
            zookeeper = options.zookeeper or "", session = options.session,
        }, self.reaper)
    end
end


--- Like start, and waits until all servers are ready.
function Run:serve(count, sale)
    self:start(count, sale)
    for _, server in ipairs(self.servers) do server:await_ready() end
    self.began_at = core.now()
end


function Run:now() return core.now() - self.began_at end


local PURCHASE = "/mall/commodity/purchase?commodityId=%s&number=%d"

function run.purchase_path()
    return PURCHASE:format(seed_article.PRODUCT, 1)
end


-- The number of the i-th request's server. The seed article uses port "808" + (i mod 2).
local function number_of(self, i) return i % #self.servers + 1 end


function Run:server_of(i) return self.servers[number_of(self, i)] end


local OUTCOMES = {
    [200] = "sold", [409] = "refused", [504] = "unanswered", lost = "unanswered",
    refused = "unreachable",
}


--- Sends the i-th purchase, in a coroutine of `client.run`.
function Run:buy(i)
    local observation = { server = number_of(self, i), asked = self:now() }
    self.observations[#self.observations + 1] = observation
    local status, body = client.request(self:server_of(i).port, "POST",
        ("%s&buyer=%d"):format(run.purchase_path(), #self.observations), self.timeout + PATIENCE)
    if status then observation.told = self:now() end
    observation.outcome = OUTCOMES[status or body]
    return status, body
end


function Run:wait_until_quiet()
    for _, server in ipairs(self.servers) do
        if server.process then server:await_quiet() end
    end
end


function Run:close()
    for _, server in ipairs(self.servers) do server:kill() end
    if not self.store then return end
    self.store:close()
    places.remove(self.place, self.options.store)
end


return run
