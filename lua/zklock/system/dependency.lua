--- Loads Lua modules that only engines, the command line and the laboratory need, or says what to
-- install.

local missing = require "zklock.system.missing"

local packages = {
    argparse = { debian = "lua-argparse", rock = "argparse" },
    dkjson = { debian = "lua-dkjson", rock = "dkjson" },
    ["luasql.mysql"] = { debian = "lua-sql-mysql", rock = "luasql-mysql" },
    ["luasql.sqlite3"] = { debian = "lua-sql-sqlite3", rock = "luasql-sqlite3" },
    redis = { debian = "lua-redis", rock = "redis-lua", path = "/usr/share/lua/5.3/?.lua" },
    socket = { debian = "lua-socket", rock = "luasocket" },
}


-- Debian installs lua-redis for versions up to 5.3, but it is plain Lua for any version.
local function load_elsewhere(name, path)
    local file = path and package.searchpath(name, path) -- luacheck: std max
    if not file then return nil end
    package.loaded[name] = assert(loadfile(file))(name)
    return package.loaded[name]
end


local dependency = {}


---@param name string
---@return table module
function dependency.load(name)
    local found, module = pcall(require, name)
    if found then return module end
    local about = packages[name]
    module = load_elsewhere(name, about.path)
    if module then return module end
    missing.raise(("the Lua module %s is not installed: apt install %s, or luarocks install %s")
        :format(name, about.debian, about.rock))
end


return dependency
