--- checks.lua - parts of the suite that may catch a mutant, the cheapest first.
--
-- Each has its specs and `command`, which runs some of them in a tree. The lists of specs are the
-- Makefile's, by way of mutants.mk.

local shell = require "spec.mutants.shell"

local checks = {}


local function list_of(name)
    return shell.words(assert(os.getenv(name), name))
end


local NGINX = { "spec/nginx" }
-- Files that nginx never loads.
local NO_NGINX = { "lua/zklock/command/", "lua/zklock/seckill/[^dh]", "lua/zklock/seckill/d[^a]",
                   "lua/zklock/world", "lua/zklock/object/memory", "src/child/", "src/lua/" }
-- Files that Lua 5.4 does not load, because copas is LuaJIT's.
local ON_JIT = { ["lua/zklock/waiting/driver/copas.lua"] = { "spec/loops/copas_spec.lua" } }
local ALL = list_of "ALL_SPECS"
local BUSTED = [["$(command -v busted)" --exclude-tags=%s]]
local IN_MEMORY = "env ZKLOCK_SERVER=memory "
local ON_SERVER = "rig/zookeeper run -t 200 -- "

for _, check in ipairs{
    { name = "worlds", specs = list_of "IN_WORLDS", one_by_one = true,
      run = "env ZKLOCK_SERVER=memory SEED=1 lua5.4 spec/in_world.lua " ..
            "--exclude-tags=nginx,server,real" },
    { name = "memory", specs = list_of "IN_MEMORY",
      run = IN_MEMORY .. "lua5.4 " .. BUSTED:format "nginx,server,slow,clock" },
    { name = "luajit", specs = list_of "IN_MEMORY", traces = "memory", abi = "5.1", alone = ON_JIT,
      run = IN_MEMORY .. "luajit " .. BUSTED:format "nginx,server,slow,clock" },
    { name = "server", specs = ALL,
      run = ON_SERVER .. "lua5.4 " .. BUSTED:format "nginx,slow,clock" },
    { name = "nginx", specs = NGINX, without = NO_NGINX, abi = "5.1",
      run = ON_SERVER .. "luajit " .. BUSTED:format "slow,clock" },
    { name = "slow", specs = ALL,
      run = ON_SERVER .. "lua5.4 " .. BUSTED:format "nginx" .. " --tags=slow,clock" },
    { name = "slow-nginx", specs = NGINX, without = NO_NGINX, abi = "5.1",
      run = ON_SERVER .. "luajit " .. BUSTED:format "none" .. " --tags=slow,clock" },
} do
    checks[#checks + 1] = check
    checks[check.name] = check
end


-- Sets the paths of the tree's own zklock.
local function environment(check)
    local abi = check.abi or "5.4"
    return ([[env LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;;" LUA_CPATH="build/%s/?.so;;" ]] ..
            "ZKLOCK_LUA=%s "):format(abi, abi == "5.4" and "lua5.4" or "luajit")
end


--- Returns the command that runs specs in a tree. `words` are more of busted's options, and
-- `seconds` is the limit of its time; each process may use a minute of the processor.
function checks.command(check, tree, specs, words, seconds)
    return ("cd %s && ulimit -S -t 60 && %stimeout -k 5 %d %s -o TAP %s %s")
        :format(tree, environment(check), seconds, check.run, words, table.concat(specs, " "))
end


--- Returns busted's options for tests with these full names; option is --filter if left out.
function checks.filters(tests, option)
    local words = {}
    for _, name in ipairs(tests) do
        words[#words + 1] = shell.quote(("%s=^%s$"):format(option or "--filter",
                                                           (name:gsub("%p", "%%%0"))))
    end
    return table.concat(words, " ")
end


return checks
