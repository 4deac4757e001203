--- Runs clients on an ensemble while the nemesis inflicts faults, then checks their histories (make
-- torture).
--
--   torture.lua MINUTES SEED OUTPUT   MINUTES "" = 1; SEED "" = one of its own
--   torture.lua check OUTPUT          only the check, of the history in OUTPUT
--
-- In the environment, or empty: FSYNC   servers wait for their disks, as in production
--                               FAULTS  a word: only faults with it in their names (faults.lua)
--
-- OUTPUT gets history (one file, all events by time), logs (the servers' own) and index.html, a
-- page like those of sales. The last line is "N passed, N failed", in rules of the checker; the
-- exit status is 1 on a violation. All that it starts ends with it, however it ends.

local aftermath = require "spec.torture.aftermath"
local check = require "spec.torture.checker"
local core = require "zklock.core"
local faults = require "spec.torture.faults"
local figures = require "spec.torture.figures"
local files = require "spec.files"
local history = require "spec.torture.history"
local nemesis = require "spec.torture.nemesis"
local record = require "spec.torture.record"
local report_page = require "zklock.seckill.report"
local rig = require "spec.rig"
local shell = require "zklock.system.shell"
local store = require "spec.torture.store"

local PLACES = 5
local COUNTER_PATH = "/counter" -- its sequence numbers end soon; its parent exists
local COUNTER_LEFT = 100
local GATE_PATH = "/torture/gate" -- a semaphore
local TIMEOUT = 2
local TICK = 200 -- milliseconds, of the servers
local BUSY = { slack = 3, bound = 3 * TIMEOUT } -- for a machine that also does other work

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local PRELOADED = BUILD .. "/rig/clock.so:" .. BUILD .. "/rig/names.so"
local HOSTS = "zk1.test,zk2.test,zk3.test" -- by the names of names.c

local LUAS = {
    { "lua5.4", BUILD .. "/5.4/?.so" },
    { "luajit", BUILD .. "/5.1/?.so" },
}


local UNFAIR_PATH = "/torture/none"
local TURNS_PATH = "/torture/turns" -- processes take turns
local KEPT_PATH = "/torture/kept" -- its lock is kept

-- Returns two paths of a mutex, and one each of an unfair mutex, a mutex in turns, a kept mutex, a
-- read-write lock and a semaphore; the counter's is of a mutex in two of three seeds.
local function choose_paths(seed)
    local mutexes, rwlocks = { "/torture/a", "/torture/b" }, { "/torture/rw" }
    table.insert(seed % 3 == 0 and rwlocks or mutexes, COUNTER_PATH)
    local paths, others = {}, { UNFAIR_PATH, TURNS_PATH, KEPT_PATH, GATE_PATH }
    for _, list in ipairs{ mutexes, rwlocks, others } do
        for _, path in ipairs(list) do paths[#paths + 1] = path end
    end
    return paths, mutexes, rwlocks
end


local function setting(name)
    local value = os.getenv(name)
    return value ~= "" and value or nil
end


-- --- the ensemble ---------------------------------------------------------------------

-- Servers rarely bring others up to date by a snapshot, which no log shows, and keep copies of what
-- they cut off their logs (order.pl).
local ENVIRONMENT = "JVMFLAGS=-Dzookeeper.commitLogCount=1000000 ZOOKEEPER_PRELOAD="
    .. rig.shell("realpath %s/rig/taken.so", BUILD):match("%S+")

-- Gives a path a counter that is about to end, while the servers are down.
local function preset_counter(server)
    for n = 1, 3 do server:kill(n) end
    for n = 1, 3 do
        rig.shell("rm -f %s/%d/data/version-2/log.*", server.dir, n)
        rig.shell("perl spec/fault/counter.pl %s/%d/data %s %.0f", server.dir, n, COUNTER_PATH,
                  2147483647 - COUNTER_LEFT)
    end
    for n = 1, 3 do server:restart(n) end
    rig.wait_for("a leader", function() return server:leader() end)
end


local function start_ensemble()
    local server = rig.server{ n = 3, tick = TICK, links = true, environment = ENVIRONMENT,
                               fsync = setting "FSYNC" }
    preset_counter(server)
    return server
end


-- --- clients --------------------------------------------------------------------------

local function start_client(world, place)
    place.number = place.number + 1
    place.process = ("%s.%d"):format(place.name, place.number)
    local lua, module = LUAS[1][1], LUAS[1][2]
    if place.index % 2 == 0 and files.read((LUAS[2][2]:gsub("?", "zklock/core"))) then
        lua, module = LUAS[2][1], LUAS[2][2]
    end
    place.output = assert(io.popen(table.concat({
        "echo $$; exec setpriv --pdeathsig KILL env", shell.quote("LUA_CPATH=" .. module .. ";;"),
        "WALL_CLOCK=" .. place.clock, "NAMES=" .. place.names, "LD_PRELOAD=" .. PRELOADED, lua,
        "spec/torture/client.lua", place.process, HOSTS,
        world.seed * 1000 + place.index * 100 + place.number, shell.quote(world.folder), TIMEOUT,
        table.concat(world.mutexes, ","), table.concat(world.rwlocks, ","), UNFAIR_PATH, TURNS_PATH,
        KEPT_PATH, GATE_PATH, "2>&1" }, " ")))
    place.pid = place.output:read("*n", "*l")
end


local function is_running(pid)
    local state = (files.read(("/proc/%d/stat"):format(pid)) or ""):match("%) (%a)")
    return state ~= nil and state ~= "Z"
end


local function finish_client(place)
    io.stderr:write(place.output:read("*a"))
    place.output:close()
end


local function kill_client(place)
    rig.shell("kill -KILL %d 2>/dev/null", place.pid)
    finish_client(place)
end


local function make_place(world, index)
    local place = { name = "c" .. index, index = index, number = 0, proxies = {},
                    last_totals = {}, connects = 0, gone = 0 }
    place.clock = ("%s/clock.%s"):format(world.folder, place.name)
    place.names = ("%s/names.%s"):format(world.folder, place.name)
    rig.shell("printf 0 > %s && mkdir %s", place.clock, place.names)
    for n = 1, 3 do faults.move(world, place, n) end
    return place
end


local function session_of(world, place)
    local last
    for line in io.lines(world.folder .. "/history/" .. place.process) do
        local event = line:match("^%S+\t%S+\t%S+\tconnected") and history.parse(line)
        last = event and event.session or last
    end
    return last
end


-- --- a run ----------------------------------------------------------------------------

local function make_world(seed)
    local server = start_ensemble()
    local paths, mutexes, rwlocks = choose_paths(seed)
    local world = {
        server = server, seed = seed, timeout = TIMEOUT, paths = paths, mutexes = mutexes,
        rwlocks = rwlocks, counter_path = COUNTER_PATH, folder = server.dir .. "/torture",
        places = {}, faults = setting "FAULTS" or "",
    }
    rig.shell("mkdir -p %s/history %s/store", world.folder, world.folder)
    for _, path in ipairs(paths) do store.create(world.folder, path) end
    for index = 1, PLACES do world.places[index] = make_place(world, index) end
    function world.session_of(place) return session_of(world, place) end
    function world.replace(place)
        kill_client(place)
        start_client(world, place)
    end
    return world
end


--- Waits for the clients to end by themselves; the checker misses any that does not.
local function end_clients(world)
    files.write(world.folder .. "/calm", "")
    for _, place in ipairs(world.places) do
        rig.eventually(function() return not is_running(place.pid) end, 20)
        kill_client(place)
    end
end


local function end_servers(world)
    world.server:stop()
    for _, place in ipairs(world.places) do
        for _, proxy in ipairs(place.proxies) do proxy:stop() end
    end
end


local function torture(minutes, seed, output)
    math.randomseed(seed)
    local world = make_world(seed)
    local writer = history.writer(world.folder .. "/history/torture", "torture")
    local clocks = aftermath.clocks(world.folder)
    for _, place in ipairs(world.places) do start_client(world, place) end
    nemesis.new(world, writer):run(minutes * 60)
    end_clients(world)
    aftermath.residue(world.server, writer, 3 * TIMEOUT + 5)
    writer:close()
    clocks:close()
    aftermath.truth(world.server, world.folder)
    store.record(world.folder, world.paths)
    aftermath.gather(world.folder, output)
    aftermath.keep_logs(world.server, output)
    end_servers(world)
end


local function judge(output, facts)
    local report = check(history.read{ output .. "/history" }, BUSY)
    local page = output .. "/index.html"
    assert(report_page.write(page, { title = "zklock: torture", histories = record.of(report) }))
    figures.print(report, facts)
    print(page)
    return figures.verdict(report)
end


local function main(first, second, output)
    if first == "check" then return judge(second, {}) end
    local minutes = tonumber(first ~= "" and first or 1) or error("MINUTES is a number", 0)
    local seed = tonumber(second ~= "" and second or math.floor(core.now() * 1000) % 1000000)
        or error("SEED is a number", 0)
    print(("torture: MINUTES=%g SEED=%d"):format(minutes, seed))
    io.stdout:flush()
    torture(minutes, seed, output)
    return judge(output, { minutes = minutes, seed = seed })
end


local right = main(...)
os.exit(right and 0 or 1)
