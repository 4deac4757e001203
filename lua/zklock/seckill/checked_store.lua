--- Checks and returns the values of a store. The error for a wrong value names the store.

local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"

local show = misuse.show


local METHODS = { "stock", "sell", "orders", "close" }


local checked_store = {}


local function is_whole(value) return option.is_whole(value, -2 ^ 53, 2 ^ 53) end


local function complain(name, text, ...)
    error(("the store %s: "):format(name) .. text:format(...), 0)
end


function checked_store.opened(name, store)
    for _, method in ipairs(METHODS) do
        if type(store) ~= "table" or not store[method] then
            complain(name, "it opens to something without %s", method)
        end
    end
    return store
end


function checked_store.stock(name, product, stock)
    if not is_whole(stock) then
        complain(name, "its stock of %s is %s, not a whole number", product, show(stock))
    end
    return stock
end


---@param name string
---@param written any
---@return any written  never nil
function checked_store.written(name, written)
    if written == nil then
        complain(name, "the write has no result: true, or false if it is refused")
    end
    return written
end


local function check_order(name, order, products)
    if type(order) ~= "table" then complain(name, "an order is %s, not a table", show(order)) end
    if not products[order.product] then
        complain(name, "an order is of product %s, which is not sold", show(order.product))
    end
    if order.buyer ~= nil and not is_whole(order.buyer) then
        complain(name, "an order has the buyer %s, not a whole number", show(order.buyer))
    end
    if not is_whole(order.quantity) then
        complain(name, "an order has the quantity %s, not a whole number", show(order.quantity))
    end
    if order.paid ~= nil and type(order.paid) ~= "number" then
        complain(name, "an order has the payment %s, not a number", show(order.paid))
    end
end


local function orders_of(name, store, products)
    local orders = store:orders()
    if type(orders) ~= "table" then
        complain(name, "its orders are %s, not a list", show(orders))
    end
    for _, order in ipairs(orders) do check_order(name, order, products) end
    return orders
end


---@param plan zklock.seckill.Plan
---@param store table
---@return table<string, integer> left  by product
---@return table[] orders
function checked_store.read(plan, store)
    local name, left = plan.store, {}
    for product in pairs(plan.products) do
        left[product] = checked_store.stock(name, product, store:stock(product))
    end
    return left, orders_of(name, store, plan.products)
end


return checked_store
