--- A purchase of a program that knows that servers fail: a buyer that is told "connection" asks
--- again, for `again` seconds of the sale's parameters. At the place "read" are the buyers that
--- have the lock and have read the stock.

local core = require "zklock.core"
local zklock = require "zklock"


local PAUSE = 0.25 -- seconds


local function enter(buyer)
    local due
    while true do
        local hold, _, code = buyer:enter()
        if hold then return true end
        due = due or core.now() + buyer.server.parameters.again
        if code ~= "connection" or core.now() > due then return false end
        zklock.sleep(PAUSE)
    end
end


return function(buyer)
    if not enter(buyer) then return end
    local stock = buyer:stock() -- here the fault strikes
    buyer:come "read"
    buyer:pause()
    buyer:buy_from(stock)
    buyer:leave()
end
