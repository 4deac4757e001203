--- Lua modules that the laboratory needs and the library does not. They are
--- loaded when they are used, and who lacks one is told what to install.

local packages = {
    argparse = { debian = "lua-argparse", rock = "argparse" },
    dkjson = { debian = "lua-dkjson", rock = "dkjson" },
    ["luasql.mysql"] = { debian = "lua-sql-mysql", rock = "luasql-mysql" },
    ["luasql.sqlite3"] = { debian = "lua-sql-sqlite3", rock = "luasql-sqlite3" },
    socket = { debian = "lua-socket", rock = "luasocket" },
}


local dependency = {}


--- The module `name`, or an error that says how to get it.
---@param name string
---@return table module
function dependency.load(name)
    local found, module = pcall(require, name)
    if found then return module end
    local package = packages[name]
    error(("the laboratory needs the Lua module %s, which is not installed: "
        .. "apt install %s, or luarocks install %s")
        :format(name, package.debian, package.rock), 0)
end


return dependency
