--- The plan of a sale is the checked options of `seckill.sale`, with defaults filled in.

local arrivals = require "zklock.seckill.arrivals"
local check = require "zklock.value.check"
local database = require "zklock.seckill.database"
local dependency = require "zklock.system.dependency"
local expectation = require "zklock.seckill.expectation"
local fault_options = require "zklock.seckill.fault_options"
local hosts = require "zklock.value.hosts"
local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"
local options_of_worlds = require "zklock.world.options"
local purchases = require "zklock.seckill.purchases"
local seed_article = require "zklock.seckill.seed"
local shell = require "zklock.system.shell"
local sorted_names = require "zklock.value.sorted_names"
local stores = require "zklock.seckill.stores"
local strategies = require "zklock.seckill.strategies"

local refuse, show = misuse.refuse, misuse.show
local flag, seconds, text, whole = option.flag, option.seconds, option.text, option.whole


local MOST_BUYERS = 1000000
local MOST_SERVERS, MOST_SIMULATED_SERVERS = 100, 1000
local MOST_ORDERS, MOST_PRICE = 1000, 1000000
local LEAST_SESSION, LEAST_LIMIT = 0.1, 0.01 -- seconds


local plan = {}


-- single options --------------------------------------------------------------------------------

local function read_interpreter(options)
    local given = text(options, "lua")
    local message = given and shell.lacks(given)
    if message then refuse("lua = %s: %s", show(given), message) end
    return given
end


-- The sale's servers are processes, and a ZooKeeper in memory is visible to one process only.
local function read_zookeeper(options, servers)
    local given = text(options, "zookeeper")
    if given and hosts.split(given).in_memory and servers > 1 then
        refuse("zookeeper = %s is a server in memory, which each of %d servers would have for " ..
            "itself: name a real one, or servers = 1", show(given), servers)
    end
    return given
end


local function read_mysql(options)
    local given = text(options, "mysql")
    if given and not database.parts(given) then
        refuse("mysql must be a URL, mysql://USER:PASSWORD@HOST:PORT, not %s", show(given))
    end
    return given
end


local function read_products(options)
    local given = options.products
    if given == nil then return { [seed_article.PRODUCT] = seed_article.STOCK } end
    local what = "products must be a table of stocks by name, as in { [\"10000001\"] = 100 }"
    if type(given) ~= "table" or next(given) == nil then
        refuse("%s, not %s", what, show(given))
    end
    for name, stock in pairs(given) do
        if type(name) ~= "string" or #name > 64 or not name:find "^[%w%-_%.]+$" then
            refuse("%s; a name has up to 64 letters, digits, '-', '_' and '.', not %s", what,
                show(name))
        end
        if not option.is_whole(stock, 0, 2 ^ 31 - 1) then
            refuse("%s; a stock is a whole number from 0 to 2147483647, not %s", what, show(stock))
        end
    end
    return given
end


-- Returns the price of a piece by product. With prices, orders record the amount paid.
local function read_prices(options, stocks)
    local price = options.prices
    if price == nil then return nil end
    local what = "prices must be a table of whole numbers, one for each product, as in { bun = 3 }"
    if type(price) ~= "table" then refuse("%s, not %s", what, show(price)) end
    for name in pairs(price) do
        if not stocks[name] then refuse("%s; %s is no product", what, show(name)) end
    end
    for _, name in ipairs(sorted_names(stocks)) do
        if not option.is_whole(price[name], 0, MOST_PRICE) then
            refuse("%s; the price of %s is %s", what, name, show(price[name]))
        end
    end
    return price
end


-- The store "zookeeper" names an order's node after its buyer.
local function read_orders(options)
    local most = whole(options, "orders", 1, MOST_ORDERS, 1)
    if most > 1 and options.store == "zookeeper" then
        refuse("orders = %d: the store \"zookeeper\" keeps one order of each buyer", most)
    end
    return most
end


-- Returns a function that gives buyer i's product. By default products rotate so that every server
-- sells all of them.
local function product_chooser(options, stocks, servers)
    local product = options.product
    local names = sorted_names(stocks)
    if product == nil then
        return function(i) return names[math.floor((i - 1) / servers) % #names + 1] end
    end
    if type(product) == "string" then
        if not stocks[product] then
            refuse("product must be one of products, not %s", show(product))
        end
        return function() return product end
    end
    if type(product) ~= "function" then
        refuse("product must be a name or a function of a buyer's number, not %s", show(product))
    end
    return function(i)
        local name = product(i)
        if type(name) ~= "string" or not stocks[name] then
            refuse("product(%d) must be one of products (%s), not %s", i,
                misuse.brief(table.concat(names, ", ")), show(name))
        end
        return name
    end
end


local LOCK_OF_ALL = "all" -- its name


-- A lock for each product (REQ-11), or one for all (PIT-12).
local function read_lock(options)
    local kind = text(options, "lock", "product")
    if kind ~= "product" and kind ~= "one" then
        refuse("lock must be \"product\" (one each) or \"one\" (one for all), not %s",
            show(options.lock))
    end
    return kind
end


---@class zklock.seckill.Assignment
---@field buyer integer
---@field product string
---@field lock string       name of the lock
---@field quantity integer  pieces to buy
---@field server integer    the number of the server

local function assign_buyers(options, the_plan)
    local choose_product = product_chooser(options, the_plan.products, the_plan.servers)
    local one_lock = the_plan.lock == "one" and LOCK_OF_ALL
    local assignments = {}
    for buyer = 1, the_plan.buyers do
        local product = choose_product(buyer)
        assignments[buyer] = {
            buyer = buyer, product = product, lock = one_lock or product,
            quantity = the_plan.quantity, server = (buyer - 1) % the_plan.servers + 1,
        }
    end
    return assignments, one_lock and { one_lock } or sorted_names(the_plan.products)
end


-- simulated sales ------------------------------------------------------------------------------

local ONLY_REAL = { "lua", "mysql", "redis", "zookeeper" }


-- Returns the kinds of random faults (as in zklock.simulate) and the list of planned faults. The
-- option `faults` of a simulated sale gives either.
local function read_faults(given)
    local is_list = type(given) == "table" and (next(given) == nil or given[1] ~= nil)
    if is_list or given == nil then return options_of_worlds.faults(), given end
    return options_of_worlds.faults(given)
end


-- Returns the options in the form of a real sale's, and the kinds of random faults.
local function as_simulated(options)
    for _, name in ipairs(ONLY_REAL) do
        if options[name] ~= nil then
            refuse("%s is of real sales: a simulated one has no server outside of its world", name)
        end
    end
    local random_faults, list = read_faults(options.faults)
    local changed = { store = "memory", limit = option.MOST_SECONDS }
    for name, value in pairs(options) do changed[name] = value end
    changed.faults = list
    return changed, random_faults
end


local function check_simulation(the_plan, strategy)
    if not the_plan.simulated then
        if the_plan.store == "memory" then refuse "the store \"memory\" is of simulated sales" end
        return
    end
    for _, each in ipairs(the_plan.faults) do
        if each.run and not each.cut then
            refuse "a simulated sale has no faults but stops, kills and cuts of servers"
        end
    end
    if not strategy.simulated then
        refuse("the strategy %s has its locks outside of the world of a simulated sale; none, "
            .. "local, zookeeper, zookeeper-turns, zookeeper-none, zookeeper-rw and a module of "
            .. "yours with simulated = true have not", the_plan.strategy)
    end
    if not stores.can_be_simulated(the_plan.store) then
        refuse("the store %s is outside of the world of a simulated sale: \"memory\" is in it, "
            .. "and a module of yours", the_plan.store)
    end
end


-- the whole plan --------------------------------------------------------------------------------

local KNOWN = {
    "arrivals", "buyers", "expect", "faults", "fenced", "hold", "limit", "lock", "lua", "mysql",
    "name", "orders", "parameters", "pause", "prices", "product", "products", "purchase",
    "quantity", "quiet", "redis", "seed", "servers", "session", "simulated", "store", "strategy",
    "timeout", "zookeeper",
}

local function check_names(options)
    local known = {}
    for _, name in ipairs(KNOWN) do known[name] = true end
    check.known(options, known, "the options of a sale")
end


-- Seconds that are enough to serve all buyers one by one. A longer sale hangs.
local function default_limit(the_plan)
    local time = 30 + the_plan.timeout + the_plan.session
        + (the_plan.arrival_times[the_plan.buyers] or 0)
        + 2 * the_plan.buyers * the_plan.orders * (the_plan.pause + the_plan.hold + 0.02)
    for _, fault in ipairs(the_plan.faults) do time = time + fault.at + (fault.length or 0) end
    return time
end


-- The longest time for which ZooKeeper keeps the locks of a dead server. A session lasts at least
-- two ticks, and ends up to a tick late. Throwaway servers have ticks of 0.5 s, others mostly 2 s.
-- In a world a session ends up to half of its timeout late.
local function lock_remains(the_plan)
    if the_plan.simulated then return 1.5 * the_plan.session end
    local tick = the_plan.zookeeper and 2 or 0.5
    return math.max(the_plan.session, 2 * tick) + tick
end


local function own_zookeeper_options(the_plan)
    local wanted
    for _, fault in ipairs(the_plan.faults) do
        if fault.zookeeper_kind or fault.cut then
            wanted = wanted or { relays = false }
            wanted.relays = wanted.relays or fault.zookeeper_kind == "cut"
        end
    end
    if wanted and the_plan.zookeeper then
        refuse("faults strike a ZooKeeper that the sale starts: leave zookeeper = %s out",
            show(the_plan.zookeeper))
    end
    if wanted and not the_plan.needs_zookeeper then
        refuse "a fault strikes ZooKeeper, and neither the strategy nor the store is in it"
    end
    return wanted
end


-- The first number or key in a table that JSON lacks, in words; nil if there is none.
local function lost_in_json(given, name)
    local count, has_names = 0, false
    for key in pairs(given) do
        count, has_names = count + 1, has_names or type(key) == "string"
    end
    for key, value in pairs(given) do
        local part = ("%s[%s]"):format(name, show(key))
        if type(key) == "number" and (has_names or not option.is_whole(key, 1, count)) then
            return ("%s has the key %s, and keys must be strings, or the numbers from 1 on"):format(
                name, show(key))
        end
        if type(value) == "number" and value - value ~= 0 then -- infinite, or no number
            return ("%s is %s"):format(part, show(value))
        end
        local lost = type(value) == "table" and lost_in_json(value, part)
        if lost then return lost end
    end
end


-- Servers read the parameters as JSON.
local function read_parameters(options)
    local given = options.parameters
    if given ~= nil and type(given) ~= "table" then
        refuse("parameters must be a table, not %s", show(given))
    end
    if given == nil then return nil end
    local ok, problem = pcall(dependency.load("dkjson").encode, given)
    problem = ok and lost_in_json(given, "parameters") or not ok and problem
    if problem then
        refuse("parameters must have finite numbers, strings, booleans and tables only: %s",
            (problem:gsub("^.-:%d+: ", "")))
    end
    return given
end


local function load_module(load, name)
    local module, message = load(name)
    if not module then refuse("%s", message) end
    return module
end


-- The value of a strategy's field, which may depend on the parameters.
local function value_of(field, parameters)
    if type(field) == "function" then return field(parameters or {}) end
    return field
end


---@class zklock.seckill.Plan
---@field name string          name in reports
---@field products table<string, integer>
---@field buyers integer
---@field arrivals number|number[]|nil  buyers a second; nil if all come at once
---@field quantity integer     pieces that each buyer wants
---@field servers integer
---@field strategy string
---@field store string
---@field purchase string
---@field zookeeper string?    addresses; a throwaway server if nil
---@field mysql string?        a URL; a throwaway server if nil
---@field redis string?        addresses; throwaway servers if nil
---@field needs table          needed by the strategy: redis (how many), database, mysql, switch
---@field lock "product" | "one"  a lock for each product, or one lock
---@field pause number         seconds between reading and writing
---@field hold number          seconds to hold the lock after the write
---@field timeout number       seconds that a buyer waits for the lock
---@field session number       session timeout asked for
---@field lock_queue boolean?  the lock's server grants it to waiters, even to a stopped one
---@field lock_remains number? longest time for which ZooKeeper keeps the locks of a dead server
---@field seed integer         of random numbers
---@field expect table?        expected counts of buyers by outcome, and limits of times
---@field orders integer       most orders of a buyer
---@field prices table<string, integer>?  of a piece, by product
---@field fenced boolean       the store gets tokens, by which it refuses late writes
---@field faults table[]
---@field own_zookeeper { relays: boolean }?  options of the ZooKeeper that its faults strike
---@field parameters table?    for modules of the user
---@field limit number         longest duration in seconds
---@field lua string?          interpreter of the servers
---@field quiet boolean        hides progress
---@field simulated boolean
---@field random_faults table? kinds of faults and the delay of messages in a simulated sale
---@field assignments zklock.seckill.Assignment[]  by buyer
---@field arrival_times number[]  by buyer, in seconds since the sale began; empty: all at once
---@field locks string[]       their names

--- Raises an error if an option is wrong.
function plan.read(options)
    if type(options) ~= "table" then
        refuse("a sale has a table of options, not %s: %s", show(options),
            table.concat(KNOWN, ", "))
    end
    check_names(options)
    local simulated, random_faults = flag(options, "simulated", false), nil
    if simulated then options, random_faults = as_simulated(options) end
    local strategy = load_module(strategies.load, text(options, "strategy", "zookeeper"))
    local servers = whole(options, "servers", 1,
        simulated and MOST_SIMULATED_SERVERS or MOST_SERVERS, 2)
    local the_plan = {
        products = read_products(options),
        buyers = whole(options, "buyers", 1, MOST_BUYERS, seed_article.BUYERS),
        arrivals = options.arrivals,
        quantity = whole(options, "quantity", 1, 1000000, 1),
        servers = servers,
        strategy = text(options, "strategy", "zookeeper"),
        store = text(options, "store", "sqlite"),
        purchase = text(options, "purchase", strategy.purchase or "plain"),
        zookeeper = read_zookeeper(options, servers),
        mysql = read_mysql(options),
        redis = text(options, "redis"),
        lock = read_lock(options),
        pause = seconds(options, "pause", 0.02),
        hold = seconds(options, "hold", 0),
        timeout = seconds(options, "timeout", 10),
        session = seconds(options, "session", 2, LEAST_SESSION),
        seed = whole(options, "seed", simulated and 1 or 0, 2 ^ 31 - 1, 1),
        simulated = simulated, random_faults = random_faults,
        expect = options.expect, orders = read_orders(options),
        fenced = flag(options, "fenced", true),
        quiet = flag(options, "quiet", false),
        lua = read_interpreter(options),
        parameters = read_parameters(options),
    }
    the_plan.prices = read_prices(options, the_plan.products)
    the_plan.needs = value_of(strategy.needs, the_plan.parameters) or {}
    the_plan.name = text(options, "name", the_plan.strategy)
    the_plan.faults = fault_options.read(options.faults, the_plan.servers, strategy)
    check_simulation(the_plan, strategy)
    the_plan.assignments, the_plan.locks = assign_buyers(options, the_plan)
    the_plan.arrival_times = arrivals.read(the_plan.arrivals, the_plan.buyers, the_plan.seed)
    the_plan.limit = seconds(options, "limit", default_limit(the_plan), LEAST_LIMIT)
    load_module(stores.load, the_plan.store)
    load_module(purchases.load, the_plan.purchase)
    expectation.check(options.expect, the_plan, purchases.is_built_in(the_plan.purchase))
    if strategy.check then strategy.check(the_plan) end
    the_plan.needs_zookeeper = strategy.needs_zookeeper or the_plan.store == "zookeeper"
    the_plan.lock_queue = value_of(strategy.queue, the_plan.parameters)
    the_plan.lock_remains = strategy.needs_zookeeper and lock_remains(the_plan) or nil
    the_plan.own_zookeeper = not simulated and own_zookeeper_options(the_plan) or nil
    return the_plan
end


--- The plan with another seed, by which other arrivals are drawn.
---@param the_plan zklock.seckill.Plan
---@param seed integer
---@return zklock.seckill.Plan
function plan.with_seed(the_plan, seed)
    return setmetatable({
        seed = seed, arrival_times = arrivals.read(the_plan.arrivals, the_plan.buyers, seed),
    }, { __index = the_plan })
end


return plan
