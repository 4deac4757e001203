--- The faults that the torture inflicts. Each kind says where it applies, how it begins
-- and how it ends.
--
-- world: { faults = a word that the wanted faults' names contain, or "",
--          server = an ensemble of rig.lua with links, timeout = of the sessions,
--          places = { { name, process, pid, proxies = one before each server,
--                       active = the proxy in use, connects = number of connections,
--                       gone = connections through former proxies,
--                       last_totals = of each proxy's counts, when last looked at,
--                       clock = the file of clock.c, names = the folder of names.c }, … },
--          paths, counter_path (whose sequence numbers run out), session_of(place) → id,
--          replace(place): kills its process, starts another }
--
-- A kind is { name, needs, begin(world, victim, fault), … }:
--
--   needs    the kind of victim: "place", "server" (the ensemble), "path", "holder" (find_holder())
--   whole    it begins only while the servers have no fault
--   always   it begins even while the victim has another fault
--   asked    it begins only if world.faults names it
--
-- begin may add details to `fault`, its record in the history (history.lua). It returns
-- { seconds, finish } or { over = condition } for a fault that lasts, and false without a victim.

local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local random = math.random
local unpack = table.unpack or unpack -- luacheck: globals unpack

local kinds = {}
local faults = { kinds = kinds }


local function between(low, high)
    return low + (high - low) * random()
end

local function pick(list)
    return list[random(#list)]
end


-- --- the nodes, as another program sees and changes them ----------------------------------

-- Acts as another program by spec/foreign.pl. Returns its answer, a line a command.
local function meddle(world, ...)
    return rig.shell("timeout 2 perl spec/foreign.pl %s " .. ("'%s' "):rep(select("#", ...))
                     .. "2>&1", world.server:host(random(3)), ...)
end


-- Whether the commands certainly had no effect. Without an answer they may have had one.
local function is_refused(answer)
    return answer:find("^error") ~= nil
end


local function children(world, path)
    local names = {}
    for name in (meddle(world, "children", path):match("^ok (.*)\n") or ""):gmatch("%S+") do
        names[#names + 1] = name
    end
    return names
end


-- Returns the nodes of holders and waiters in their order. Past the end of the counter, where
-- numbers do not tell the order, they are in any order.
local function contenders(world, path)
    local names = {}
    for _, name in ipairs(children(world, path)) do
        if name:find("^_c_.*lock%-%-?%d+$") or name:find("^_c_.*__%u%u%u%u__%-?%d+$")
            or name == "lock" or name:find("^_c_.*permit%-%d+%-of%-%d+%-%-?%d+$") then
            names[#names + 1] = name
        end
    end
    local function number(name) return name:match("%d+$") or "" end
    table.sort(names, function(a, b) return number(a) < number(b) end)
    return names
end


-- Returns how many of these hold. The first does, readers do together, and permits to their limit.
local function count_holders(names)
    local count, taken = 0, 0
    for _, name in ipairs(names) do
        local permits, limit = name:match("permit%-(%d+)%-of%-(%d+)%-")
        taken = taken + (permits or math.huge)
        if taken > tonumber(limit or 0) then break end
        count = count + 1
    end
    while names[count + 1] and names[count + 1]:find("__READ__") do count = count + 1 end
    return math.max(1, count)
end


-- Returns the session that made a node, by its name; for an unfair lock, by the server.
local function session_of(world, path, name)
    if name == "lock" then
        return meddle(world, "stat", path .. "/lock"):match("owner=(%x+)")
    end
    local high, middle, low = name:match("^_c_(%x+)%-(%x+)%-(%x+)%-")
    return high and (high .. middle .. low):gsub("^0+", "") or nil
end


--- Returns a holder, if possible one that has held for a while: { path, node, place, session }, or
-- nil.
function faults.find_holder(world)
    local path, first = pick(world.paths), nil
    for _ = 1, 10 do
        local name = contenders(world, path)[1]
        if name and name == first then break end
        first = name
    end
    local session = first and session_of(world, path, first)
    for _, place in ipairs(world.places) do
        if session and world.session_of(place) == session then
            return { path = path, node = path .. "/" .. first, place = place, session = session }
        end
    end
end


-- --- the network between a client and the servers ---------------------------------------

local function tell(place, command)
    for _, proxy in ipairs(place.proxies) do proxy:command(command) end
end


local function network(name, commands, undo, shortest, longest)
    kinds[#kinds + 1] = { name = name, needs = "place", begin = function(world, place)
        for _, command in ipairs(commands) do tell(place, command) end
        if not undo then return end
        return { seconds = world.timeout * between(shortest, longest),
                 finish = function() tell(place, undo) end }
    end }
end

network("cut", { "cut" })
network("refuse", { "refuse", "cut" }, "accept", 0.1, 1.5)
network("blackhole", { "blackhole" }, "flow", 0.1, 1.5)
network("half-open", { "halfopen" }, "flow", 0.1, 1.5)
network("delay", { "delay 60" }, "delay 0", 0.5, 1.5)


-- --- servers that get another address behind their name ----------------------------------

--- Leads a place to another proxy by the name of server n, and leaves the old address empty.
function faults.move(world, place, n)
    local old = place.proxies[n]
    place.proxies[n] = rig.proxy(world.server:host(n))
    files.replace(("%s/zk%d"):format(place.names, n), place.proxies[n].hosts)
    if not old then return end
    place.gone, place.last_totals[n] = place.gone + old:counts().connect, 0
    if place.active == old then place.active = nil end
    old:stop()
end


-- Changed addresses alone expire no session, as the checker's rule "moves" says.
local function moves(name, count)
    kinds[#kinds + 1] = { name = name, needs = "place", always = true,
                          begin = function(world, place)
        local first = random(3)
        for n = first, first + count - 1 do faults.move(world, place, n % 3 + 1) end
    end }
end

moves("address changed", 1)
moves("addresses changed", 3)


-- The resolver does not answer while the file exists.
kinds[#kinds + 1] = { name = "resolver hangs", needs = "place", begin = function(world, place)
    local hangs = place.names .. "/hangs"
    files.write(hangs, "")
    return { seconds = world.timeout * between(0.5, 2), finish = function() os.remove(hangs) end }
end }


-- Loses one of the next requests, its reply, or the connection after it. Downgrades are rare, so
-- "multi" has kinds of its own.
local OPERATIONS = { "create2", "delete", "getChildren", "getData", "setData", "sync" }

local function lose(action, operations, latest)
    kinds[#kinds + 1] = { name = action, needs = "place", begin = function(_, place, fault)
        if not place.active then return false end
        local operation, connects = pick(operations), place.connects
        fault.name = action .. " " .. operation
        place.active:command("%s %s %d", action, operation, random(latest))
        return { over = function() return place.connects > connects end }
    end }
end

for _, action in ipairs{ "drop-request", "drop-reply", "cut-after" } do
    lose(action, OPERATIONS, 3)
    lose(action, { "multi" }, 1)
end
lose("drop-request", { "multi" }, 1) -- once more, because it catches a lost request taken for done


-- --- the processes of clients -----------------------------------------------------------

local function signal(place, name)
    rig.shell("kill -%s %d", name, place.pid)
end


local function stop(name, shortest, longest)
    kinds[#kinds + 1] = { name = name, needs = "place", begin = function(world, place)
        signal(place, "STOP")
        return { seconds = world.timeout * between(shortest, longest),
                 finish = function() signal(place, "CONT") end }
    end }
end

stop("stop, short", 0.1, 0.9)
stop("stop, long", 1.2, 2)

kinds[#kinds + 1] = { name = "kill", needs = "place", begin = function(world, place, fault)
    fault.victim = place.process
    world.replace(place)
end }

-- Sets the time of day (see spec/fault/clock.c).
kinds[#kinds + 1] = { name = "wall clock jump", needs = "place", begin = function(_, place)
    local function set(hand)
        local clock = assert(io.open(place.clock, "r+"))
        clock:write(hand)
        clock:close()
    end
    set(pick{ "+", "-" })
    return { seconds = between(0.2, 3), finish = function() set("0") end }
end }


-- --- holders ----------------------------------------------------------------------------

-- Puts the fault into the deck twice, because it catches wrong libraries best.
local function holder_fault(name, begin)
    for _ = 1, 2 do
        kinds[#kinds + 1] = { name = name, needs = "holder", whole = true, begin = begin }
    end
end


-- Pauses a holder for longer than its session, the classic fault. A holder that released in the
-- last moment is no victim, but it was stopped.
holder_fault("holder stopped", function(world, holder, fault)
    signal(holder.place, "STOP")
    local function continue() signal(holder.place, "CONT") end
    if not meddle(world, "stat", holder.node):find("^ok") then
        fault.name = "stop, short"
        continue()
        return
    end
    return { seconds = world.timeout * between(1.25, 1.6), finish = continue }
end)


holder_fault("holder cut off", function(world, holder)
    tell(holder.place, "blackhole")
    return { seconds = world.timeout * between(1, 1.8),
             finish = function() tell(holder.place, "flow") end }
end)


-- Ends the session by a second connection with its id and password.
holder_fault("session expired", function(world, holder, fault)
    fault.session = holder.session
    local answer = rig.shell("timeout 2 perl spec/foreign.pl %s@%s 2>&1",
                             world.server:host(random(3)), holder.session)
    if answer:find("refused") then return false end
end)


holder_fault("holder's node deleted", function(world, holder, fault)
    fault.scope, fault.path = "path", holder.path
    if is_refused(meddle(world, "delete", holder.node)) then return false end
end)


-- --- the servers ------------------------------------------------------------------------

-- Takes the server's methods that begin and end the fault, and an argument for the first.
local function server_fault(name, first, last, shortest, longest, how)
    local of_leader = name:find("^leader") ~= nil
    kinds[#kinds + 1] = { name = name, needs = "server", begin = function(world)
        local server = world.server
        local leader = server:leader()
        if not leader then return false end
        local n = of_leader and leader or (leader + random(2) - 1) % 3 + 1
        server[first](server, n, how)
        return { seconds = between(shortest, longest),
                 finish = function() server[last](server, n) end }
    end }
end

server_fault("leader stopped", "pause", "resume", 0.2, 2.5)
server_fault("follower stopped", "pause", "resume", 0.2, 4)
server_fault("leader killed", "kill", "restart", 0.1, 1)
server_fault("follower killed", "kill", "restart", 0.1, 1)


-- Adds a fault in which servers lose acknowledged writes; it begins only if the user names it.
local function loss(name, begin)
    kinds[#kinds + 1] = { name = name, needs = "server", asked = true, begin = function(world)
        local leader = world.server:leader()
        if not leader then return false end
        local others = { leader % 3 + 1, (leader + 1) % 3 + 1 }
        local one = table.remove(others, random(2))
        return begin(world.server, leader, one, others[1])
    end }
end


-- Kills the leader, and then one of the two that elect the next.
loss("killed in an election", function(server, leader, one)
    server:kill(leader)
    zklock.sleep(between(0.1, 1))
    server:kill(one)
    local first, second = leader, one
    if random(2) == 1 then first, second = one, leader end
    server:launch(first)
    return { seconds = between(0, 1), finish = function() server:launch(second) end }
end)


-- Kills a server `delay` seconds after it accepts a new leader, and so replaces its file
-- currentEpoch.
local function kill_as_it_joins(server, n, delay)
    rig.shell([[perl -MTime::HiRes=sleep,time -e '
        my ($file, $delay, $pid) = @ARGV;
        my ($inode, $till) = ((stat $file)[1], time + 3);
        sleep 0.0002 while time < $till && ((stat $file)[1] // $inode) == $inode;
        sleep $delay;
        kill KILL => $pid;' %s/%d/data/version-2/currentEpoch %.4f %d]], server.dir, n, delay,
              server:pid(n))
end


-- A server misses some writes, and is killed as it joins a new leader. Then that leader is killed.
-- The old leader, which has these writes, and the server that joined elect a leader of the two
-- (ZOOKEEPER-4643).
loss("killed as it joins", function(server, leader, late, other)
    server:kill(late)
    zklock.sleep(between(0.1, 0.5))
    server:kill(leader)
    server:launch(late)
    kill_as_it_joins(server, late, pick{ 0, between(0, 0.02) })
    server:kill(other)
    server:launch(late)
    server:restart(leader)
    return { seconds = between(0, 1), finish = function() server:restart(other) end }
end)


server_fault("leader cut off", "isolate", "rejoin", 0.5, 3)
server_fault("follower cut off", "isolate", "rejoin", 0.5, 4)
server_fault("follower silenced", "isolate", "rejoin", 0.5, 4, "silence")


-- --- somebody else at the nodes ---------------------------------------------------------

local function append(words, ...)
    for _, word in ipairs{ ... } do words[#words + 1] = word end
end


local function meddling(name, begin)
    kinds[#kinds + 1] = { name = name, needs = "path", whole = true, begin = begin }
end


meddling("waiter's node deleted", function(world, path)
    local names = contenders(world, path)
    local holders = count_holders(names)
    if #names <= holders then return false end
    local node = path .. "/" .. names[random(holders + 1, #names)]
    if is_refused(meddle(world, "delete", node)) then return false end
end)


meddling("parent deleted", function(world, path)
    if path == world.counter_path then return false end -- its counter would start anew
    for _ = 1, 3 do
        local words = {}
        for _, name in ipairs(children(world, path)) do
            append(words, "delete", path .. "/" .. name)
        end
        append(words, "delete", path)
        local answers = meddle(world, unpack(words))
        if answers:find("ok [^\n]*\n$") then return end
    end
end)


meddling("node data changed", function(world, path)
    local names = contenders(world, path)
    if #names == 0 then return false end
    local node = path .. "/" .. pick(names)
    if is_refused(meddle(world, "set", node, "changed by somebody else")) then return false end
end)


local JUNK = { "junk", "lock-123456789", "lock-abcdefghij", "read-0000000000", "lock-",
               "0000000000" }

meddling("junk children", function(world, path)
    local create, delete = {}, {}
    for _, name in ipairs(JUNK) do
        append(create, "create", path .. "/" .. name, "")
        append(delete, "delete", path .. "/" .. name)
    end
    meddle(world, unpack(create))
    return { seconds = between(0.5, 3), finish = function() meddle(world, unpack(delete)) end }
end)


return faults
