--- The scene of a fault: for each engine one who holds its lock, one who waits for it, and a third.
-- All engines are struck at the same time, for they mostly wait.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local SETTLED = 0.5 -- seconds after which those who wait do wait

local Scene = {}
Scene.__index = Scene

local scene = {}


-- In a session of their own: Ctrl-C is for the benchmark, and they end with it.
local function start_player(cast, lock, lua)
    return rig.servant(("setsid %s bench/engines/player.lua %s %s %s"):format(lua or LUA,
        cast.contender.engine, lock, cast.options))
end


--- Starts the players. `casts`: a list of { contender, options, lua_of_waiter }; each has a lock of
-- its own, whose name begins with `lock`.
function scene.open(casts, lock)
    local self = setmetatable({ casts = {} }, Scene)
    for i, cast in ipairs(casts) do
        local name = ("%s-%d"):format(lock, i)
        self.casts[i] = {
            contender = cast.contender, holder = start_player(cast, name),
            waiter = start_player(cast, name, cast.lua_of_waiter),
            third = start_player(cast, name),
        }
    end
    for _, cast in ipairs(self.casts) do
        cast.holder:greet()
        cast.waiter:greet()
        cast.third:greet()
    end
    return self
end


--- Tells that player of each engine something.
function Scene:tell(role, ...)
    for _, cast in ipairs(self.casts) do cast[role]:tell(...) end
end


--- The answers of that player of each engine go into its cast, under a name.
function Scene:answers(role, name)
    for _, cast in ipairs(self.casts) do cast[name] = cast[role]:answer() end
end


--- All holders have the lock, and the others wait for it until that many seconds after the moment
-- that is given then.
function Scene:take(limit)
    self:tell("holder", "take %.6f", core.now() + limit)
    self:answers("holder", "had")
    for _, cast in ipairs(self.casts) do
        if cast.had == "never" then error(cast.contender.label .. ": nobody has the lock", 0) end
    end
    local moment = core.now() + SETTLED
    self:tell("waiter", "take %.6f", moment + limit)
    return moment
end


--- Sends all holders a signal, all at once.
function Scene:signal(name)
    local pids = {}
    for i, cast in ipairs(self.casts) do pids[i] = cast.holder:greet() end
    rig.shell("kill -%s %s", name, table.concat(pids, " "))
end


function scene.sleep_until(moment) zklock.sleep(math.max(moment - core.now(), 0)) end


--- Ends all players, also those that were killed.
function Scene:close()
    local pids = {}
    for _, cast in ipairs(self.casts) do
        for _, role in ipairs{ "holder", "waiter", "third" } do
            pids[#pids + 1] = cast[role]:greet()
        end
    end
    rig.shell("kill -KILL %s 2>&1", table.concat(pids, " "))
end


return scene
