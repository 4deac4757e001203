--- A purchase that notes how often ZooKeeper has woken its server, once it has bought.

return function(buyer)
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
    buyer:note("woken " .. buyer.server:session():stats().events)
end
