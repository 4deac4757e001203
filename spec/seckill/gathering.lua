--- A purchase of buyers that all meet in each of the places of `parameters.places`.

return function(buyer)
    for _, place in ipairs(buyer.server.parameters.places) do
        buyer:wait_for(place, buyer.server.plan.buyers)
    end
    buyer:come "the end"
    if not buyer:enter() then return end
    buyer:try_to_buy()
    buyer:leave()
end
