--- A storm over cerberus with real engines. Several processes with several coroutines take and
-- release locks, while the switch is set at random, and processes and servers are stopped, killed
-- and restarted.
--
--   lua spec/seckill/cerberus/storm.lua [SECONDS [SEED]]
--   make test-cerberus-storm SECONDS=60 SEED=17
--
-- Each lock guards a number, the name of a file. A holder reads it, waits, checks its lock, and
-- renames the file to the next number. A missing file means two holders. That is excused only if
-- the clock shows that a process was stopped between its check and its renaming, which no lock can
-- prevent (Q-03).
--
-- After the storm every engine must be used again, and no dead client stays a member. The last line
-- is "right" or an error; the exit status is 0 or 1.

local engine = require "zklock.engine"
local redis_servers = require "zklock.seckill.throwaway.redis"
local rig = require "spec.rig"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"

local PROCESSES, COROUTINES, LOCKS = 4, 3, 2
local LIFE = 1       -- seconds, the lease in Redis
local SESSION = 2    -- of all sessions
local FAILOVER = 0.5
local CALM = 60      -- seconds until all is well again

local ORDER = { "redis-set", "zookeeper", "redisson" }


-- --- a process that takes locks -----------------------------------------------------------------

-- The source of a client, without its constants. Each line of its log is an event.
local CLIENT = [[
local MARGIN = 0.05 -- seconds; a write is late within this time of the lease's end
local core = require "zklock.core"
local client
repeat client = require("zklock.engine").open("cerberus", OPTIONS) until client
local log = assert(io.open(("%s/log-%d"):format(FOLDER, NUMBER), "a"))
log:setvbuf "line"
math.randomseed(NUMBER)

local known = {}

local function exists(path)
    local file = io.open(path)
    if file then file:close() end
    return file ~= nil
end

local function file_of(name, number) return ("%s/%s-%d"):format(FOLDER, name, number) end

local function read(name)
    local number = known[name] or 0
    while not exists(file_of(name, number)) do number = number + 1 end
    known[name] = number
    return number
end

local function write(name, number, lease)
    local looked = core.now()
    if not lease:held() or lease:remaining() < MARGIN then return log:write "lost\n" end
    local written = os.rename(file_of(name, number), file_of(name, number + 1))
    local late = core.now() - looked > MARGIN
    log:write(("%s %s %d %s\n"):format(written and "wrote" or "conflict", name, number,
        late and "late" or "in time"))
end

local function buy(lock)
    local lease, message, code = lock:acquire(math.random())
    if not lease then
        log:write("not had: ", code, "\n")
        return zklock.sleep(0.01)
    end
    log:write("granted ", select(2, lease:epoch()), "\n")
    local number = read(lock.name)
    zklock.sleep(math.random() * (math.random(10) == 1 and 0.4 or 0.01))
    write(lock.name, number, lease)
    lease:release()
end

local function go()
    while not exists(FOLDER .. "/over") do
        buy(client:mutex("lock" .. math.random(LOCKS)))
        zklock.sleep(math.random() * 0.01)
    end
end

local tasks = {}
for i = 1, COROUTINES do tasks[i] = go end
say "goes"
zklock.run((table.unpack or unpack)(tasks))
client:close()
say "done"
]]


-- --- the storm ---------------------------------------------------------------------------------

local Storm = {}
Storm.__index = Storm


local function between(least, most) return least + math.random() * (most - least) end


function Storm:note(what) self.faults[what] = (self.faults[what] or 0) + 1 end


function Storm:start_client(place)
    self.started = self.started + 1
    local child = rig.child(self.zookeeper.hosts, ("local OPTIONS, FOLDER, NUMBER = %s, %q, %d\n"
        .. "local LOCKS, COROUTINES = %d, %d\n"):format(rig.literal(self.options), self.folder,
        self.started, LOCKS, COROUTINES) .. CLIENT)
    self.clients[place] = child
end


-- Values of the switch; unknown names mean the next engine.
local VALUES = { "redis-set", "zookeeper", "redisson", "", "tair" }

function Storm:set_the_switch()
    zklock.sleep(between(0.2, 1.5))
    if self.hand:switch(VALUES[math.random(#VALUES)], 1) then self:note "switches set" end
end


-- A stop is shorter than a lease, or longer than leases and sessions.
function Storm:stop_a_client()
    zklock.sleep(between(0.1, 0.6))
    local child = self.clients[math.random(PROCESSES)]
    local is_long = math.random(4) == 1
    child:signal "STOP"
    zklock.sleep(is_long and between(1.1 * LIFE, 1.5 * SESSION) or between(0.05, 0.5 * LIFE))
    child:signal "CONT"
    self:note(is_long and "long stops" or "short stops")
end


function Storm:kill_a_client()
    zklock.sleep(between(0.7, 2))
    local place = math.random(PROCESSES)
    local child = self.clients[place]
    child:signal "KILL"
    self:note "kills"
    self.words[#self.words + 1] = child:finish()
    self:start_client(place)
end


-- Restarts a Redis without its keys, after the end of all its leases.
local function kill_and_restart(self, name)
    self.redis[name].process:signal "KILL"
    zklock.sleep(1.2 * LIFE + between(0, LIFE))
    self.redis[name].process:kill()
    self.redis[name] = redis_servers.start(self.servers.reaper,
        { port = self.redis[name].address:match "%d+$" })
    self:note "Redis kills"
end


local function stop_and_go_on(self, name)
    local process = self.redis[name].process
    process:signal "STOP"
    zklock.sleep(between(0.1, LIFE))
    process:signal "CONT"
    self:note "Redis stops"
end


function Storm:strike_redis()
    zklock.sleep(between(0.5, 3))
    local name = math.random(2) == 1 and "redis-set" or "redisson"
    local strike = math.random(2) == 1 and kill_and_restart or stop_and_go_on
    strike(self, name)
end


function Storm:strike_zookeeper()
    zklock.sleep(between(2, 5))
    self.zookeeper:pause()
    zklock.sleep(between(0.1, 0.7 * SESSION))
    self.zookeeper:resume()
    self:note "ZooKeeper stops"
end


-- Returns a task that repeats a step until the storm is over.
local function while_it_lasts(self, verb)
    return function()
        while not self.calm do verb(self) end
    end
end


-- Returns a task that ends the storm after that time.
local function end_after(self, seconds)
    return function()
        zklock.sleep(seconds)
        self.calm = true
    end
end


-- Returns a message if some engine does not work after the storm, or nil.
local function problem_after_calm(self)
    local client = assert(engine.open("cerberus", self.options))
    for _, name in ipairs(ORDER) do
        local done, message = client:switch(name, CALM)
        if not done then return ("the switch to %s: %s"):format(name, message) end
        local lease
        lease, message = client:mutex("lock1"):acquire(CALM)
        if not lease then return ("a lock by %s: %s"):format(name, message) end
        lease:release()
    end
    local session = rig.session(self.zookeeper.hosts)
    self.epochs = tonumber(session:get("/cerberus/epoch"):match "^%d+")
    local none_but_those_alive = rig.eventually(function()
        return select(2, session:get("/cerberus/members"):gsub("\n", "")) <= PROCESSES + 1
    end)
    client:close()
    if not none_but_those_alive then return "who died stays a member" end
end


-- --- the result ----------------------------------------------------------------------------------

-- Counts of events in all logs; writes by lock and number; conflicts.
local function read_logs(self)
    local counts, writes, conflicts = {}, {}, {}
    for number = 1, self.started do
        local file = io.open(("%s/log-%d"):format(self.folder, number))
        for line in file and file:lines() or function() end do
            local what, name, count, how = line:match "^(%l+) (lock%d) (%d+) (.*)$"
            local event = what or line
            counts[event] = (counts[event] or 0) + 1
            if what == "wrote" then writes[name .. " " .. count] = how end
            if what == "conflict" then
                conflicts[#conflicts + 1] = { what = name .. " " .. count, how = how }
            end
        end
        if file then file:close() end
    end
    return counts, writes, conflicts
end


-- Conflicts without a stop between check and write.
local function violations(writes, conflicts)
    local list = {}
    for _, conflict in ipairs(conflicts) do
        if conflict.how == "in time" and writes[conflict.what] ~= "late" then
            list[#list + 1] = conflict.what
        end
    end
    return list
end


local function print_sorted(title, counts)
    local names = {}
    for name in pairs(counts) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do names[i] = ("%d %s"):format(counts[name], name) end
    print(title .. ": " .. table.concat(names, ", "))
end


-- A process's unexpected output, or nil.
local function complaint(self)
    for _, words in ipairs(self.words) do
        local rest = words:gsub("goes\n", ""):gsub("done\n", "")
        if rest ~= "" then return rest end
    end
end


local function judge(self, problem)
    local counts, writes, conflicts = read_logs(self)
    local bad = violations(writes, conflicts)
    print_sorted("faults", self.faults)
    print_sorted("events", counts)
    print(("%d processes, %d epochs, %d conflicts, %d of them not excused"):format(self.started,
        self.epochs or 0, #conflicts, #bad))
    if bad[1] then return "two had the lock: " .. table.concat(bad, ", ") end
    return problem or complaint(self)
end


-- --- all together ------------------------------------------------------------------------------

local function prepare(seed)
    math.randomseed(seed)
    local servers = throwaway.open()
    local self = setmetatable({
        servers = servers, folder = servers.folder, zookeeper = rig.server(), redis = {},
        clients = {}, started = 0, faults = {}, words = {},
    }, Storm)
    for _, name in ipairs{ "redis-set", "redisson" } do
        self.redis[name] = redis_servers.start(servers.reaper)
    end
    local function redis(name)
        return { redis = self.redis[name].address, lease = LIFE, answer = 0.3 }
    end
    self.options = {
        order = ORDER, zookeeper = self.zookeeper.hosts, session = SESSION,
        safe = os.getenv "SAFE" ~= "no",
        engines = {
            ["redis-set"] = redis "redis-set", ["redisson"] = redis "redisson",
            ["zookeeper"] = { zookeeper = self.zookeeper.hosts, session = SESSION },
        },
    }
    local by_hand = { order = ORDER, engines = self.options.engines,
        zookeeper = self.zookeeper.hosts, session = SESSION }
    self.hand = assert(engine.open("cerberus", by_hand))
    self.options.failover = self.options.safe and FAILOVER or nil
    for i = 1, LOCKS do assert(io.open(("%s/lock%d-0"):format(self.folder, i), "w")):close() end
    return self
end


local function play(self, seconds)
    for place = 1, PROCESSES do self:start_client(place) end
    zklock.run(end_after(self, seconds), while_it_lasts(self, self.set_the_switch),
        while_it_lasts(self, self.stop_a_client), while_it_lasts(self, self.kill_a_client),
        while_it_lasts(self, self.strike_redis), while_it_lasts(self, self.strike_zookeeper))
    local problem = self.options.safe and zklock.run(problem_after_calm, self) or nil
    assert(io.open(self.folder .. "/over", "w")):close()
    for _, child in ipairs(self.clients) do self.words[#self.words + 1] = child:finish() end
    return problem
end


local function main(seconds, seed)
    print(("a storm of %g s, seed %d"):format(seconds, seed))
    local self = prepare(seed)
    local ok, problem = pcall(play, self, seconds)
    for _, child in ipairs(self.clients) do child:signal "KILL" end
    problem = judge(self, not ok and tostring(problem) or problem)
    self.hand:close()
    rig.close_sessions()
    self.zookeeper:stop()
    self.servers:close()
    print(problem or "right")
    os.exit(problem and 1 or 0, true)
end


main(tonumber(arg[1]) or 60, tonumber(arg[2]) or os.time())
