--- Processor time of simulated programs, the median of five runs.
--
--   make bench WHAT=worlds
--   make bench WHAT=worlds LUA=luajit

local rounds = require "bench.harness.rounds"
local zklock = require "zklock"

local unpack = table.unpack or unpack
local FAULTS = { stop = true, kill = true, cut = true, delay = 0.05 }


local function simulate(program, opts)
    local result = assert(zklock.simulate(program, opts))
    assert(result.wrong == 0 or opts.faults, tostring(result))
    return result
end


-- Two servers of a shop sell one bun (docs/testing-your-code.md).
local function shop(world)
    local stock, sold = 1, 0
    for n = 1, 2 do
        world:process("server " .. n, function()
            local session = assert(zklock.connect("memory:shop", { timeout = 10 }))
            session:mutex("/locks/bun"):with(60, function()
                if stock == 0 then return end
                zklock.sleep(0.02)
                stock, sold = stock - 1, sold + 1
            end)
        end)
    end
    world:finally(function() assert(sold <= 1, "oversold") end)
end


local CYCLES = 20000

local function cycles(world)
    world:process("alone", function()
        local lock = assert(zklock.connect("memory:shop")):mutex("/locks/bun")
        for _ = 1, CYCLES do assert(lock:acquire(5)):release() end
    end)
end


-- A thousand buyers, each a coroutine, spread over the servers.
local function sale(servers)
    return function(world)
        local stock = 1000
        for n = 1, servers do
            world:process("server " .. n, function()
                local lock = assert(zklock.connect("memory:shop")):mutex("/locks/bun")
                local buyers = {}
                for i = 1, 1000 / servers do
                    buyers[i] = function() lock:with(600, function() stock = stock - 1 end) end
                end
                zklock.run(unpack(buyers))
            end)
        end
    end
end


local function hour(world)
    world:process("holder", function()
        assert(assert(zklock.connect("memory:shop")):mutex("/locks/bun"):acquire())
        zklock.sleep(3600)
    end)
end


local ONE_OF_EACH = { stop = { most = 1 }, kill = { most = 1 } }

local rows = {
    { "1 000 seeds of a shop of two servers", shop, { seeds = 1000 } },
    { "the same, with faults", shop, { seeds = 1000, faults = FAULTS } },
    { "20 000 free cycles", cycles, { seeds = 1 } },
    { "1 000 buyers in 20 servers", sale(20), { seeds = 1 } },
    { "the same, with a stop and a kill", sale(20), { seeds = 1, faults = ONE_OF_EACH } },
    { "1 000 buyers in 500 servers", sale(500), { seeds = 1 } },
    { "an hour with one held lease", hour, { seeds = 1 } },
}


for _, row in ipairs(rows) do
    local times = {}
    for i = 1, 5 do
        collectgarbage()
        local begun = os.clock()
        simulate(row[2], row[3])
        times[i] = os.clock() - begun
    end
    print(("%-40s %6.3f s"):format(row[1], (rounds.median(times))))
end
