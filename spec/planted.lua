--- Ten small programs with a planted bug each, to compare how zklock.simulate finds them. The depth
-- of a bug is the least number of pairs of steps whose order makes it sure: 1 if "this before that"
-- is enough (Burckhardt et al. 2010). None needs a fault.
--
--   make bench-planted   the table of docs/testing-your-code.md

local zklock = require "zklock"


local function connect()
    return assert(zklock.connect("memory:planted"))
end


-- Lets other processes go first, `times` times.
local function pause(world, times)
    for _ = 1, times do world:pause() end
end


local function ask(times)
    local session = connect()
    for _ = 1, times do session:get("/x") end
end


-- Returns a program whose processes run these functions. They share state()'s table.
local function program(state, ...)
    local processes = { ... }
    return function(world)
        local shared = state()
        for n, process in ipairs(processes) do
            world:process("p" .. n, function() process(shared, world, n) end)
        end
        world:finally(function() assert(shared.right ~= false, "wrong") end)
    end
end


local function fail_unless(condition)
    assert(condition, "wrong")
end


-- --- depth 1 ------------------------------------------------------------------------------

-- The configuration is read before it is written.
local function reads_too_early()
    return program(function() return { written = false } end,
        function(shared) ask(4) shared.written = true end,
        function(shared) ask(6) fail_unless(shared.written) end)
end


-- A writer with much to do is done before the other process has begun.
local function begins_too_late()
    return program(function() return { ended = false } end,
        function(shared) fail_unless(not shared.ended) end,
        function(shared, world) pause(world, 12) shared.ended = true end)
end


-- A process begins to listen after the only event has come.
local function listens_too_late()
    return program(function() return { listens = false } end,
        function(shared) ask(6) shared.listens = true end,
        function(shared) ask(8) fail_unless(shared.listens) end)
end


-- --- depth 2 ------------------------------------------------------------------------------

local function count_without_lock(shared)
    local session = connect()
    local count = shared.count
    session:get("/x")
    shared.count = count + 1
    shared.ended = (shared.ended or 0) + 1
    shared.right = shared.ended < 2 or shared.count == 2
end


-- Two processes read a number before either has written it.
local function loses_an_update()
    return program(function() return { count = 0 } end, count_without_lock, count_without_lock)
end


-- Two processes do so only if they meet in one pause of many.
local function loses_an_update_rarely()
    local function count(shared, world)
        pause(world, 8)
        local before = shared.count
        world:pause()
        shared.count = before + 1
        pause(world, 8)
        shared.ended = (shared.ended or 0) + 1
        shared.right = shared.ended < 2 or shared.count == 2
    end
    return program(function() return { count = 0 } end, count, count)
end


local function locks_crosswise()
    local function cross(_, _, n)
        local session = connect()
        session:mutex("/" .. n):with(60, function()
            assert(session:mutex("/" .. 3 - n):acquire()):release()
        end)
    end
    return program(function() return {} end, cross, cross)
end


-- The stock is looked at under the lock, and sold under the lock, which is released in between.
local function releases_too_early()
    local function sell(shared)
        local lock, in_stock = connect():mutex("/bun"), false
        lock:with(60, function() in_stock = shared.stock > 0 end)
        lock:with(60, function()
            if in_stock then shared.stock = shared.stock - 1 end
            shared.right = shared.stock >= 0
        end)
    end
    return program(function() return { stock = 1 } end, sell, sell)
end


-- --- depth 3 ------------------------------------------------------------------------------

-- p1 opens, p2 sees it and knocks, p1 hears that and shuts, and p2 comes in.
local function shuts_the_door()
    return program(function() return {} end,
        function(shared, world)
            pause(world, 5)
            shared.is_open = true
            pause(world, 5)
            if shared.knocks then shared.is_open = false end
        end,
        function(shared, world)
            pause(world, 5)
            if not shared.is_open then return end
            shared.knocks = true
            pause(world, 5)
            fail_unless(shared.is_open)
        end)
end


local function locks_in_a_circle()
    local function cross(_, _, n)
        local session = connect()
        session:mutex("/" .. n):with(60, function()
            assert(session:mutex("/" .. n % 3 + 1):acquire()):release()
        end)
    end
    return program(function() return {} end, cross, cross, cross)
end


-- p1 reads the old value, p2 writes a new value, p3 copies that, and p1 writes the old value.
local function copies_what_is_gone()
    return program(function() return { value = "old" } end,
        function(shared, world)
            pause(world, 4)
            local before = shared.value
            pause(world, 4)
            shared.value = before
            pause(world, 4)
            fail_unless(shared.copy ~= "new" or shared.value == "new")
        end,
        function(shared, world)
            pause(world, 6)
            shared.value = "new"
        end,
        function(shared, world)
            pause(world, 6)
            shared.copy = shared.value
        end)
end


return {
    { name = "reads too early", depth = 1, program = reads_too_early() },
    { name = "begins too late", depth = 1, program = begins_too_late() },
    { name = "listens too late", depth = 1, program = listens_too_late() },
    { name = "loses an update", depth = 2, program = loses_an_update() },
    { name = "loses an update in one of many steps", depth = 2,
      program = loses_an_update_rarely() },
    { name = "locks crosswise", depth = 2, program = locks_crosswise() },
    { name = "releases between look and write", depth = 2, program = releases_too_early() },
    { name = "shuts a door that somebody saw open", depth = 3, program = shuts_the_door() },
    { name = "locks in a circle of three", depth = 3, program = locks_in_a_circle() },
    { name = "writes over what another copied", depth = 3, program = copies_what_is_gone() },
}
