--- The workshop's shop: one store that all its servers share, and sales of it in virtual time.

local zklock = require "zklock"

local shop = {}

-- Begins with "./" because errors name no line of a file in zklock's own folder, lua/zklock.
local FOLDER = "./lua/zklock/seckill/lessons/workshop"
local SESSION = 2 -- seconds
local UNDER_WAY = 0.01 -- seconds that a write, or its answer, travels

--- Faults that a seed chooses from: servers are stopped, killed, or cut off from
-- ZooKeeper; packets are slow.
shop.FAULTS = { stop = true, kill = true, cut = true, delay = 0.05 }

--- Faults for a search of all schedules.
shop.ONE_STOP = { stop = { most = 1 }, delay = shop.FAULTS.delay }

--- Two servers sell one bun; their buyers come within three seconds.
shop.ONE_BUN = {
    servers = 2, stock = 1,
    arrives = function(_, world) return 3 * world:random() end,
}

--- Two servers sell three buns, each to two buyers, who come one after the other.
shop.THREE_BUNS = {
    servers = 2, buyers = 2, stock = 3,
    arrives = function(_, world) return world:random() end,
}


--- The options with others added.
function shop.with(options, others)
    return setmetatable(others, { __index = options })
end


--- The path of a student's file, in the folder $WORKSHOP if that is set.
---@param name string as "1_predict"
---@return string path
function shop.file(name)
    return ("%s/%s.lua"):format(os.getenv "WORKSHOP" or FOLDER, name)
end


--- The path of one of the workshop's own purchases.
---@param name string as "plain"
---@return string path
function shop.purchase(name)
    return ("%s/purchases/%s.lua"):format(FOLDER, name)
end


-- --- the store --------------------------------------------------------------------------------

-- The store for one server. The data is in the sale, which all servers share.
local Store = {}
Store.__index = Store


-- Shows the store a token; returns false if it was shown a greater one before.
local function show(sale, token)
    sale.newest = math.max(sale.newest, token or 0)
    return not token or token == sale.newest
end


--- The buns that are left.
---@param token integer? of the reader's lease
---@return integer left
function Store:read(token)
    show(self.sale, token)
    self.world:note(("reads %d"):format(self.sale.left))
    return self.sale.left
end


--- Writes the number of buns that are left, and an order of one bun.
---@param left integer
---@param token integer? of the writer's lease
---@return boolean accepted false if the store was shown a greater token
function Store:write(left, token)
    zklock.sleep(UNDER_WAY)
    local sale = self.sale
    local accepted = show(sale, token)
    self.world:note((accepted and "writes %d" or "writes %d: refused"):format(left))
    if accepted then sale.left, sale.orders = left, sale.orders + 1 end
    zklock.sleep(UNDER_WAY)
    return accepted
end


-- --- the verdict ------------------------------------------------------------------------------

---@class workshop.Sale
---@field stock integer  buns before the sale
---@field left integer  buns that the store has left
---@field orders integer  writes that the store has accepted, each of one bun
---@field told table<string, integer>  how many buyers were told "sold", "sold out", "failed"
---@field untold integer  buyers who were told nothing, because their server was killed
---@field newest integer  the greatest token that the store was shown
local Sale = {}
Sale.__index = Sale


local function new_sale(options)
    return setmetatable({
        stock = options.stock, left = options.stock, orders = 0, newest = 0,
        told = { sold = 0, ["sold out"] = 0, failed = 0 },
        untold = options.servers * (options.buyers or 1),
    }, Sale)
end


function Sale:__tostring()
    return ("%d sold, %d left of %d"):format(self.told.sold, self.left, self.stock)
end


-- Stock, orders and answers add up. An untold buyer has an order or not.
local function is_right(sale)
    local sold, orders = sale.told.sold, sale.orders
    return sale.left == sale.stock - orders and sold <= orders and orders <= sold + sale.untold
end


--- Raises if a sale is wrong.
---@param sale workshop.Sale
function shop.verdict(sale)
    if not is_right(sale) then error("wrong: " .. tostring(sale), 0) end
end


-- --- the servers ------------------------------------------------------------------------------

local function tell(sale, answer)
    if not sale.told[answer] then
        error(("a purchase returns 'sold', 'sold out' or 'failed', not %s"):format(
            tostring(answer)), 0)
    end
    sale.told[answer], sale.untold = sale.told[answer] + 1, sale.untold - 1
end


-- Each server has its own global variables, like a process.
local function load_purchase(path, text)
    local globals = setmetatable({}, { __index = _G })
    return assert(load(text, "@" .. path, "t", globals))()
end


local function serve(world, sale, number, buy, options)
    local session = assert(zklock.connect("memory:shop", { timeout = SESSION }))
    local store = setmetatable({ world = world, sale = sale }, Store)
    if options.arrives then zklock.sleep(options.arrives(number, world)) end
    for _ = 1, options.buyers or 1 do
        local answer = buy(store, session:mutex "/locks/bun")
        world:note("tells its buyer: " .. tostring(answer))
        tell(sale, answer)
    end
    if options.open then zklock.sleep(options.open) end -- keeps its session
end


-- The program of a world.
local function program(path, options)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    return function(world)
        local sale = new_sale(options)
        for number = 1, options.servers do
            local buy = load_purchase(path, text)
            world:process("server " .. number, function()
                serve(world, sale, number, buy, options)
            end)
        end
        if options.fault then options.fault(world) end
        world:finally(function() (options.property or shop.verdict)(sale) end)
    end
end


-- A waiting server may repeat a line; the first is enough.
local function without_repetitions(story)
    local kept, last = {}, {}
    for _, line in ipairs(story) do
        local server, what = line:match "s  (server %d+) +(.*)$"
        if not server or last[server] ~= what then kept[#kept + 1] = line end
        if server then last[server] = what end
    end
    return kept
end


--- Runs a schedule of a sale.
---@param path string of a file that returns a purchase: function(store, lock)
---@param options table servers, buyers (of each), stock, arrives, open (seconds), fault, property,
-- seed
---@return string story
---@return any problem  nil if the sale is right
function shop.play(path, options)
    local world = assert(zklock.world(program(path, options), { seed = options.seed }))
    world:run()
    return table.concat(without_repetitions(world.story), "\n"), world.problem
end


--- Runs many schedules of a sale. The result as text tells how many are wrong, and the story of the
--- first wrong schedule.
---@param path string
---@param options table as above, without seed; and seeds, all and faults of zklock.simulate
---@return zklock.Simulation
function shop.explore(path, options)
    return assert(zklock.simulate(program(path, options),
        { seeds = options.seeds, all = options.all, faults = options.faults }))
end


return shop
