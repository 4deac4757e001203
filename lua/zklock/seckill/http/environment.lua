--- The environment of the sale over HTTP, with nginx as servers and SQLite or MariaDB as the store.

local database = require "zklock.seckill.database"
local dependency = require "zklock.system.dependency"
local latency = require "zklock.seckill.http.latency"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local shell = require "zklock.system.shell"
local runs = require "zklock.seckill.http.run"


local PORTS = { 8080, 8081 } -- the seed article's


local environment = {
    command = "lua lua/zklock/seckill/http/demo.lua",
    description = "The flash sale over HTTP: two nginx servers sell from one store, without a "
        .. "lock, with a lock that each server has for itself, and with zklock. Every verdict is "
        .. "read from the store.",
    title = "The flash sale over HTTP",
    example = "HTTP-03,HTTP-04",
    modules = { "luasql.sqlite3", "socket", "dkjson" },
    open_run = runs.open,
    summary = latency.table,
}


local function two_ports(text) -- an argparse converter
    local first, second = text:match "^(%d+),(%d+)$"
    local ports = { tonumber(first), tonumber(second) }
    for i = 1, 2 do
        if not ports[i] or ports[i] < 1 or ports[i] > 65535 then ports = {} end
    end
    if ports[2] and ports[1] ~= ports[2] then return ports end
    return nil, ("%q are not two ports, as in 8080,8081"):format(text)
end


local function store(text) -- an argparse converter
    if text == "sqlite" or text == "mysql" or database.parts(text) then return text end
    return nil, ("%q is no store: sqlite, mysql, or mysql://USER:PASSWORD@HOST:PORT"):format(text)
end


---@param parser table  argparse's
function environment.describe(parser)
    parser:option("--ports", "Ports of the two servers, on 127.0.0.1 (default 8080,8081).")
        :argname "A,B" :convert(two_ports)
    parser:option("--store", "sqlite: a file of the run (the default); mysql: a throwaway MariaDB; "
        .. "mysql://USER:PASSWORD@HOST:PORT: yours, where each scenario makes a database "
        .. "of its own, zklock_…, and drops it.")
        :argname "STORE" :convert(store)
end


---@param given table  argparse's result
---@return table
function environment.read(given)
    return { ports = given.ports or PORTS, store = given.store or "sqlite" }
end


local function complaint_of(port)
    local listener = dependency.load("socket").bind("127.0.0.1", port)
    if not listener then
        return ("port %d is taken: choose two others with --ports A,B"):format(port)
    end
    listener:close()
end


local function needs_wrk(scenarios)
    for _, scenario in ipairs(scenarios) do
        if scenario.wrk then return true end
    end
end


function environment.missing(options)
    local found, message = true, nil
    if options.store ~= "sqlite" then found, message = pcall(dependency.load, "luasql.mysql") end
    if not found then return message end
    return shell.lacks(os.getenv "NGINX" or "nginx")
        or needs_wrk(options.scenarios) and shell.lacks "wrk"
        or options.store == "mysql" and shell.lacks "mariadbd"
        or complaint_of(options.ports[1]) or complaint_of(options.ports[2]) or nil
end


function environment.prepare(options, reaper)
    if options.store == "mysql" then options.store = mariadb.start(reaper) end
end


function environment.introduction(options)
    return ([[
POST /mall/commodity/purchase to nginx on 127.0.0.1, ports %d and %d, two workers each.
Orders are rows; stock and orders together must be the stock of the beginning. A wrong strategy must
be seen to fail. All numbers are read from the store, %s.
Between reading and writing the stock a request pauses %g s (--pause; under wrk 1 ms).

]]):format(options.ports[1], options.ports[2],
        options.store == "sqlite" and "an SQLite file" or "MariaDB", options.pause)
end


return environment
