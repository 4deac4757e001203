--- Runs zklock and its neighbours in a loop on the same paths (make neighbours), then checks their
-- histories by the rules of the torture's checker, with no fault to explain anything.
--
--   together.lua MINUTES SEED SERVERS      MINUTES "" = 1; SEED "" = one by the clock
--
-- On /neighbours/kept-… zklock keeps the lock, and one neighbour wants it, too. On
-- /neighbours/mixed there are only zklock's clients, some for a mutex, some for a read-write lock,
-- and children beside them that are no contenders.
--
-- The last line is "N passed, N failed"; the exit status is 1 on a violation. All that it starts
-- ends with it, however it ends.

local aftermath = require "spec.torture.aftermath"
local check = require "spec.torture.checker"
local core = require "zklock.core"
local figures = require "spec.torture.figures"
local history = require "spec.torture.history"
local rig = require "spec.rig"
local store = require "spec.torture.store"
local zklock = require "zklock"

local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local TICK = 200 -- milliseconds, of the servers
local WORKERS = 3
local STOP = 60 -- seconds for all to end
local SLACK = 2 -- seconds, because seven programs share the machine

local MUTEX, RWLOCK, MIXED = "/neighbours/mutex", "/neighbours/rwlock", "/neighbours/mixed"
local KEPT = { "/neighbours/kept-Curator", "/neighbours/kept-kazoo", "/neighbours/kept-go" }
local PATHS = { MUTEX, RWLOCK, MIXED, KEPT[1], KEPT[2], KEPT[3] }
local JUNK = { "hello", "0000000001", "lock-", "n_0000000001", "-foreign" }


-- A process each; the checker knows clients by names such as c1.1.
local function processes()
    return {
        { name = "zklock, Lua 5.4", mutexes = { MUTEX, MIXED }, rwlocks = { RWLOCK },
          kept = { KEPT[1], KEPT[2] } },
        { name = "zklock, LuaJIT", mutexes = { MUTEX }, rwlocks = { RWLOCK, MIXED },
          kept = { KEPT[3] }, lua = "luajit", abi = "5.1" },
        { name = "Curator", mutexes = { MUTEX }, rwlocks = { RWLOCK }, kept = { KEPT[1] } },
        { name = "kazoo", mutexes = { MUTEX }, rwlocks = { RWLOCK }, kept = { KEPT[2] } },
        { name = "go-zookeeper", mutexes = { MUTEX }, rwlocks = {}, kept = { KEPT[3] } },
    }
end


-- --- a run ----------------------------------------------------------------------------------

local function make_paths(world)
    local commands = { "create /neighbours ''" }
    for _, path in ipairs(PATHS) do
        commands[#commands + 1] = ("create %s ''"):format(path)
        store.create(world.folder, path)
    end
    for _, name in ipairs(JUNK) do
        commands[#commands + 1] = ("create '%s/%s' ''"):format(MIXED, name)
    end
    world.server:foreign("%s", table.concat(commands, " "))
end


local function make_world(seed, servers)
    local server = rig.server{ n = servers, tick = TICK }
    local world = { server = server, seed = seed, folder = server.dir .. "/neighbours",
                    processes = processes() }
    rig.shell("mkdir -p %s/history %s/store", world.folder, world.folder)
    make_paths(world)
    return world
end


local function start(world, process, index)
    process.id = ("c%d.1"):format(index)
    process.output = assert(io.popen(table.concat({
        "echo $$; exec setpriv --pdeathsig KILL env",
        ("'LUA_CPATH=%s/%s/?.so;;'"):format(BUILD, process.abi or "5.4"), process.lua or "lua5.4",
        "spec/neighbours/loop.lua", process.name:match("^[^,]+"), process.id,
        world.server.hosts, world.folder, world.seed * 100 + index, WORKERS,
        ("'%s' '%s' '%s'"):format(table.concat(process.mutexes, ","),
                                  table.concat(process.rwlocks, ","),
                                  table.concat(process.kept, ",")),
        "2>&1" }, " ")))
    process.pid = process.output:read("*n", "*l")
end


-- Returns a function that tells whether every process has recorded the event.
local function all_have(world, event)
    return function()
        for _, process in ipairs(world.processes) do
            local count = rig.shell("grep -c '\t%s' %s/history/%s 2>/dev/null", event, world.folder,
                                    process.id)
            if (tonumber(count) or 0) == 0 then return false end
        end
        return true
    end
end


local function loop(world, minutes)
    for index, process in ipairs(world.processes) do start(world, process, index) end
    rig.wait_for("all have begun", all_have(world, "granted"), STOP)
    zklock.sleep(minutes * 60)
    assert(io.open(world.folder .. "/calm", "w")):close()
    rig.eventually(all_have(world, "ended"), STOP) -- otherwise the checker misses it
end


--- Ends the programs, even those still running, and passes on their unexpected output.
local function finish(world)
    for _, process in ipairs(world.processes) do
        if process.pid then
            rig.shell("kill -KILL %d 2>/dev/null", process.pid)
            io.stderr:write(process.output:read("*a"))
            process.output:close()
        end
    end
end


-- --- what happened ------------------------------------------------------------------------

--- Nodes of go-zookeeper carry no data. Each gets the claim that was granted with its zxid, in a
-- session of the same process.
local function name_claims(events)
    local process_of, granted, keeps = {}, {}, {}
    for _, event in ipairs(events) do
        if event.keep then keeps[event.claim] = true end
        if event.event == "connected" then process_of[event.session] = event.process end
        if event.event == "granted" then
            local czxid = event.token / (keeps[event.claim] and 1024 or 1)
            granted[("%.0f"):format(math.floor(czxid))] = event
        end
    end
    local claim_of = {}
    for _, event in ipairs(events) do
        local grant = event.event == "created" and event.claim == "-" and granted[event.zxid]
        if grant and process_of[event.session] == grant.process then
            claim_of[event.path .. event.name] = grant.claim
        end
        if event.process == "zookeeper" and event.claim == "-" then
            event.claim = claim_of[event.path .. event.name] or "-"
        end
    end
end


local function run(minutes, seed, servers, output)
    local world = make_world(seed, servers)
    local writer = history.writer(world.folder .. "/history/torture", "torture")
    local clocks = aftermath.clocks(world.folder)
    local ok, problem = xpcall(function() loop(world, minutes) end, debug.traceback)
    finish(world)
    if not ok then error(problem, 0) end
    aftermath.residue(world.server, writer, STOP)
    writer:close()
    clocks:close()
    aftermath.truth(world.server, world.folder)
    store.record(world.folder, PATHS)
    aftermath.gather(world.folder, output)
    world.server:stop()
    return world.processes
end


-- --- the verdict --------------------------------------------------------------------------

local function grants_of(report, process)
    local grants = { mutex = 0, read = 0, write = 0 }
    for _, claim in ipairs(report.model.claims) do
        if claim.process == process.id and claim.granted then
            grants[claim.kind] = grants[claim.kind] + 1
        end
    end
    return grants
end


local function print_grants(report, members)
    print(("%-18s %8s %8s %8s"):format("grants", "mutex", "read", "write"))
    for _, process in ipairs(members) do
        local grants = grants_of(report, process)
        print(("%-18s %8d %8d %8d"):format(process.name, grants.mutex, grants.read, grants.write))
    end
end


local function judge(output, members)
    local events = history.read{ output .. "/history" }
    name_claims(events)
    local report = check(events, { slack = SLACK })
    figures.print_violations(report)
    print_grants(report, members)
    local f = report.figures
    print(("%d grants, %d downgrades, %d of a node that was kept, %d writes, %d violations"):format(
        f.grants, f.downgrades, f.inherited, f.writes, f.violations))
    return figures.verdict(report)
end


local function main(first, second, third)
    local minutes = tonumber(first ~= "" and first or 1) or error("MINUTES is a number", 0)
    local seed = tonumber(second ~= "" and second or math.floor(core.now() * 1000) % 1000000)
        or error("SEED is a number", 0)
    print(("neighbours: MINUTES=%g SEED=%d SERVERS=%s"):format(minutes, seed, third))
    io.stdout:flush()
    local output = BUILD .. "/neighbours"
    return judge(output, run(minutes, seed, tonumber(third), output))
end


os.exit(main(...) and 0 or 1)
