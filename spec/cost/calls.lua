--- calls.lua LIBRARY - counts the functions that acquire(3) of a free, plain mutex and its release
-- enter, with LIBRARY, a zklock.core without optimization, in a world. The world's own functions do
-- not count. No function may be in a file of a rarer feature.

local tracer = require "tracer"
local zklock = require "zklock"

local LIBRARY = arg[1]
local MOST = 650 -- calls in C

-- Files that such an acquire does not use.
local RARE = {
    ["turn.c"] = "turns", ["keep.c"] = "kept locks", ["kept.c"] = "kept locks",
    ["multi.c"] = "multi-locks",
    ["condition.c"] = "conditions", ["max_waiters.c"] = "limits", ["permits.c"] = "permits",
}


-- --- the run --------------------------------------------------------------------------------

local in_lua = {} -- sources, in the order of the calls

local function count_lua_calls()
    local function note() in_lua[#in_lua + 1] = debug.getinfo(2, "S").source end
    debug.sethook(coroutine.running(), note, "c")
end


local function trace()
    local addresses
    local function acquire()
        local lock = zklock.connect("memory:calls"):mutex "/lock"
        assert(lock:acquire(3)):release{ wait = 3 } -- the path is known from now on
        count_lua_calls()
        tracer.begin()
        local lease = assert(lock:acquire(3))
        lease:release()
        addresses = tracer.finish()
        debug.sethook(coroutine.running(), nil, "")
    end
    assert(zklock.world(function(world) world:process("one", acquire) end):run())
    return addresses
end


-- --- entered functions ----------------------------------------------------------------------

local function each_function(addresses, fn)
    local list = assert(io.open(LIBRARY .. ".calls", "w"))
    for _, address in ipairs(addresses) do list:write(("%#x\n"):format(address)) end
    list:close()
    local pipe = assert(io.popen(("addr2line -f -e %s <%s.calls"):format(LIBRARY, LIBRARY)))
    for name in pipe:lines() do
        local room, file = pipe:read "l":match "(%w+)/([%w_]+%.[ch]):%d"
        if room then fn(name, room, file) end
    end
    pipe:close()
end


local function count_c(addresses)
    local calls, files, rare = 0, {}, {}
    each_function(addresses, function(name, room, file)
        if room == "world" or room == "memory" or file == "world.c" then return end
        calls = calls + 1
        files[room .. "/" .. file] = true
        if RARE[file] and not rare[name] then
            rare[name] = true
            rare[#rare + 1] = ("%s (%s)"):format(name, RARE[file])
        end
    end)
    return calls, files, rare
end


local function count_lua()
    local calls, files = 0, {}
    for _, source in ipairs(in_lua) do
        local file = source:match "^@.*lua/zklock/(.*)$"
        if file and not file:find "^world/" then
            calls = calls + 1
            files[file] = true
        end
    end
    return calls, files
end


local function count_keys(set)
    local count = 0
    for _ in pairs(set) do count = count + 1 end
    return count
end


local addresses = trace()
local c, c_files, rare = count_c(addresses)
local lua, lua_files = count_lua()
print(("a free acquire(3) and its release: %d calls in C, %d files; %d calls in Lua, %d files")
    :format(c, count_keys(c_files), lua, count_keys(lua_files)))
for _, each in ipairs(rare) do print("    enters " .. each) end
local within = c <= MOST and not rare[1]
if not within then
    print(("    allowed: %d calls in C, and none of rarer features"):format(MOST))
end
print(("%d passed, %d failed"):format(within and 1 or 0, within and 0 or 1))
os.exit(within and 0 or 1)
