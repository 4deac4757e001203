--- A process of a scenario, seen from inside. Run as
---     lua worker.lua scenario=NAME store=FILE barrier=FILE … (words of name=value)
--- it carries out `act` of that scenario, and says on stdout what the demo must
--- know, a line a word: "ready", "error <message>", and the scenario's own.

local clock = require "zklock.seckill.clock"
local barrier = require "zklock.seckill.barrier_old"
local store = require "zklock.seckill.store"
local zklock = require "zklock"


---@class zklock.seckill.Worker
---@field name string              the server's or client's name
---@field given table<string, string>  the words of the command line
---@field store zklock.seckill.Store
---@field pause number              seconds between reading and writing the stock
---@field hold number               seconds for which a lock is held, where the seed sleeps
local Worker = {}
Worker.__index = Worker


--- Tells the demo.
---@param word string
---@param arguments any?
function Worker:say(word, arguments) -- luacheck: no self
    if arguments then word = word .. " " .. tostring(arguments):gsub("%s+", " ") end
    io.stdout:write(word, "\n")
end


--- Says `word`, and waits until all have said it. It may have been said before:
--- then the others do not wait for this call.
---@param word string  each barrier has its own
function Worker:wait_for_all(word)
    self:say(word)
    barrier.wait(self.given.barrier .. "." .. word, zklock.sleep)
end


--- Says that all is prepared, and waits for the others.
function Worker:wait_for_start()
    self:wait_for_all "ready"
end


--- Writes a line into the journal.
---@param line string
---@param lease table?  the lease under which it happens
function Worker:note(line, lease)
    self.store:note(self.name, line, lease and lease:token_string())
end


--- A ZooKeeper session of this process, closed when `act` returns.
function Worker:connect()
    local session = assert(zklock.connect(self.given.zookeeper, {
        timeout = tonumber(self.given.session),
        identity = self.name,
    }))
    self.sessions[#self.sessions + 1] = session
    return session
end


--- A path of this run, so that two demos on one ensemble do not meet.
---@param name string
function Worker:path(name)
    return self.given.root .. name
end


local function read_words(arguments)
    local given = {}
    for _, word in ipairs(arguments) do
        local name, value = word:match "^(%w+)=(.*)$"
        given[name] = value
    end
    return given
end


local function run(arguments)
    local given = read_words(arguments)
    math.randomseed(math.floor(clock.now() * 1000) % 2 ^ 31 + #given.name)
    local worker = setmetatable({
        name = given.name,
        given = given,
        store = store.open(given.store),
        pause = tonumber(given.pause),
        hold = tonumber(given.hold),
        sessions = {},
    }, Worker)
    require("zklock.seckill.scenario." .. given.scenario).act(worker)
    for _, session in ipairs(worker.sessions) do session:close() end
end


io.stdout:setvbuf "line"
local ok, message = pcall(run, arg)
if not ok then Worker:say("error", message) end
os.exit(ok and 0 or 1, true)
