--- The scene of a fault. Each engine has a cast of three players, the holder of a lock, a waiter,
-- and a third. All engines are struck at the same time, because the players mostly wait.

local core = require "zklock.core"
local rig = require "spec.rig"
local zklock = require "zklock"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local SETTLED = 0.5 -- seconds until the waiters wait

local Scene = {}
Scene.__index = Scene

local scene = {}


-- setsid keeps Ctrl-C from the players, which end with the benchmark.
local function start_player(cast, lock, lua)
    return rig.servant(("setsid %s bench/engines/player.lua %s %s %s"):format(lua or LUA,
        cast.contender.engine, lock, cast.options))
end


--- Starts the players. `casts` is a list of { contender, options, lua_of_waiter }. Each cast has a
-- lock of its own, with a name that begins with `lock`.
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


--- Sends a command to that player of each engine.
function Scene:tell(role, ...)
    for _, cast in ipairs(self.casts) do cast[role]:tell(...) end
end


--- Notes the answer of that player of each engine in its cast, under `name`.
function Scene:note_answers(role, name)
    for _, cast in ipairs(self.casts) do cast[name] = cast[role]:answer() end
end


--- Lets all holders acquire their lock, and all waiters wait for it. Returns a time when all wait;
-- they give up `limit` seconds later.
function Scene:take(limit)
    self:tell("holder", "take %.6f", core.now() + limit)
    self:note_answers("holder", "granted")
    for _, cast in ipairs(self.casts) do
        if cast.granted == "never" then
            error(cast.contender.label .. ": nobody has the lock", 0)
        end
    end
    local time = core.now() + SETTLED
    self:tell("waiter", "take %.6f", time + limit)
    return time
end


--- Sends all holders a signal at once.
function Scene:signal(name)
    local pids = {}
    for i, cast in ipairs(self.casts) do pids[i] = cast.holder:greet() end
    rig.shell("kill -%s %s", name, table.concat(pids, " "))
end


function scene.sleep_until(time) zklock.sleep(math.max(time - core.now(), 0)) end


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
