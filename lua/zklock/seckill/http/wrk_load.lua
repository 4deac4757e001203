--- The load of wrk, 200 connections that buy until the product is sold out.

local process = require "zklock.system.process"

local SCRIPT = package.searchpath("zklock.seckill.http.wrk", package.path) -- luacheck: std max


local CONNECTIONS = 200
local SECONDS = 2 -- duration of wrk's run
local PATIENCE = 15 -- seconds more until wrk is ended


local wrk_load = {}


local function numbers(text)
    local result = {}
    for name, digits in text:gmatch "([%w_]+)=(%d+)" do result[name] = tonumber(digits) end
    return result
end


---@param ports integer[]
---@param path string
---@param reaper zklock.system.Reaper
---@return { sold: integer, other: integer, lost: integer } told
---@return zklock.seckill.Latency latency
function wrk_load.run(ports, path, reaper)
    local running = process.start("wrk", {
        "env", "ZKLOCK_PORTS=" .. table.concat(ports, ","),
        "wrk", "-t2", "-c" .. CONNECTIONS, ("-d%ds"):format(SECONDS), "--timeout", "10s",
        "-s", SCRIPT, ("http://127.0.0.1:%d%s"):format(ports[1], path),
    }, SECONDS + PATIENCE, reaper)
    local result = numbers(running:expect "result")
    running:finish()
    -- wrk stops without waiting for answers, so each connection may have lost one more.
    return { sold = result.sold, other = result.other, lost = result.lost + CONNECTIONS }, {
        answers = result.sold + result.sold_out + result.other,
        seconds = result.duration / 1e6, median = result.median / 1e6, p99 = result.p99 / 1e6,
        max = result.max / 1e6,
    }
end


return wrk_load
