--- A server of a sale as a process. Run as
---     lua server_process.lua FILE NUMBER
--- with the plan of the sale in FILE.

local core = require "zklock.core"
local faults = require "zklock.seckill.fault"
local json_file = require "zklock.seckill.json_file"
local patience = require "zklock.seckill.patience"
local records = require "zklock.seckill.record"
local servers = require "zklock.seckill.server"


local LONGEST_START = 60 -- seconds; the sale ends sooner if a server does not start


local function block(seconds) core.poll({}, seconds) end


local function run(file_name, number)
    local plan = json_file.read(file_name)
    math.randomseed(plan.seed * 1000 + number)
    local server = servers.new(plan, number, records.create(plan.folder, number))
    server:open()
    server.faults, server.patience = faults.watch(server), patience.new(server)
    server:come "start"
    assert(server.places:wait("start", plan.servers + 1, LONGEST_START, block))
    server:serve()
    server:close()
end


io.stdout:setvbuf "line"
local ok, message = pcall(run, arg[1], tonumber(arg[2]))
print(ok and "done" or "error " .. (tostring(message):gsub("%s+", " ")))
os.exit(ok and 0 or 1, true)
