--- A request of a customer: buyers 1 and 2 are the requests of customer 1, on two servers, buyers 3
--- and 4 those of customer 3. The order is the customer's, so the second request wants nothing
--- itself. With the parameter `early` it is checked without the lock what there is already.

local function customer_of(buyer) return buyer.number - (buyer.number + 1) % 2 end


local function sell_to(customer)
    return function(store, order)
        order.buyer = customer
        return store:sell(order)
    end
end


local function order(buyer, customer, is_early)
    local store = buyer.store
    local has_order = is_early and store:has_ordered(customer)
    if not buyer:enter() then return end
    if not is_early then has_order = store:has_ordered(customer) end
    local stock = buyer:stock()
    if has_order then buyer:tell "sold" else buyer:buy_from(stock, sell_to(customer)) end
    buyer:leave()
end


-- The bank takes its time.
local function pay_once(buyer, customer)
    if buyer.store:is_paid(customer) then return end
    buyer:pause()
    buyer:note(("pays the order of customer %d"):format(customer))
    buyer.store:pay(customer, buyer.server.plan.prices[buyer.product])
end


local function pay(buyer, customer, is_early)
    local place = "ordered-" .. customer
    if buyer.number == customer then
        order(buyer, customer, false)
        buyer:come(place)
    else
        buyer:wait_for(place, 1)
    end
    if is_early then return pay_once(buyer, customer) end
    local strategy = buyer.strategy
    local hold = assert(strategy:enter("payment-" .. customer, buyer))
    pay_once(buyer, customer)
    strategy:leave(hold)
end


return function(buyer)
    local customer, parameters = customer_of(buyer), buyer.server.parameters
    if buyer.number ~= customer then buyer:want{} end
    local step = parameters.pays and pay or order
    step(buyer, customer, parameters.early)
    if not buyer.told then buyer:tell "sold" end
end
