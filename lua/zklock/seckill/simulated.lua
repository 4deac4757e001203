--- A sale in a world of virtual time. The world's processes run the code of real servers with a
--- store in memory, and a seed chooses the schedule and the faults.

local checked_store = require "zklock.seckill.checked_store"
local fault = require "zklock.seckill.fault"
local messages = require "zklock.seckill.messages"
local plans = require "zklock.seckill.plan"
local record = require "zklock.seckill.record"
local sales = require "zklock.seckill.sale"
local search = require "zklock.world.search"
local servers = require "zklock.seckill.server"
local stores = require "zklock.seckill.stores"
local strategies = require "zklock.seckill.strategies"
local worlds = require "zklock.world"
local zklock = require "zklock"


local HOSTS, ROOT = "memory:sale", "/sale" -- of each world
local BASE_STEPS, STEPS_PER_BUYER = 1e6, 1e4 -- for the limit of a schedule's steps


---@class zklock.seckill.SimulatedPlay
---@field plan zklock.seckill.Plan
---@field world zklock.World
---@field place table
---@field barriers zklock.seckill.Barriers
---@field purchases zklock.seckill.Purchase[]
---@field notes zklock.seckill.Note[]
---@field armed table[]   planned faults that wait for a holder
---@field early table<string, table[]>  planned faults of servers that have not opened, by server
---@field struck zklock.seckill.Fault[]  planned faults that happened
local Play = {}
Play.__index = Play


local simulated = {}


-- faults of the plan ----------------------------------------------------------------------------

local Faults = setmetatable({}, { __index = fault.Faults })
Faults.__index = Faults


-- Does not return if a server kills itself.
local function strike(play, planned, whom)
    local world, struck = play.world, play.struck
    local kind = planned.kill and "kill" or planned.cut and "cut" or "stop"
    local index = #struck + 1
    struck[index] = { at = world:now(), target = whom, kind = kind, length = planned.length }
    local is_longer = kind == "stop" and world.by_name[whom].stopped
    local inflict = is_longer and world.stop_longer or world[kind]
    if not inflict(world, whom, planned.length) then struck[index] = nil end
end


local function sleep_until_healed(world, whom)
    local process = world.by_name[whom]
    while process.cut_until > world:now() do zklock.sleep(process.cut_until - world:now()) end
end


--- Lets a due fault strike the buyer, if the buyer holds a lock, as in a real server.
---@return "wakes" | "goes on" | nil reaction  of the buyer to a fault
function Faults:strike(buyer)
    local planned = buyer.hold and table.remove(self.play.armed, 1)
    if not planned then return end
    strike(self.play, planned, self.server.name)
    if not planned.cut then return "wakes" end
    sleep_until_healed(self.play.world, self.server.name)
    return "goes on"
end


local function schedule_faults(play)
    for _, planned in ipairs(play.plan.faults) do
        local whom = planned.stop or planned.kill or planned.cut
        local function strike_or_arm()
            local waiting = whom == "holder" and play.armed or play.early[whom]
            if waiting then waiting[#waiting + 1] = planned else strike(play, planned, whom) end
        end
        if planned.at == 0 and whom == "holder" then
            strike_or_arm()
        elseif planned.at < play.plan.limit then -- the world would wait for a later one
            play.world:at(planned.at, strike_or_arm)
        end
    end
end


-- barriers --------------------------------------------------------------------------------------

local Barriers = {}
Barriers.__index = Barriers


local function new_barriers(world)
    return setmetatable({ world = world, counts = {}, waiters = {} }, Barriers)
end


function Barriers:come(name)
    local count, others = (self.counts[name] or 0) + 1, {}
    self.counts[name] = count
    for _, each in ipairs(self.waiters) do
        if each.name == name and each.count <= count then self.world:wake(each.pause)
        else others[#others + 1] = each end
    end
    self.waiters = others
end


-- The world reports a deadlock if too few arrive.
function Barriers:wait(name, count)
    if (self.counts[name] or 0) < count then
        local pause = self.world:new_pause()
        self.waiters[#self.waiters + 1] = { name = name, count = count, pause = pause }
        pause:wait_and_close()
    end
    return true
end


-- the store -------------------------------------------------------------------------------------

-- Returns a store whose writes begin after a random delay, so that a fault can strike the server
-- before the write.
local function with_delayed_writes(play, store)
    local longest = play.plan.random_faults.delay
    local function sleep_randomly() zklock.sleep(play.world:random() * longest) end
    local delayed = {}
    for _, name in ipairs{ "sell", "sell_all", "commit" } do
        delayed[name] = store[name] and function(_, ...)
            sleep_randomly()
            return store[name](store, ...)
        end
    end
    return setmetatable(delayed, { __index = store })
end


-- a server --------------------------------------------------------------------------------------

-- A fault comes after the sale has begun, and not while a server connects.
local function strike_early(play, name)
    local early = play.early[name]
    play.early[name] = nil
    for _, planned in ipairs(early) do strike(play, planned, name) end
end


local function run_server(play, number)
    local server_plan = { zookeeper = HOSTS, root = ROOT, place = play.place }
    local server = servers.new(setmetatable(server_plan, { __index = play.plan }), number,
        record.in_memory(play.purchases, play.notes, number, 0), play.barriers)
    local open = server.open_store
    server.open_store = function(...) return with_delayed_writes(play, open(...)) end
    server.faults = setmetatable({ play = play, server = server }, Faults)
    server:open()
    strike_early(play, server.name)
    play.world.faults:begin(play.world.by_name[server.name]) -- also without a session
    server:serve()
    server:close()
end


-- the outcome -----------------------------------------------------------------------------------

-- The faults that happened, each with its length. Returns also the times of kills, by server.
local function faults_that_came(play)
    local list, killed = {}, {}
    for i, each in ipairs(play.struck) do
        list[i] = { at = each.at, target = each.target, kind = each.kind, length = each.length }
    end
    for _, each in ipairs(play.world.happened) do
        list[#list + 1] = {
            at = each.at, target = each.process, kind = each.kind, length = each.lasts,
        }
    end
    table.sort(list, function(a, b) return a.at < b.at end)
    for _, each in ipairs(list) do
        if each.kind == "kill" then killed[each.target] = each.at end
    end
    return list, killed
end


-- Replaces lengths by ends. Stops, or cuts, of a server that overlap end together, with the last. A
-- server that is killed in a stop does not go on.
local function set_ends(faults, killed)
    local latest, ends_of = {}, {}
    for _, each in ipairs(faults) do
        local key, due = each.kind .. each.target, each.at + (each.length or 0)
        local ends = latest[key]
        if not ends or ends.due < each.at then ends = { due = due } end
        ends.due = math.max(ends.due, due)
        latest[key], ends_of[each] = ends, ends
    end
    for _, each in ipairs(faults) do
        local due = ends_of[each].due
        local goes_on = each.kind ~= "stop" or due < (killed[each.target] or math.huge)
        each.ended, each.length = each.length and goes_on and due or nil, nil
    end
end


local function last_event_time(play)
    local last = 0
    for _, purchase in ipairs(play.purchases) do
        for _, at in ipairs{ purchase.asked or 0, purchase.granted or 0, purchase.written or 0,
                             purchase.released or 0, purchase.told or 0 } do
            last = math.max(last, at)
        end
    end
    return last
end


local function read_store(play)
    play.left, play.orders = checked_store.read(play.plan, play.store)
end


local function outcome_of(play)
    local faults, killed = faults_that_came(play)
    local last = last_event_time(play)
    set_ends(faults, killed)
    record.end_holds(play.purchases, function(number)
        return killed["server " .. number] or last
    end)
    return {
        purchases = play.purchases, notes = play.notes, faults = faults, seconds = last,
        left = play.left, orders = play.orders, by_chance = play.world.happened[1] ~= nil,
        messages = messages.of(play.world.messages or {}, ROOT .. "/lock/"),
    }
end


-- the sale --------------------------------------------------------------------------------------

local function begin_play(plan, world)
    math.randomseed(world.seed)
    plan = plans.with_seed(plan, world.seed)
    local play = setmetatable({
        plan = plan, world = world, barriers = new_barriers(world), armed = {}, struck = {},
        early = {},
        purchases = record.purchases(plan), notes = {},
        place = {
            products = plan.products, buyers = plan.buyers, parameters = plan.parameters,
            zookeeper = HOSTS, root = ROOT .. "/store",
        },
    }, Play)
    play.store = checked_store.opened(plan.store, stores.load(plan.store).create(play.place))
    local strategy = strategies.load(plan.strategy)
    if strategy.prepare then strategy.prepare{ locks = plan.locks, root = ROOT } end
    for number = 1, plan.servers do
        play.early["server " .. number] = {}
        world:process("server " .. number, function() run_server(play, number) end)
    end
    schedule_faults(play)
    world:finally(function()
        read_store(play)
        local verdict, finding = sales.judge(plan, outcome_of(play))
        if verdict ~= "right" then error(finding, 0) end
    end)
    return play
end


--- Returns the sale as a program for worlds, which fails in worlds where the sale is not right.
---@param plan zklock.seckill.Plan
---@return fun(world: zklock.World) program
---@return fun(world: zklock.World): zklock.seckill.Sale sale_of  the sale in that world
---@return fun(world: zklock.World): integer sold_in  number of buyers told "sold"
function simulated.program(plan)
    local plays = setmetatable({}, { __mode = "k" })
    local function sale_of(world)
        local play = plays[world]
        if not play then error(world.problem, 0) end -- the store could not be created
        if not play.orders then read_store(play) end
        local sale = sales.of(play.plan, outcome_of(play))
        sale.seed, sale.story = world.seed, world.story and table.concat(world.story, "\n")
        if world.problem ~= nil and world.problem ~= sale.finding then -- not the verdict on it
            sale.verdict, sale.finding = "wrong", tostring(world.problem)
        end
        return sale
    end
    local function sold_in(world)
        local play, sold = plays[world], 0
        for _, purchase in ipairs(play and play.purchases or {}) do
            if purchase.outcome == "sold" then sold = sold + 1 end
        end
        return sold
    end
    return function(world) plays[world] = begin_play(plan, world) end, sale_of, sold_in
end


function simulated.world_options(plan)
    return {
        faults = plan.random_faults,
        limit = { steps = BASE_STEPS + STEPS_PER_BUYER * plan.buyers, seconds = plan.limit },
    }
end


function simulated.carry_out(plan)
    local message, code = worlds.problem_here()
    if message then return nil, message, code end
    local program, sale_of = simulated.program(plan)
    return sale_of(search.play(program, simulated.world_options(plan), plan.seed, { story = true }))
end


return simulated
