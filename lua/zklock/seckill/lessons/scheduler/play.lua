--- A game played by a list of choices. Two servers run the game's program with zklock's client, in
--- a world of virtual time. Each choice adds a view.

local Store = require "zklock.seckill.lessons.scheduler.store"
local TtlLock = require "zklock.seckill.lessons.scheduler.ttl_lock"
local timetable = require "zklock.seckill.lessons.scheduler.timetable"
local zklock = require "zklock"

local PATH = "/lock/bun"
local STOCK = 1
local NEVER = 80000 -- seconds; longer than any game, shorter than a world's limit

---@class zklock.scheduler.Server
---@field at string       the next step, "wait" (for the lock), or "end"
---@field stopped boolean
---@field lease_state? string  when the server last ran; nil at its end
---@field stock? integer  that the server has read; nil at its end
---@field token? integer  counted from the first grant
---@field told? string    the outcome for its buyer

---@class zklock.scheduler.View
---@field servers zklock.scheduler.Server[]
---@field queues integer[][]  the servers in each lock's queue, the holder first
---@field stock integer
---@field orders integer
---@field greatest integer    greatest token shown to the store, or 0
---@field choices string[]    next choices

local Game = {}
Game.__index = Game


function Game:lock_of_server(number)
    local ttl_lock = self.ttl_lock
    if ttl_lock then return { acquire = function() return ttl_lock:acquire(number) end } end
    local session = assert(zklock.connect("memory:" .. self.game.hosts[number],
        { timeout = timetable.session }))
    return session:mutex(PATH)
end


-- Runs a server's program, and keeps note of its next step.
function Game:serve(world, number)
    local program = require("zklock.seckill.lessons.scheduler." .. self.game.program)
    local server, steps = self.servers[number], self.times.steps[number]
    local function step(name, knows)
        server.at = name
        for key, value in pairs(knows or {}) do server[key] = value end
        local next_time = table.remove(steps, 1) or NEVER
        zklock.sleep(next_time - world:now())
        server.at = "wait"
    end
    world:process("server " .. number, function()
        server.told = program(self:lock_of_server(number), self.store, step)
        server.at = "end"
    end)
end


function Game:stop(world, stop)
    local name, server = "server " .. stop.server, self.servers[stop.server]
    local finish = self.times.moments[#self.times.moments]
    world:at(stop.from, function()
        server.stopped = world:stop(name, (stop.till or finish) - stop.from)
    end)
    if stop.till then world:at(stop.till, function() server.stopped = false end) end
end


-- The numbers of the servers in a lock's queue. A new node is that of the server that just asked.
function Game:queue(host, choice)
    local queue = {}
    for i, lease in ipairs(self.ttl_lock and self.ttl_lock.line or {}) do queue[i] = lease.owner end
    for i, name in ipairs(zklock.memory(host):children(PATH) or {}) do
        local node = host .. "/" .. name
        self.owners[node] = self.owners[node] or tonumber(choice:match "^ask (%d)$")
        queue[i] = assert(self.owners[node])
    end
    return queue
end


-- Replaces a token, the number of a transaction, by its rank.
function Game:rank(token)
    local rank = 0
    for _, server in ipairs(self.servers) do
        if server.lease and server.lease.token <= token then rank = rank + 1 end
    end
    return rank
end


-- Leaves out the beliefs of a finished server, which do not matter any more.
function Game:server_view(server)
    if server.lease and not server.stopped then server.lease_state = server.lease:state() end
    local runs = server.at ~= "end"
    return {
        at = server.at, stopped = server.stopped, told = server.told,
        lease_state = runs and server.lease_state or nil, stock = runs and server.stock or nil,
        token = self.game.checks and server.lease and self:rank(server.lease.token) or nil,
    }
end


-- The choices that are possible after a view. A server can be stopped from its request for the lock
-- to its end.
local function choices_of(view, game)
    local faults = game.faults
    local list = {}
    local function add(name, server)
        list[#list + 1] = server and ("%s %d"):format(name, server) or name
    end
    for number, server in ipairs(view.servers) do
        local at = server.at
        if server.stopped then add("wake", number)
        elseif at ~= "end" then
            if at ~= "wait" then add(at, number) end
            if faults and at ~= "ask" then add("stop", number) end
        end
    end
    if game.ttl and view.queues[1][1] then add("lapse", view.queues[1][1]) end
    for _, number in ipairs(faults and view.queues[1] or {}) do
        if view.servers[number].stopped then
            add "expire"
            break
        end
    end
    return list
end


local function check_possible(choice, before)
    for _, each in ipairs(before.choices) do
        if each == choice then return end
    end
    error(choice .. " cannot come", 0)
end


function Game:view_after(choice)
    local game, store = self.game, self.store
    local view = {
        servers = { self:server_view(self.servers[1]), self:server_view(self.servers[2]) },
        queues = {}, stock = store.stock, orders = store.orders,
        greatest = self:rank(store.greatest),
    }
    for number, host in ipairs(game.hosts) do
        if host ~= game.hosts[number - 1] then
            table.insert(view.queues, self:queue(host, choice))
        end
    end
    view.choices = choices_of(view, game)
    return view
end


-- Puts into the world the servers, the stops, and a view right before each choice.
function Game:begin(world, path)
    self.ttl_lock = self.game.ttl and TtlLock.new(world)
    for number in ipairs(self.servers) do self:serve(world, number) end
    for _, stop in ipairs(self.times.stops) do self:stop(world, stop) end
    for i, moment in ipairs(self.times.moments) do
        world:at(moment - 0.001, function()
            if i > 1 then check_possible(path[i - 1], self.views[i - 1]) end
            self.views[i] = self:view_after(path[i - 1])
        end)
    end
    world:at(self.times.moments[#path + 1], function()
        for number in ipairs(self.servers) do world:kill("server " .. number) end
    end)
end


local play = { stock = STOCK }


--- Plays a game by these choices; raises an error if a choice is not possible.
---@param game table      from games.lua
---@param path string[]   choices as in timetable.lua
---@param seed integer?   of the world, for the delays of packets
---@return zklock.scheduler.View[] views  from the beginning on
function play.views(game, path, seed)
    local self = setmetatable({
        game = game, times = timetable.of(path), store = Store.new(STOCK, game.checks),
        servers = { { stopped = false }, { stopped = false } }, owners = {}, views = {},
    }, Game)
    local world = assert(zklock.world(function(world) self:begin(world, path) end,
        { seed = seed or 1 }))
    local ok, problem = world:run()
    if not ok then error(table.concat(path, ", ") .. ": " .. tostring(problem), 0) end
    return self.views
end


--- The view as text. Equal texts are one state.
---@param view zklock.scheduler.View
---@return string
function play.key(view)
    local parts = { view.stock, view.orders, view.greatest }
    for _, queue in ipairs(view.queues) do parts[#parts + 1] = table.concat(queue, "<") end
    for _, server in ipairs(view.servers) do
        for _, name in ipairs{ "at", "stopped", "lease_state", "stock", "token", "told" } do
            parts[#parts + 1] = tostring(server[name])
        end
    end
    return table.concat(parts, " ")
end


return play
