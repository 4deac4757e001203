--- A purchase without a pause, as S4's: no other buyer of the server has its turn in between.

return function(buyer)
    if not buyer:enter() then return end
    buyer:buy_from(buyer:stock())
    buyer:leave()
end
