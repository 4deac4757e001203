--- What an uncontended lock costs, against the same three requests made one
-- after the other with bare libzookeeper (bench/bare.c): create, get_children,
-- delete. Both run in turn, pair by pair, on one server in one run; the ratio
-- of each pair is what counts, for the machine's speed drifts.
--
--   make bench                     both networks; the server does not fsync
--   make bench FSYNC=yes           it does, to the disk of ${TMPDIR:-/tmp}
--   make bench BENCH="--pairs 30"  more pairs

local core = require "zklock.core"
local median = require "bench.median"
local rig = require "spec.rig"
local zklock = require "zklock"

local pairs_wanted = 15
for i = 1, #arg do
    if arg[i] == "--pairs" then
        pairs_wanted = tonumber(arg[i + 1]) or error("--pairs takes a number")
    end
end


-- The yardstick, in a process of its own: bare(count) gives seconds.
local function start_bare(hosts)
    local servant = rig.servant(("build/rig/bare %s %s"):format(hosts, hosts))
    servant:greet()
    local function bare(count)
        local answer = servant:command("cycles server serial /bench-bare %d 1", count)
        return tonumber(answer:match("^%S+"))
    end
    return bare, function() servant:stop() end
end


local function cycles(lock, count)
    local begin = core.now()
    for _ = 1, count do assert(lock:acquire()):release() end
    return core.now() - begin
end


local function measure(name, hosts, count)
    local session = assert(zklock.connect(hosts))
    local lock = session:mutex("/bench-zklock")
    local bare, stop = start_bare(hosts)
    local bares, ours, ratios = {}, {}, {}
    bare(count)
    cycles(lock, count)
    for i = 1, pairs_wanted do
        bares[i], ours[i] = bare(count), cycles(lock, count)
        ratios[i] = bares[i] / ours[i]
    end
    stop()
    session:close()
    local each = 1e6 / count
    local ratio = median(ratios) -- sorts
    print(("%-14s %10.0f us %10.0f us %9.2f   (%.2f to %.2f)"):format(
        name, median(bares) * each, median(ours) * each, ratio, ratios[1], ratios[#ratios]))
end


local server = rig.shared()
local proxy = rig.proxy(server.hosts)
proxy:command("delay 10")
print(("acquire + release, median of %d pairs"):format(pairs_wanted))
print("network           bare, serial        zklock     ratio   (least to most)")
measure("loopback", server.hosts, 500)
measure("10 ms away", proxy.hosts, 30)
