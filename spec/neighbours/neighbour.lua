--- Programs that use other ZooKeeper clients' own locks, each in its client's language.
-- exclusion.lua and loop.lua tell them every step.
--
--   neighbour.start(NAME, HOSTS)   NAME: "Curator", "kazoo", "go-zookeeper"; of the machine, or of
--                                  packages that are unpacked in $ZKLOCK_CLIENTS
--
-- A hand is a session, opened by the hand's first command, and holds one lock at a time. Commands
-- are lines, and each is answered at once by "ok …" or "error: …":
--
--   take HAND KIND PATH LIMIT DATA   begins to acquire. KIND: mutex, read, write (kazoo: also
--                       stock and extra, see kazoo_neighbour.py); LIMIT: seconds, 0 to try, "-"
--                       for ever; DATA: text of the node, without spaces
--   state HAND          free, waiting, held CZXID, timeout, failed MESSAGE
--   release HAND        answers when it is done
--   downgrade HAND      a writer becomes a reader in the client's way
--   elect HAND PATH ID  stands for election by that id, and holds the lead as a lock (Curator)
--   leader HAND         names the leader (Curator)
--   resign HAND         gives up the lead (Curator)
--   session HAND        the hand's session, in hexadecimal
--   drop HAND           closes the hand's session, whatever the hand does
--   quit                closes all sessions and ends

local rig = require "spec.rig"

local neighbour = {}

local CLIENTS = os.getenv("ZKLOCK_CLIENTS") or ""
local BUILD = (CLIENTS ~= "" and CLIENTS or os.getenv("ZKLOCK_BUILD") or "build") .. "/neighbours"

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


--- Returns the command for a Java program with Curator: the folder of its unpacked packages ("" for
-- the machine's), the program's folder, class and heap in megabytes, and more flags.
function neighbour.java(root, folder, class, heap, flags)
    local jars = {}
    for i, name in ipairs(JARS) do jars[i] = ("%s/usr/share/java/%s.jar"):format(root, name) end
    return table.concat({
        "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData",
        ("-Xmx%dm %s"):format(heap, flags or ""),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        "-Dclock.offset=" .. clock_offset(),
        ("-cp %s:%s"):format(folder, table.concat(jars, ":")), class,
    }, " ")
end


local PROGRAMS = {
    Curator = function() return neighbour.java(CLIENTS, BUILD, "Curator", 128) end,
    kazoo = function()
        return ("env PYTHONPATH=%s/usr/lib/python3/dist-packages /usr/bin/python3 " ..
                "spec/neighbours/kazoo_neighbour.py"):format(CLIENTS)
    end,
    ["go-zookeeper"] = function() return BUILD .. "/gozk" end,
}


local Neighbour, Hand = {}, {}
Neighbour.__index, Hand.__index = Neighbour, Hand


--- Starts a neighbour; greet() or the first command waits until it runs.
function neighbour.start(name, hosts)
    local servant = rig.servant(PROGRAMS[name]() .. " " .. hosts)
    return setmetatable({ name = name, servant = servant, used = {} }, Neighbour)
end


function Neighbour:hand(name)
    return setmetatable({ neighbour = self, name = name }, Hand)
end


function Neighbour:version()
    return (self.servant:greet():match "^ready (.+)$")
end


function Neighbour:stop()
    self.servant:stop()
end


local function command(hand, verb, ...)
    local servant = hand.neighbour.servant
    servant:greet()
    return servant:command("%s", table.concat({ verb, hand.name, ... }, " "))
end


--- Drops the hands that have not released everything since the last time.
function Neighbour:tidy()
    for name, hand in pairs(self.used) do
        if hand:state() ~= "free" then command(hand, "drop") end
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
