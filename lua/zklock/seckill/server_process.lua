--- A server of a sale as a process. Run as
---     lua server_process.lua FILE NUMBER
--- with the plan of the sale in FILE. It reports its end at descriptor 3.

local barrier = require "zklock.seckill.barrier"
local core = require "zklock.core"
local faults = require "zklock.seckill.fault"
local json_file = require "zklock.seckill.json_file"
local hang_detector = require "zklock.seckill.hang_detector"
local records = require "zklock.seckill.record"
local servers = require "zklock.seckill.server"


local LONGEST_START = 60 -- seconds; the parent ends the sale sooner if a server does not start


local function block(seconds) core.sleep(seconds) end


local report = assert(io.open("/dev/fd/3", "w"))
report:setvbuf "line"

-- Reports a strategy, a store or a purchase that calls os.exit.
local exit = os.exit

function os.exit(status, ...) -- luacheck: ignore
    local number = (status == nil or status == true) and 0 or status or 1
    report:write(("error exited with status %d: something called os.exit\n"):format(number))
    exit(status, ...)
end


local function run(file_name, number)
    local plan = json_file.read(file_name)
    local relay = plan.relay_addresses["server " .. number]
    if relay then plan.zookeeper, plan.place.zookeeper = relay, relay end
    math.randomseed(plan.seed * 1000 + number)
    local server = servers.new(plan, number, records.create(plan.folder, number))
    server:open()
    server.faults, server.hang_detector = faults.of_server(server), hang_detector.new(server)
    barrier.come(plan.folder .. "/ready-" .. number)
    barrier.come(plan.folder .. "/start")
    assert(barrier.wait(plan.folder .. "/start", plan.servers + 1, LONGEST_START, block))
    server:serve()
    server:close()
end


local ok, message = pcall(run, arg[1], tonumber(arg[2]))
report:write(ok and "done" or "error " .. (tostring(message):gsub("%s+", " ")), "\n")
exit(ok and 0 or 1, true)
