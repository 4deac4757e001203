--- A purchase that notes the numbers of `parameters.numbers`, with all digits.

return function(buyer)
    for _, number in ipairs(buyer.server.parameters.numbers) do
        buyer:note(("%.17g"):format(number))
    end
    buyer:tell "refused"
end
