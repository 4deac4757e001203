--- A purchase that buys, and tells the buyer that nothing is left.

return function(buyer)
    if not buyer:enter() then return end
    buyer:write(buyer:stock() - 1)
    buyer:tell "refused"
    buyer:leave()
end
