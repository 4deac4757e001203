--- The processes that contend. Each has a client of every measured engine, and its share of the
-- contenders.

local core = require "zklock.core"
local distribution = require "zklock.seckill.distribution"
local fairness = require "zklock.seckill.fairness"
local rig = require "spec.rig"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local LEAD = 0.05 -- seconds until all begin at once

local Crowd = {}
Crowd.__index = Crowd

local crowd = {}


--- Starts `count` processes, which write their grants into files of `folder`.
function crowd.start(count, folder)
    local self = setmetatable({ processes = {}, folder = folder, lock_count = 0 }, Crowd)
    for i = 1, count do
        -- setsid keeps Ctrl-C from the processes, which end with the benchmark.
        self.processes[i] = rig.servant(("setsid %s bench/engines/worker.lua %d"):format(LUA, i))
    end
    for _, process in ipairs(self.processes) do process:greet() end
    return self
end


--- Opens a client of the contender's engine in each process, one after the other, because clients
-- create tables.
function Crowd:open(id, contender, option)
    for _, process in ipairs(self.processes) do
        process:command("open %d %s %s", id, contender.engine, option)
    end
end


-- The share of each process: its count of contenders, and the number of its first contender.
local function shares(self, contenders)
    local processes, list, first = math.min(#self.processes, contenders), {}, 1
    for i = 1, processes do
        local count = math.floor(contenders / processes) + (i <= contenders % processes and 1 or 0)
        list[i] = { process = self.processes[i], count = count, first = first,
                    path = ("%s/grants-%d"):format(self.folder, i) }
        first = first + count
    end
    return list
end


local function order_of(contender)
    if not contender.lock then return "default" end
    return contender.lock.fair and "fair" or "unfair"
end


-- The name of a new lock for all contenders, or "own" for a lock each.
local function lock_of(self, shape)
    self.lock_count = self.lock_count + 1
    return shape.own and "own" or "lock-" .. self.lock_count
end


-- Each contender counts as a server for fairness.of.
local function read_grants(path, grants)
    for line in io.lines(path) do
        local number, asked, granted = line:match("^(%d+) (%S+) (%S+)$")
        grants[#grants + 1] = { server = tonumber(number), lock = "the lock",
                                asked = tonumber(asked), granted = tonumber(granted) }
    end
end


-- Grants a second, within the time or until all had their laps.
local function rate(grants, shape, begin)
    local count, last = 0, begin
    for _, grant in ipairs(grants) do
        if shape.laps or grant.granted <= begin + shape.seconds then count = count + 1 end
        last = math.max(last, grant.granted)
    end
    return count / (shape.laps and last - begin or shape.seconds)
end


local function figures(grants, shape, begin, requests)
    local waits = distribution.new()
    for _, grant in ipairs(grants) do waits:add(grant.granted - grant.asked) end
    local in_order = not shape.own and not shape.laps -- with laps all come at once
    local fair = in_order and fairness.of(grants, shape.contenders) or {}
    return {
        rate = rate(grants, shape, begin), grants = #grants, requests = requests / #grants,
        p50 = waits:quantile(0.5), p99 = waits:quantile(0.99),
        overtakes = fair.overtakes, jain = fair.jain,
    }
end


--- Measures a contender. `shape` has `contenders`, a number; their `seconds` or the `laps` of each;
-- `own` if each has its own lock. count_requests() returns the servers' count, or nil if only the
-- clients count.
function Crowd:run(id, contender, shape, count_requests)
    local before, by_clients, grants = count_requests(), 0, {}
    local lock, list = lock_of(self, shape), shares(self, shape.contenders)
    local begin = core.now() + LEAD
    for _, share in ipairs(list) do
        share.process:tell("run %d %s %s %d %d %d %.6f %.6f %s", id, lock, order_of(contender),
                           shape.laps or 0, share.count, share.first, begin,
                           begin + (shape.seconds or 0), share.path)
    end
    for _, share in ipairs(list) do by_clients = by_clients + tonumber(share.process:answer()) end
    for _, share in ipairs(list) do read_grants(share.path, grants) end
    return figures(grants, shape, begin, before and count_requests() - before or by_clients)
end


--- Lets the processes acquire and hold that many locks together. Returns the seconds.
function Crowd:hold(id, locks)
    local begin = core.now()
    local list = shares(self, locks)
    for _, share in ipairs(list) do
        share.process:tell("hold %d %d %d", id, share.first, share.count)
    end
    for _, share in ipairs(list) do share.process:answer() end
    return core.now() - begin
end


function Crowd:release(id)
    for _, process in ipairs(self.processes) do process:tell("release %d", id) end
    for _, process in ipairs(self.processes) do process:answer() end
end


function Crowd:stop()
    for _, process in ipairs(self.processes) do process:stop() end
end


return crowd
