--- Three buyers, each in a server of its own (DEMO-18). The first buys, and is struck before it
--- gives its lock up, for longer than the lock lasts. The second has it meanwhile and has read the
--- stock when the first goes on and releases. The third waits for the lock from then on that the
--- second has it: if it comes in beside the second, both have read the same stock. The first does
--- not ask whether it still has the lock: then it would know better than to release it.

local barrier = require "zklock.seckill.barrier"
local zklock = require "zklock"


local function await(buyer, place) buyer.server:wait_for(place, 1, zklock.sleep) end

-- Faults strike in buyer:stock(); this does not.
local function read(buyer) return buyer.store:stock(buyer.product) end


local function first(buyer)
    if not buyer:enter{ lease = buyer.server.parameters.lease } then return end
    buyer:come "the first has it"
    buyer:buy(read(buyer) - buyer.quantity)
    buyer.server.faults:hit(buyer)
    buyer:leave()
    buyer:come "late release"
end


-- Writes when the third has read beside it, or has not for a while.
local function second(buyer)
    await(buyer, "the first has it")
    if not buyer:enter() then return end
    local stock = read(buyer)
    buyer:come "the second has it"
    await(buyer, "late release")
    barrier.wait(buyer.server.folder .. "/the third has it", 1, buyer.server.parameters.watch,
        zklock.sleep)
    buyer:note_hold()
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end


local function third(buyer)
    await(buyer, "the second has it")
    if not buyer:enter() then return end
    local stock = read(buyer)
    buyer:come "the third has it"
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end


local roles = { first, second, third }

return function(buyer) roles[buyer.number](buyer) end
