--- The stage of one attempt at a scenario: a new store, a gate, and the
--- processes that act on it. It ends with its processes.

local gate = require "zklock.seckill.gate"
local process = require "zklock.seckill.process"
local store = require "zklock.seckill.store"


-- A process may take this long beyond the time that it is asked to hold or to
-- wait for a session to end.
local PATIENCE = 15

local WORKER = package.searchpath("zklock.seckill.worker", package.path) -- luacheck: std max


---@class zklock.seckill.Stage
---@field store zklock.seckill.Store
---@field options zklock.seckill.Options
local Stage = {}
Stage.__index = Stage


local stage = {}


---@param name string  of the attempt; no two have the same
---@param options zklock.seckill.Options
---@param leash zklock.seckill.Leash
---@return zklock.seckill.Stage
function stage.open(name, options, leash)
    local path = leash.folder .. "/" .. name
    return setmetatable({
        store = store.create(path .. ".db"),
        gate = path .. ".gate",
        root = "/zklock-seckill" .. leash.folder:match "%.%w+$" .. "/" .. name,
        options = options,
        leash = leash,
        processes = {},
    }, Stage)
end


--- Starts a process that carries out `act` of a scenario.
---@param scenario string  a file of seckill/scenario/
---@param name string
---@param words table<string, any>?  more for it to know
---@return zklock.seckill.Process
function Stage:start(scenario, name, words)
    local options = self.options
    local given = {
        scenario = scenario, name = name, store = self.store.path, gate = self.gate,
        root = self.root, zookeeper = options.zookeeper or "", session = options.session,
        pause = options.pause, hold = options.hold,
    }
    for key, value in pairs(words or {}) do given[key] = value end
    local command = { options.lua, WORKER }
    for key, value in pairs(given) do command[#command + 1] = key .. "=" .. tostring(value) end
    local limit = math.ceil(PATIENCE + 4 * (options.hold + options.session) + 20 * options.pause)
    local started = process.start(name, command, limit, self.leash)
    self.processes[#self.processes + 1] = started
    return started
end


--- When all have said `word`, lets them go on at one moment.
---@param word string?  default "ready"
function Stage:open_gate(word)
    word = word or "ready"
    for _, each in ipairs(self.processes) do each:expect(word) end
    gate.open(self.gate .. "." .. word)
end


--- Waits for the end of all.
function Stage:finish()
    while self.processes[1] do
        table.remove(self.processes, 1):finish()
    end
end


--- Ends what still runs.
function Stage:close()
    while self.processes[1] do
        table.remove(self.processes):kill()
    end
    self.store:close()
end


return stage
