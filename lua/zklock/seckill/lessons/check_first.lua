--- A purchase that checks its lease right before the write.

return function(buyer)
    if not buyer:enter() then return end
    local stock = buyer:stock()
    buyer:pause()
    buyer:note_hold()
    if buyer.hold:held() then
        buyer:buy_from(stock)
    else
        buyer:tell "lost"
    end
    buyer:leave()
end
