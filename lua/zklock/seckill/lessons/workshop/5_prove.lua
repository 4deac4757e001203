--- Exercise 5: prove. Write down a property, a statement that is true of each sale of a right shop,
-- whatever happens. A thousand schedules with faults then look for a sale of which it is false.
--
--     sale.stock      buns before the sale
--     sale.left       buns that the store has left in the end
--     sale.orders     writes that the store has accepted, each of one bun
--     sale.told       how many buyers were told what: sale.told.sold, sale.told["sold out"],
--                     sale.told.failed
--     sale.untold     how many buyers were told nothing, because their server was killed; such a
--                     buyer may have an order, or none

return function(sale)
    assert(sale.left >= 0, "less than nothing is left")
end
