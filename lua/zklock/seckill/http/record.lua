--- The record of a sale over HTTP. It combines the records of all workers with the clients' times
--- of requests and answers. Requests without a buyer's number, such as wrk's, are only in the
--- workers' records.

local records = require "zklock.seckill.record"
local seed_article = require "zklock.seckill.seed"
local servers = require "zklock.seckill.http.server"


local record = {}


local function new_purchases()
    return setmetatable({}, { __index = function(purchases, number)
        local purchase = {
            buyer = number, product = seed_article.PRODUCT, lock = seed_article.PRODUCT,
            quantity = 1, outcome = "unanswered",
        }
        purchases[number] = purchase
        return purchase
    end })
end


-- Adds to `purchases` and `notes`. Returns the time of the last line.
local function read_server(run, number, purchases, notes)
    local added, last = new_purchases(), 0
    for worker = 1, servers.WORKERS do
        local folder = run.servers[number].folder
        last = math.max(last, records.read(folder, worker, run.began_at, added, notes) or 0)
    end
    for buyer, purchase in pairs(added) do
        purchase.server = number
        purchases[buyer] = purchase
    end
    return last
end


-- A hold without a release ends with its server, which lived at least until `last`.
local function end_holds(purchases, number, last)
    for _, purchase in pairs(purchases) do
        if purchase.server == number and purchase.granted and not purchase.released then
            purchase.ended = last
        end
    end
end


local function sorted_list(purchases)
    local list = {}
    for _, purchase in pairs(purchases) do list[#list + 1] = purchase end
    table.sort(list, function(a, b) return a.buyer < b.buyer end)
    return list
end


---@class zklock.seckill.http.Record
---@field purchases zklock.seckill.Purchase[]
---@field notes table[]
---@field faults zklock.seckill.Fault[]
---@field seconds number  until the last known event

function record.of(run)
    local purchases, notes, faults, seconds = new_purchases(), {}, {}, 0
    for number, server in ipairs(run.servers) do
        local last = read_server(run, number, purchases, notes)
        if server.killed_at then
            local at = math.max(last, server.killed_at - run.began_at)
            faults[#faults + 1] = { at = at, kind = "kill", target = "server " .. number }
            last = at
        end
        end_holds(purchases, number, last)
        seconds = math.max(seconds, last)
    end
    for buyer, observation in ipairs(run.observations) do
        local purchase = purchases[buyer]
        for name, value in pairs(observation) do purchase[name] = value end
        seconds = math.max(seconds, observation.told or 0)
    end
    table.sort(notes, function(a, b) return a.at < b.at end)
    return { purchases = sorted_list(purchases), notes = notes, faults = faults, seconds = seconds }
end


return record
