--- [lua asan] Answers that no ZooKeeper gives. Such a server may deny service, but it does not
-- crash its clients, does not keep a call beyond its deadline, and is not asked without end.
-- Nothing is left behind once it tells the truth again. hostile.pl has the lies, and tells them.

local program = require "spec.fault.program"
local rig = require "spec.rig"
local core = require "zklock.core"

local SECONDS = 1
local AT_ONCE = program.sanitizer and 3 or 6 -- programs, each with a lying server

-- All calls of a program need 130 requests for true answers. After an impossible answer a claim
-- asks again at once, but not often between two heartbeats, of which there are two in a second. A
-- claim that goes on asking makes thousands of requests.
local MOST_REQUESTS, MOST_A_SECOND = 1200, 1000


-- Every operation at once, each on a path of its own. Held locks were acquired before the lies
-- begin. Prints a line for each call that returned, with its seconds.
local CALLS = [=[
local PATH, TRUE_HOSTS, SECONDS = %q, %q, %f
local session = assert(zklock.connect(HOSTS, { timeout = 3, connect_timeout = 30 }))
local honest = assert(zklock.connect(TRUE_HOSTS, { timeout = 12, connect_timeout = 30 }))
session.connect_timeout = SECONDS
local core = require "zklock.core"

local function path(name) return PATH .. "/" .. name end

local held = {}
local function hold(name, lock)
    held[name] = assert(lock:acquire(30))
    return held[name]
end

local taken = {}
for _, name in ipairs{ "taken", "turn" } do
    taken[name] = assert(honest:mutex(path(name)):acquire(30))
end
taken.unfair = assert(honest:mutex(path("unfair"), { order = "none" }):acquire(30))
taken.rw = assert(honest:rwlock(path("rw")):write():acquire(30))
taken.gate = assert(honest:semaphore(path("gate"), 3):acquire{ timeout = 30, permits = 2 })

for _, name in ipairs{ "check", "guard", "wait", "signal", "release", "own" } do
    hold(name, session:mutex(path(name)))
end
hold("share", session:rwlock(path("share")):write())
hold("some", session:semaphore(path("some"), 3))
local condition = session:mutex(path("wait")):condition("c")
local signalled = session:mutex(path("signal")):condition("c")

local calls = {
    acquire = function() return session:mutex(path("fresh")):acquire(SECONDS) end,
    deep = function() return session:mutex(path("x/y/z")):acquire(SECONDS) end,
    wait_taken = function() return session:mutex(path("taken")):acquire(SECONDS) end,
    try = function() return session:mutex(path("try")):acquire(0) end,
    try_taken = function() return session:mutex(path("taken")):acquire(0) end,
    read = function() return session:rwlock(path("rw")):read():acquire(SECONDS) end,
    write = function() return session:rwlock(path("rw2")):write():acquire(SECONDS) end,
    permits = function() return session:semaphore(path("gate"), 3):acquire(SECONDS) end,
    more_permits = function()
        return session:semaphore(path("gate"), 3):acquire{ timeout = SECONDS, permits = 2 }
    end,
    unfair = function()
        return session:mutex(path("unfair"), { order = "none" }):acquire(SECONDS)
    end,
    unfair_free = function()
        return session:mutex(path("unfair2"), { order = "none" }):acquire(SECONDS)
    end,
    turn = function() return session:mutex(path("turn"), { order = "turns" }):acquire(SECONDS) end,
    multi = function()
        return session:multi{ session:mutex(path("m1")), session:mutex(path("m2")) }
            :acquire(SECONDS)
    end,
    multi_taken = function()
        return session:multi{ session:mutex(path("m3")), session:mutex(path("taken")) }
            :acquire(SECONDS)
    end,
    queue = function() return session:mutex(path("taken")):queue(SECONDS) end,
    queue_unfair = function()
        return session:mutex(path("unfair"), { order = "none" }):queue(SECONDS)
    end,
    get = function() return session:get(path("taken"), SECONDS) end,
    watch = function()
        local stop = assert(session:watch(path("taken"), function() end))
        zklock.sleep(SECONDS)
        stop()
        return true
    end,
    revoke = function() return session:mutex(path("taken")):revoke(SECONDS) end,
    check = function() return held.check:check(SECONDS) end,
    guard = function()
        return held.guard:guard({ { "set", path("guard"), "x" }, timeout = SECONDS })
    end,
    wait = function() return condition:wait(held.wait, SECONDS) end,
    signal = function() return signalled:signal(held.signal, SECONDS) end,
    release = function() return held.release:release{ wait = SECONDS } end,
    downgrade = function() return held.share:downgrade(SECONDS) end,
}

local function call(name)
    local begun = core.now()
    local ok, result, message, code = pcall(calls[name])
    if not ok then say("error", name, result) end
    if type(result) == "table" and result.release then held[name] = result end
    local seconds = ("%%.3f"):format(core.now() - begun)
    say("call", name, seconds, tostring(code or result and "ok"), message)
end

say("ready")
io.read("*l")
local tasks = {}
for name in pairs(calls) do tasks[#tasks + 1] = function() call(name) end end
zklock.run((table.unpack or unpack)(tasks))
say("done")
io.read("*l")
for _, lease in pairs(taken) do lease:release() end
for _, lease in pairs(held) do lease:release() end
local due, stats = core.now() + 30
repeat
    zklock.sleep(0.01)
    stats = session:stats()
until stats.claims == 0 and stats.in_flight == 0 or core.now() > due
say("left", stats.claims, stats.in_flight)
session:close()
honest:close()
say("closed")
]=]

-- An allocation of too much memory fails, as without a sanitizer.
local ENVIRONMENT = ("ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 TSAN_OPTIONS='%s'")
    :format((os.getenv("TSAN_OPTIONS") or "") .. ":allocator_may_return_null=1")


local function expect(child, line)
    local said = child:line()
    while said and said ~= line do said = child:line() end
    return said ~= nil
end


local Life = {}
Life.__index = Life

function Life.begin(server, name)
    local self = setmetatable({ name = name, path = rig.path(), calls = {}, errors = {} }, Life)
    self.server = rig.servant("perl spec/fault/hostile.pl " .. server:host())
    self.child = program.start("127.0.0.1:" .. self.server:greet(),
                               CALLS:format(self.path, server.hosts, SECONDS),
                               { input = true, environment = ENVIRONMENT })
    return self
end

function Life:lie()
    expect(self.child, "ready")
    self.begun = core.now()
    self.server:command("lie " .. self.name)
    self:tell("go")
end

-- A crashed child reads nothing.
function Life:tell(line)
    if rig.shell("kill -0 %d 2>&1", self.child.pid) == "" then self.child:tell(line) end
end

function Life:hear()
    for line in function() return self.child:line() end do
        if line == "done" then self.returned = true break end
        local name, seconds, code = line:match("^call%s+(%S+)%s+(%S+)%s+(%S+)")
        if name then self.calls[name] = { seconds = tonumber(seconds), code = code }
        else self.errors[#self.errors + 1] = line end
    end
    self.told = tonumber(self.server:command("told"))
    self.asked = tonumber(self.server:command("asked"))
    self.seconds = core.now() - self.begun
    self.server:command("truth")
end

function Life:finish()
    if self.returned then self:tell("truth") end
    self.left = self.child:line()
    self.closed = expect(self.child, "closed")
    local _, errors, status = self.child:finish()
    self.stderr, self.status = errors, status
    self.server:stop()
end


describe("a server that says #slow #session:state", function()
    local server, names, lives = rig.shared(), {}, {}
    for name in rig.shell("perl spec/fault/hostile.pl --list"):gmatch("[^\n]+") do
        names[#names + 1] = name
    end

    -- The lives of a batch run side by side, because they mostly wait.
    local function life_of(index)
        if lives[index] then return lives[index] end
        local batch = {}
        for i = index, math.min(index + AT_ONCE - 1, #names) do
            lives[i] = Life.begin(server, names[i])
            batch[#batch + 1] = lives[i]
        end
        for _, each in ipairs(batch) do each:lie() end
        for _, each in ipairs(batch) do each:hear() end
        for _, each in ipairs(batch) do each:finish() end
        return lives[index]
    end

    for index, name in ipairs(names) do
        it(name, function()
            local life = life_of(index)
            assert.equal("", (life.stderr:gsub("[^\n]*failed to allocate[^\n]*\n", "")))
            assert.equal(0, life.status, "the client crashed")
            assert.same({}, life.errors)
            assert.is_true(life.returned and life.closed)
            for call, ended in pairs(life.calls) do
                assert(ended.seconds < SECONDS + 20, ("%s took %.1f s"):format(call, ended.seconds))
            end
            assert.equal("left\t0\t0", life.left)
            assert(life.told > 0, "the lie was not told")
            -- An event makes a request or two.
            local most = MOST_REQUESTS + MOST_A_SECOND * life.seconds +
                         (name:find("^an event") and 4 * life.told or 0)
            assert(life.asked <= most, ("it was asked %d times"):format(life.asked))
        end)
    end
end)
