--- Many cycles, failed tries and waits that time out, in one process. Then only the holder's node
-- and watch may be left on the server, and this process may occupy no more memory.
--
--   make soak                                100000 cycles, 10000 tries, 1000 waits
--   make soak SOAK="--cycles 5000 ..."       --cycles, --tries, --waits
--
-- Exits with 1 if something is left. Runs in LuaJIT, whose FFI can ask the allocator.

local ffi = require "ffi"
local process = require "bench.process"
local rig = require "spec.rig"
local zklock = require "zklock"

local wanted = { cycles = 100000, tries = 10000, waits = 1000 }
for i = 1, #arg, 2 do
    local name = arg[i]:match("^%-%-(%a+)$")
    if not wanted[name] then error("known: --cycles N, --tries N, --waits N", 0) end
    wanted[name] = tonumber(arg[i + 1]) or error(arg[i] .. " takes a number", 0)
end


ffi.cdef [[
    struct mallinfo2 {
        size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks,
            keepcost;
    };
    struct mallinfo2 mallinfo2(void);
]]

-- kB that C and Lua have allocated. Resident memory is more, and varies by a megabyte.
local function allocated()
    collectgarbage()
    collectgarbage()
    local info = ffi.C.mallinfo2()
    return tonumber(info.uordblks + info.hblkhd) / 1024 + collectgarbage("count")
end


local function resident() return process.resident("self") / 1024 end


local function cycle(lock, count)
    for _ = 1, count do assert(lock:acquire()):release() end
end


local function try(lock, count)
    for _ = 1, count do assert(not lock:acquire{ timeout = 0, owner = "trier" }) end
end


-- Waits a hundred at a time, to save time.
local function wait(lock, count)
    while count > 0 do
        local tasks = {}
        for i = 1, math.min(100, count) do
            tasks[i] = function() assert(not lock:acquire(0.2)) end
        end
        zklock.run(unpack(tasks))
        count = count - #tasks
    end
end


local server = rig.shared()
local holder = assert(zklock.connect(server.hosts))
local session = assert(zklock.connect(server.hosts))
local free, taken = session:mutex("/soak/free"), session:mutex("/soak/taken")
local held = assert(holder:mutex("/soak/taken"):acquire())

cycle(free, 2000) -- warm-up: the allocators find their size
try(taken, 500)
wait(taken, 200)
local before, resident_before = allocated(), resident()

cycle(free, wanted.cycles)
try(taken, wanted.tries)
wait(taken, wanted.waits)
rig.eventually(function()
    local stats = session:stats()
    return stats.claims == 0 and stats.watches == 0 and server:watches() <= 1
        and #server:nodes("/soak") == 1
end)

local grown, stats, nodes = allocated() - before, session:stats(), server:nodes("/soak")
local watches = server:watches()
held:release{ wait = 5 }
print(("%d cycles, %d failed tries, %d timed-out waits"):format(
    wanted.cycles, wanted.tries, wanted.waits))
print(("nodes on the server besides the holder's: %d"):format(#nodes - 1))
print(("watches on the server: %d (the holder's own)"):format(watches))
print(("claims here: %d, requests in flight: %d"):format(stats.claims, stats.in_flight))
print(("allocated memory: %d kB before, %+d kB since; resident: %d kB, %+d kB"):format(
    before, grown, resident_before, resident() - resident_before))

session:close()
holder:close()
local is_clean = #nodes == 1 and watches <= 1 and stats.claims == 0 and grown < 128
print(is_clean and "nothing is left behind" or "SOMETHING IS LEFT BEHIND")
os.exit(is_clean and 0 or 1, true)
