--- Programs that use other ZooKeeper clients' own locks, each in its client's language.
-- exclusion.lua and loop.lua tell them every step; bench/harness/crowd.lua lets them run tasks.
--
--   neighbour.start(NAME, HOSTS)   NAME: "Curator", "kazoo", "go-zookeeper"; of the machine, or of
--                                  packages that are unpacked in $ZKLOCK_CLIENTS
--
-- A program greets with "ready PID VERSION", its client's version. A hand is a session, and holds
-- one lock at a time. Commands are lines, and each is answered at once by "ok …" or "error: …":
--
--   connect HAND HOSTS TIMEOUT   opens the hand's session; TIMEOUT: seconds
--   take HAND KIND PATH LIMIT DATA   begins to acquire. KIND: mutex, read, write (see each program
--                       for more); LIMIT: seconds, 0 to try, "-" for ever; DATA: text of the node,
--                       without spaces, "-" for the client's own
--   state HAND          free, waiting, held CZXID, timeout, failed MESSAGE
--   release HAND        answers when it is done
--   downgrade HAND      a writer becomes a reader in the client's way
--   elect HAND PATH ID  stands for election by that id, and holds the lead as a lock (Curator)
--   leader HAND         names the leader (Curator)
--   resign HAND         gives up the lead (Curator)
--   session HAND        the hand's session, in hexadecimal
--   drop HAND           closes the hand's session, whatever the hand does
--   quit                closes all sessions and ends
--
-- These are for measurements:
--
--   start HAND KIND PATH LAPS TASKS DEADLINE
--                       starts tasks, each of which acquires and releases a lock LAPS times. A "#"
--                       in PATH is the task's number; without it all want the same lock. DEADLINE:
--                       a time at which they give up, 0 for never; later acquires are tries
--   finish              answers when all tasks have ended: seconds from the first begin to the last
--                       end, the time of that end, processor seconds of the process, the numbers of
--                       grants and of timeouts, and a problem, if a task met one
--   keep HAND PATH COUNT   acquires COUNT locks, of paths with their numbers, and holds them
--   collect             frees unused memory; answers with the free bytes that remain in the heap
--
-- Times are seconds of CLOCK_BOOTTIME.

local rig = require "spec.rig"

local neighbour = {}

local CLIENTS = os.getenv("ZKLOCK_CLIENTS") or ""
local BUILD = os.getenv("ZKLOCK_BUILD") or "build"
local SESSION_TIMEOUT = 20 -- seconds
local HEAP = 128 -- megabytes

-- The jars of the class path, by name.
local JARS = { "zookeeper-jute", "guava", "slf4j-api", "slf4j-simple", "zookeeper",
               "curator-client", "curator-framework", "curator-recipes" }


-- Java has no CLOCK_BOOTTIME, so it gets the offset of its own clock.
local function clock_offset()
    return rig.shell("perl -MTime::HiRes=clock_gettime " ..
                     "-e 'print clock_gettime(7) - clock_gettime(1)'")
end


--- Returns the upstream version of a package that rig/unpack unpacked in a folder.
function neighbour.unpacked(root, package)
    for line in io.lines(root .. "/packages") do
        local name, version = line:match "^(%S+) (%d[%d.]*)"
        if name == package then return version end
    end
end


-- The folder of the programs that use the packages of `root`.
local function folder_of(root) return (root ~= "" and root or BUILD) .. "/neighbours" end


local function java(root, heap, flags)
    local jars = {}
    for i, name in ipairs(JARS) do jars[i] = ("%s/usr/share/java/%s.jar"):format(root, name) end
    return table.concat({
        "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData",
        ("-Xmx%dm %s"):format(heap or HEAP, flags or ""),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-Dclock.offset=" .. clock_offset(),
        ("-cp %s:%s Curator"):format(folder_of(root), table.concat(jars, ":")),
    }, " ")
end


local PROGRAMS = {
    Curator = java,
    kazoo = function(root)
        return ("env PYTHONPATH=%s/usr/lib/python3/dist-packages /usr/bin/python3 " ..
                "spec/neighbours/kazoo_neighbour.py"):format(root)
    end,
    ["go-zookeeper"] = function(root) return folder_of(root) .. "/gozk" end,
}


--- Returns the command that starts a program. `root` is the folder of the client's unpacked
-- packages, "" for the machine's; heap, in megabytes, and more flags are for Java.
function neighbour.program(name, root, heap, flags)
    return PROGRAMS[name](root, heap, flags)
end


local Neighbour, Hand = {}, {}
Neighbour.__index, Hand.__index = Neighbour, Hand


--- Starts a neighbour; greet() or the first command waits until it runs.
function neighbour.start(name, hosts)
    local servant = rig.servant(neighbour.program(name, CLIENTS))
    return setmetatable({ name = name, hosts = hosts, servant = servant, connected = {},
                          used = {} }, Neighbour)
end


function Neighbour:hand(name)
    return setmetatable({ neighbour = self, name = name }, Hand)
end


function Neighbour:version()
    return (self.servant:greet():match "^ready %d+ (.+)$")
end


function Neighbour:stop()
    self.servant:stop()
end


local function command(hand, verb, ...)
    local name, self = hand.name, hand.neighbour
    self.servant:greet()
    if not self.connected[name] then
        self.servant:command("connect %s %s %d", name, self.hosts, SESSION_TIMEOUT)
        self.connected[name] = true
    end
    return self.servant:command("%s", table.concat({ verb, name, ... }, " "))
end


--- Drops the hands that have not released everything since the last time.
function Neighbour:tidy()
    for name, hand in pairs(self.used) do
        if hand:state() ~= "free" then
            command(hand, "drop")
            self.connected[name] = nil
        end
        self.used[name] = nil
    end
end


--- Begins to acquire; limit in seconds, nil for ever; data is text without spaces.
function Hand:take(kind, path, limit, data)
    self.neighbour.used[self.name] = self
    command(self, "take", kind, path, limit or "-", data or "-")
end


--- Returns "free", "waiting", "held" and the token, "timeout", or "failed" and the reason.
function Hand:state()
    local word, rest = command(self, "state"):match("^(%S+) ?(.*)$")
    return word, word == "held" and tonumber(rest) or rest
end


function Hand:elect(path, id)
    self.neighbour.used[self.name] = self
    command(self, "elect", path, id)
end

function Hand:leader() return command(self, "leader") end
function Hand:resign() command(self, "resign") end
function Hand:release() command(self, "release") end
function Hand:downgrade() command(self, "downgrade") end
function Hand:session() return command(self, "session") end


return neighbour
