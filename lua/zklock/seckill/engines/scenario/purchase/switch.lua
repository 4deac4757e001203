--- Some buyers come at once, and the others, one after the other, when something has happened in
--- the middle of the sale (DEMO-21). The buyer that has the lock then has read the stock before,
--- and writes when another has read it, too, or has not for a while. Each buyer notes by which
--- engines it has the lock, as far as that is known.

local barrier = require "zklock.seckill.barrier"
local zklock = require "zklock"


local APART = 0.02 -- seconds
local MIDDLE = 3   -- so many have read the stock before anything happens


local function come(buyer)
    local late = buyer.number - buyer.server.parameters.early
    if late <= 0 then return end
    buyer.server:wait_for("it has happened", 1, zklock.sleep)
    zklock.sleep(late * APART)
end


local function note_engines(buyer)
    local number, names = buyer.hold:epoch()
    if number then buyer:note("by " .. names) end
end


-- A buyer that reads the stock meanwhile has the lock beside this one.
local function wait_for_another(buyer, place, count)
    buyer:come "it has happened"
    barrier.wait(place, count + 1, buyer.server.parameters.watch, zklock.sleep)
    buyer:note_hold()
end


local function read(buyer)
    local stock = buyer.store:stock(buyer.product)
    local place = buyer.server.folder .. "/read"
    local count = barrier.arrived(place)
    if count >= MIDDLE and buyer.server.faults:hit(buyer) then
        wait_for_another(buyer, place, count)
    else
        buyer:come "read"
    end
    return stock
end


return function(buyer)
    come(buyer)
    if not buyer:enter() then return end
    note_engines(buyer)
    local stock = read(buyer)
    buyer:pause()
    buyer:buy(stock - buyer.quantity)
    buyer:leave()
end
