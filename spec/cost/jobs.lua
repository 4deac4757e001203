--- jobs.lua JOB COUNT - a job whose instructions spec/cost/growth.lua counts. Time is virtual: a
-- wait only moves the clock, so a job takes the same steps on each machine.

local core = require "zklock.core"

local time = 0

function core.now() return time end

local board = {}
function board.gone() return false end
function board.news() end
function board.wait(_, seconds) time = time + seconds end

function core.board() return board end

local waiters = require "zklock.waiting.waiters"
local zklock = require "zklock"

local create, resume, running = coroutine.create, coroutine.resume, coroutine.running
local close, yield = coroutine.close, coroutine.yield

local jobs = {}


-- Returns numbers from 0 to 1, scattered, and the same each time.
local function spread(i)
    return i * 0.6180339887 % 1
end


local function start(count, fn)
    for i = 1, count do coroutine.wrap(fn)(i) end
end


function jobs.sleeps(count)
    zklock.run(function()
        start(count, function(i) zklock.sleep(spread(i)) end)
        zklock.sleep(1)
    end)
end


function jobs.closed_sleeps(count)
    zklock.run(function()
        local threads = {}
        for i = 1, count do
            threads[i] = create(function() zklock.sleep(1 + spread(i)) end)
            resume(threads[i])
        end
        for i = 1, count do close(threads[i]) end
    end)
end


function jobs.nested_runs(count)
    zklock.run(function()
        start(count, function(i)
            zklock.run(function() zklock.sleep(spread(i)) end)
        end)
        zklock.sleep(1)
    end)
end


function jobs.deep_runs(count)
    local function deeper(depth)
        zklock.sleep(0.001)
        if depth < count then zklock.run(deeper, depth + 1) end
    end
    zklock.run(deeper, 1)
end


-- Each is closed at another moment.
function jobs.closed_tasks(count)
    local threads, tasks = {}, {}
    for i = 1, count do
        tasks[i] = function()
            threads[i] = running()
            zklock.sleep(3600)
        end
    end
    zklock.run(function()
        zklock.sleep(0)
        for i = 1, count do
            close(threads[i])
            zklock.sleep(0.00001)
        end
    end, table.unpack(tasks))
end


-- --- in the loop of a library ---------------------------------------------------------------

local driver = {}
function driver.start() end
function driver.stop() end
function driver.wake() end


function jobs.waits_in_a_loop(count)
    local session, requests = { fd = function() return 0 end }, {}
    start(count, function(i)
        local request = { over = false }
        function request:done() return self.over end
        function request:on_done(fn) self.fn = fn end
        requests[i] = request
        waiters.wait(session, request, driver, driver, yield)
    end)
    for _, request in ipairs(requests) do
        request.over = true
        request.fn()
    end
end


-- --- in a world -----------------------------------------------------------------------------

local function in_world(fn)
    local world = assert(zklock.world(fn, { limit = { steps = 1e9, seconds = 1e6 } }))
    assert(world:run())
end


-- Loses `count` leases together, and waits for their callbacks; lock_of(session, i) returns the
-- lock of each.
local function lose(count, lock_of)
    in_world(function(world)
        world:process("p", function()
            local session = assert(zklock.connect("memory:cost"))
            local leases, told = {}, 0
            for i = 1, count do
                leases[i] = assert(lock_of(session, i):acquire{ owner = "one" })
                leases[i]:on_lost(function() told = told + 1 end)
            end
            world:expire("p")
            while told < count do zklock.sleep(0.01) end
        end)
    end)
end


function jobs.losses(count)
    lose(count, function(session, i) return session:mutex("/cost/" .. i) end)
end


function jobs.losses_of_one_grant(count)
    local lock
    lose(count, function(session)
        lock = lock or session:mutex("/cost")
        return lock
    end)
end


function jobs.moments(count)
    in_world(function(world)
        world:process("idle", function() end)
        for i = 1, count do world:at(spread(i), function() end) end
    end)
end


function jobs.none() end


jobs[arg[1]](tonumber(arg[2]))
