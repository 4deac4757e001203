--- A run: one attempt at a scenario. It has a new store, a barrier, and the processes that
--- act; it ends with its processes.
local barrier = require "zklock.seckill.barrier_old"
local process = require "zklock.seckill.process"
local store = require "zklock.seckill.store"


-- A process may take this long beyond the time that it is asked to hold or to
-- wait for a session to end.
local PATIENCE = 15

local WORKER = package.searchpath("zklock.seckill.worker", package.path) -- luacheck: std max


---@class zklock.seckill.Run
---@field store zklock.seckill.Store
---@field options zklock.seckill.Options
local Run = {}
Run.__index = Run


local run = {}


---@param name string  of the attempt; no two have the same
---@param options zklock.seckill.Options
---@param reaper zklock.seckill.Reaper
---@return zklock.seckill.Run
function run.open(name, options, reaper)
    local path = reaper.folder .. "/" .. name
    return setmetatable({
        store = store.create(path .. ".db"),
        barrier = path .. ".barrier",
        root = "/zklock-seckill" .. reaper.folder:match "%.%w+$" .. "/" .. name,
        options = options,
        reaper = reaper,
        processes = {},
    }, Run)
end


--- Starts a process that carries out `act` of a scenario.
---@param scenario string  a file of seckill/scenario/
---@param name string
---@param words table<string, any>?  more for it to know
---@return zklock.seckill.Process
function Run:start(scenario, name, words)
    local options = self.options
    local given = {
        scenario = scenario, name = name, store = self.store.path, barrier = self.barrier,
        root = self.root, zookeeper = options.zookeeper or "", session = options.session,
        pause = options.pause, hold = options.hold,
    }
    for key, value in pairs(words or {}) do given[key] = value end
    local command = { options.lua, WORKER }
    for key, value in pairs(given) do command[#command + 1] = key .. "=" .. tostring(value) end
    local limit = math.ceil(PATIENCE + 4 * (options.hold + options.session) + 20 * options.pause)
    local started = process.start(name, command, limit, self.reaper)
    self.processes[#self.processes + 1] = started
    return started
end


--- When all have said `word`, lets them go on at one moment.
---@param word string?  default "ready"
function Run:open_barrier(word)
    word = word or "ready"
    for _, each in ipairs(self.processes) do each:expect(word) end
    barrier.open(self.barrier .. "." .. word)
end


--- Waits for the end of all.
function Run:finish()
    while self.processes[1] do
        table.remove(self.processes, 1):finish()
    end
end


--- Ends what still runs.
function Run:close()
    while self.processes[1] do
        table.remove(self.processes):kill()
    end
    self.store:close()
end


return run
