--- A buyer that asks again if its session has expired, and if it finds its lock lost after it stood
--- still. With the parameter `gives_up` it goes away if its server is not connected.

-- The wait that hears of the expiry ends with it, and the next one has a new session.
local function enter(buyer)
    local hold, _, code = buyer:enter()
    return hold or code == "expired" and buyer:enter()
end


return function(buyer)
    local server = buyer.server
    if server.parameters.gives_up and server:session():state() ~= "connected" then
        buyer:note "KeeperErrorCode = ConnectionLoss"
        return buyer:tell "connection"
    end
    if not enter(buyer) then return end
    local stock = buyer:stock() -- where the breakpoint is
    if buyer.strategy:state(buyer.hold) == "lost" then
        buyer:leave()
        if not enter(buyer) then return end
        stock = buyer:stock()
    end
    buyer:buy_from(stock)
    buyer:leave()
end
