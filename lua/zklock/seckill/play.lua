--- The play of a sale in the parent process. It fills the store, lets all servers begin at once,
--- strikes them with faults, waits for their end, and reads their records.

local barrier = require "zklock.seckill.barrier"
local checked_store = require "zklock.seckill.checked_store"
local core = require "zklock.core"
local fault = require "zklock.seckill.fault"
local interpreter = require "zklock.system.interpreter"
local json_file = require "zklock.seckill.json_file"
local hang_detector = require "zklock.seckill.hang_detector"
local place = require "zklock.seckill.place"
local process = require "zklock.system.process"
local record = require "zklock.seckill.record"
local relay = require "zklock.throwaway.relay"
local shell = require "zklock.system.shell"
local stores = require "zklock.seckill.stores"
local strategies = require "zklock.seckill.strategies"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max


local POLL = 0.005  -- seconds between looks at barriers and faults
local CHECK = 0.2   -- seconds between checks of servers
local READY = 30    -- seconds within which servers must have started

local SERVER_SCRIPT = debug.getinfo(1, "S").source:match "^@(.*)play%.lua$" .. "server_process.lua"

-- Nobody reads what modules of the user write to stdout, so a server has a descriptor for reports.
local REPORTS_AT_3 = 'exec "$0" "$@" 3>&1 >/dev/null'

-- A buyer whose last event is one of these is in a call to its strategy.
local IN_STRATEGY = { asked = true, patience = true, released = true, retries = true }

local ENDLESS_FAULT = setmetatable({}, {
    __tostring = function() return "a fault does not end" end,
})

local play_count = 0 -- of this process


---@class zklock.seckill.Play
---@field plan zklock.seckill.Plan
---@field folder string
---@field servers table[]   { process =, pulse =, ended =, killed_at = }
---@field began_at number   time when the servers began, by zklock's clock
---@field struck zklock.seckill.Fault[]  faults that happened
---@field under_way table<integer, true | zklock.seckill.Fault>  by a fault's number in the plan;
---true before it strikes
---@field effects table<string, table>  of lasting faults under way, { count =, ended =, over = }
---@field hang_notes zklock.seckill.Note[]  about servers that hung
---@field own_zookeeper zklock.throwaway.ZooKeeper?  the sale's, for faults to strike
---@field relays table<integer, zklock.throwaway.Relay>  by server
---@field over boolean      true when all servers have ended
local Play = {}
Play.__index = Play


local play = {}


function Play:now() return core.now() - self.began_at end


---@param name string  of a barrier of buyers
---@return integer
function Play:arrived(name) return barrier.of_folder(self.folder):count(name) end


local function write_plan(self)
    local plan = {}
    for name, value in pairs(self.plan) do plan[name] = value end
    plan.folder, plan.root, plan.place = self.folder, self.root, self.place
    plan.zookeeper, plan.redis, plan.relay_addresses = self.zookeeper, self.redis, {}
    for number, each in pairs(self.relays) do
        plan.relay_addresses["server " .. number] = each.address
    end
    plan.faults = fault.for_servers(plan.faults)
    json_file.write(self.folder .. "/plan.json", plan)
end


local function start_server(self, number)
    local words = interpreter.words(self.plan.lua, SERVER_SCRIPT, self.folder .. "/plan.json",
        tostring(number))
    return {
        process = process.start("server " .. number, { "sh", "-c", REPORTS_AT_3, unpack(words) },
            math.ceil(self.plan.limit + READY), self.throwaway.reaper, true),
        pulse = hang_detector.pulse(self.plan, self.folder, number),
    }
end


-- Notes the end of a server. Raises the server's error, unless a fault killed the server.
local function check_server(server, complaint)
    if server.ended or server.process:lives() then return end
    server.ended = true
    if server.killed_at then return server.process:kill() end
    if server.process:finish() ~= "done" then
        error(server.process.name .. " " .. complaint, 0)
    end
end


local function check_servers(self)
    for _, server in ipairs(self.servers) do
        check_server(server, "ended before the sale began")
    end
end


local function first_late_server(self)
    for number = 1, #self.servers do
        local path = self.folder .. "/ready-" .. number
        if barrier.count_arrivals(path) == 0 then return "server " .. number end
    end
    return "the last server"
end


local function wait_for_servers(self)
    local path, due = self.folder .. "/start", core.now() + READY
    local next_check = core.now() + CHECK
    while barrier.count_arrivals(path) < #self.servers do
        if core.now() > due then
            error(("%s did not start within %d s: the strategy %s or the store %s hangs when it is "
                .. "opened"):format(first_late_server(self), READY, self.plan.strategy,
                self.plan.store), 0)
        end
        if core.now() > next_check then
            check_servers(self)
            next_check = core.now() + CHECK
        end
        zklock.sleep(POLL)
    end
end


-- Kills a server that does nothing for too long, and notes its last event.
local function check_pulse(self, number, server)
    local seconds = not server.ended
        and server.pulse:quiet_too_long(fault.is_stopped(self, number))
    if not seconds then return end
    server.ended = true
    server.process:kill()
    local buyer, word = record.last_event(self.folder, number)
    local where = IN_STRATEGY[word] and "the strategy " .. self.plan.strategy
        or "the purchase, or the store " .. self.plan.store
    self.hang_notes[#self.hang_notes + 1] = {
        at = self:now(), server = number, buyer = buyer or 0,
        line = ("error: server %d has done nothing for %.0f s: %s loops, or blocks"):format(number,
            seconds, where),
    }
end


local function check_all_ended(self)
    local all_ended = true
    for number, server in ipairs(self.servers) do
        check_pulse(self, number, server)
        check_server(server, "was ended by something else: the sale proves nothing")
        all_ended = all_ended and server.ended
    end
    return all_ended
end


local function wait_for_the_end(self, due, progress)
    while not check_all_ended(self) do
        if core.now() > due then
            for _, server in ipairs(self.servers) do
                if not server.ended then
                    server.ended = true
                    server.process:kill()
                end
            end
            self.late = true
            break
        end
        progress(self)
        zklock.sleep(CHECK / 4)
    end
    self.over = true
end


-- Faults under way may last until the sale's limit.
local function wait_for_faults(self, due)
    while next(self.under_way) do
        if core.now() > due then error(ENDLESS_FAULT, 0) end
        zklock.sleep(POLL)
    end
end


-- Waits until the servers have served all buyers, with a task for each fault.
local function run(self, progress)
    local due = core.now() + self.plan.limit
    local tasks = { function()
        wait_for_the_end(self, due, progress)
        wait_for_faults(self, due)
    end }
    for n in ipairs(self.plan.faults) do
        self.under_way[n] = true
        tasks[#tasks + 1] = function()
            fault.carry_out(self, n)
            self.under_way[n] = nil
        end
    end
    local ok, problem = pcall(zklock.run, unpack(tasks))
    if not ok and problem ~= ENDLESS_FAULT then error(problem, 0) end
    for _, struck in pairs(self.under_way) do
        self.endless = struck ~= true and struck or self.endless
    end
end


local function read_records(self)
    local purchases, notes = record.purchases(self.plan), {}
    local last = 0
    for number in ipairs(self.servers) do
        last = math.max(last,
            record.read(self.folder, number, self.began_at, purchases, notes) or 0)
    end
    record.end_holds(purchases, function(number)
        return self.servers[number].killed_at or last
    end)
    for _, note in ipairs(self.hang_notes) do
        notes[#notes + 1] = note
        local purchase = purchases[note.buyer]
        if purchase and purchase.outcome == "unanswered" then purchase.outcome = "hung" end
    end
    table.sort(notes, function(a, b) return a.at < b.at end)
    return purchases, notes, last
end


local function prepare(self)
    assert(shell.succeeds("mkdir " .. shell.quote(self.folder)))
    place.guard(self.place, self.plan.store, self.throwaway.reaper)
    local store = stores.load(self.plan.store).create(self.place)
    self.store = checked_store.opened(self.plan.store, store)
    place.create_database(self.place)
    local strategy = strategies.load(self.plan.strategy)
    if strategy.prepare then
        strategy.prepare{ folder = self.folder, locks = self.plan.locks, root = self.root }
    end
    write_plan(self)
end


---@class zklock.seckill.Outcome
---@field purchases zklock.seckill.Purchase[]
---@field notes zklock.seckill.Note[]
---@field faults zklock.seckill.Fault[]
---@field seconds number
---@field left table<string, integer>
---@field orders table[]
---@field late boolean?   the sale was ended at its limit
---@field endless zklock.seckill.Fault?  the fault that did not end in time
---@field by_chance boolean?  in a simulated sale, faults that its seed chose came

-- The store's session may have ended when a fault struck ZooKeeper.
local function open_store_again(self)
    self.own_zookeeper:mend()
    self.store:close()
    self.store = stores.load(self.plan.store).open(self.place)
end


local function outcome_of(self)
    local purchases, notes, last = read_records(self)
    if self.own_zookeeper and self.plan.store == "zookeeper" then open_store_again(self) end
    local left, orders = checked_store.read(self.plan, self.store)
    return {
        purchases = purchases, notes = notes, faults = self.struck, seconds = last,
        left = left, orders = orders, late = self.late, endless = self.endless,
    }
end


-- Puts a relay between ZooKeeper and each server that a fault may cut off.
local function start_relays(self)
    for _, planned in ipairs(self.plan.faults) do
        local whom = planned.cut
        for number = 1, whom and self.plan.servers or 0 do
            if not self.relays[number] and (whom == "holder" or whom == "server " .. number) then
                self.relays[number] = relay.start(self.throwaway.reaper, self.zookeeper)
            end
        end
    end
end


local function carry_out(self, progress)
    start_relays(self)
    prepare(self)
    for number = 1, self.plan.servers do self.servers[number] = start_server(self, number) end
    wait_for_servers(self)
    fault.prepare(self)
    self.began_at = core.now()
    barrier.come(self.folder .. "/start")
    assert(barrier.wait(self.folder .. "/start", #self.servers + 1, READY, zklock.sleep))
    run(self, progress)
    return outcome_of(self)
end


local function close(self)
    for _, server in ipairs(self.servers) do
        if not server.ended then server.process:kill() end
    end
    if self.store then
        self.store:close()
        if self.own_zookeeper then self.own_zookeeper:mend() end
        place.remove(self.place, self.plan.store)
    end
    for _, each in pairs(self.relays) do each:close() end
    if self.own_zookeeper then self.own_zookeeper:close() end
end


---@param plan zklock.seckill.Plan
---@param throwaway zklock.seckill.Throwaway
---@param progress fun(play: zklock.seckill.Play)  called regularly
---@return zklock.seckill.Outcome
function play.carry_out(plan, throwaway, progress)
    play_count = play_count + 1
    local name = "sale-" .. play_count
    local id = throwaway.folder:match "%.(%w+)$"
    local self = setmetatable({
        plan = plan, throwaway = throwaway, servers = {}, struck = {}, under_way = {},
        effects = {}, hang_notes = {}, over = false, relays = {},
        folder = throwaway.folder .. "/" .. name,
        root = ("/zklock-seckill.%s/%s"):format(id, name),
        own_zookeeper = plan.own_zookeeper and throwaway:zookeepers(1, plan.own_zookeeper) or nil,
        redis = plan.redis or plan.needs.redis and throwaway:redis(plan.needs.redis) or nil,
    }, Play)
    self.zookeeper = self.own_zookeeper and self.own_zookeeper.hosts or plan.zookeeper
        or plan.needs_zookeeper and throwaway:zookeeper() or nil
    self.place = place.of(self, ("zklock_%s_%d"):format(id:lower(), play_count))
    local results = { pcall(carry_out, self, progress) }
    close(self)
    if not results[1] then error(results[2], 0) end
    return results[2]
end


return play
