--- The verdict on a sale by a shopkeeper's rules. They compare the requests and the answers of
--- buyers with the orders and the stock in the store.

local cause = require "zklock.seckill.cause"
local expectation = require "zklock.seckill.expectation"
local figures = require "zklock.seckill.figures"
local record = require "zklock.seckill.record"
local sorted_names = require "zklock.value.sorted_names"
local stuck = require "zklock.seckill.stuck"


local verdict = {}


---@class zklock.seckill.Account  the input of the rules
---@field plan zklock.seckill.Plan
---@field outcome zklock.seckill.Outcome
---@field products table<string, { stock: integer, left: integer, ordered: integer }>
---@field orders table<integer, table[]>  by buyer
---@field asked table<integer, true>      buyers that asked for a lock or got an answer
---@field requests zklock.seckill.Purchase[]  also the earlier ones of buyers
---@field returned table<string, true>    products with pieces given back
---@field last_grants table<string, number>  results of last_grant_with, by quantity and product
---@field has_cause fun(purchase: zklock.seckill.Purchase): boolean  of a failure
---@field in_vain table<zklock.seckill.Purchase, true>  buyers that waited in vain


-- requests, answers and orders of a buyer --------------------------------------------------------

local IN_DOUBT = {
    connection = true, error = true, hung = true, lost = true, unanswered = true, unknown = true,
    untold = true,
}

-- True if the answer leaves open whether the buyer bought. A buyer that never got its lock did not
-- buy.
local function is_in_doubt(purchase)
    local had_turn = not purchase.asked or purchase.granted
    return had_turn and IN_DOUBT[purchase.outcome] or false
end


---@param purchase zklock.seckill.Purchase
---@return table<string, integer> wants  pieces by product
local function wants_of(purchase)
    return purchase.wants or { [purchase.product] = purchase.quantity }
end


-- Returns what the buyer wanted each time that it was told "sold".
local function sold_to(purchase)
    local sold = {}
    for _, each in ipairs(record.requests{ purchase }) do
        if each.outcome == "sold" then sold[#sold + 1] = wants_of(each) end
    end
    return sold
end


-- Returns the number of answers "sold", and the number of possible purchases.
local function count_purchases(purchase)
    local told = #sold_to(purchase)
    return told, told + (is_in_doubt(purchase) and 1 or 0)
end


-- Returns the number of the buyer's orders beyond its answers "sold", for each product that it
-- wanted; and the number of its orders of other products.
local function count_orders(purchase, account)
    local beyond, others = {}, 0
    for product in pairs(wants_of(purchase)) do beyond[product] = 0 end
    for _, wants in ipairs(sold_to(purchase)) do
        for product in pairs(wants) do beyond[product] = (beyond[product] or 0) - 1 end
    end
    for _, order in ipairs(account.orders[purchase.buyer] or {}) do
        if beyond[order.product] then beyond[order.product] = beyond[order.product] + 1
        else others = others + 1 end
    end
    return beyond, others
end


-- Returns the least and the greatest number of these products.
local function range(numbers, products)
    local least, most
    for product in pairs(products) do
        local number = numbers[product]
        least, most = math.min(least or number, number), math.max(most or number, number)
    end
    return least or 0, most or 0
end


-- False if the buyer wants nothing.
local function can_be_served(purchase, products)
    local wants = wants_of(purchase)
    for product, quantity in pairs(wants) do
        if products[product].left < quantity then return false end
    end
    return next(wants) ~= nil
end


-- rules ----------------------------------------------------------------------------------------

local function pieces(count)
    return ("%d %s"):format(count, count == 1 and "piece" or "pieces")
end


-- Pieces sold and left beyond the initial stock; negative if pieces are gone.
local function surplus(product) return product.left + product.ordered - product.stock end


-- Adjusts "buyers were told …" to "1 buyer was told …".
local function counted(count, text)
    if count == 1 then
        text = text:gsub("^buyers were", "buyer was"):gsub("^(%l+)s are", "%1 is")
            :gsub("^(%l+)s (%l+)", "%1 %2")
    end
    return count .. " " .. text
end


local function quoted_outcomes(purchases)
    local known, words = {}, {}
    for _, each in ipairs(purchases) do known[each.outcome] = true end
    for i, outcome in ipairs(sorted_names(known)) do words[i] = ('"%s"'):format(outcome) end
    return table.concat(words, " or ")
end


-- The last grant to a buyer that found at least `quantity` pieces and bought some of them.
local function last_grant_with(product, quantity, requests)
    local last = -math.huge
    for _, purchase in ipairs(requests) do
        local bought_it = purchase.product == product and purchase.left and purchase.granted
        if bought_it and purchase.left + (purchase.pieces or purchase.quantity) >= quantity then
            last = math.max(last, purchase.granted)
        end
    end
    return last
end


-- True if a buyer whose grant came after this buyer's answer still found enough for this buyer.
local function was_found_later(purchase, account)
    local product, quantity = next(wants_of(purchase))
    if not product or next(wants_of(purchase), product) then return false end
    local key = ("%d %s"):format(quantity, product)
    account.last_grants[key] = account.last_grants[key]
        or last_grant_with(product, quantity, account.requests)
    return purchase.told ~= nil and purchase.told < account.last_grants[key]
end


-- True if the stock was enough when the buyer was told "refused". A later stock proves this, unless
-- pieces were returned or the product's numbers are wrong.
local function was_enough(purchase, account)
    for product in pairs(wants_of(purchase)) do
        if account.returned[product] or surplus(account.products[product]) ~= 0 then
            return false
        end
    end
    return can_be_served(purchase, account.products) or was_found_later(purchase, account)
end


local function was_sold_enough(purchase, account)
    return count_purchases(purchase) >= (account.plan.orders or 1)
end


local function is_served(purchase) return not figures.is_failed(purchase) end


local function any(list, is_so)
    for _, each in ipairs(list) do
        if is_so(each) then return true end
    end
    return false
end


---@class zklock.seckill.Rule
---@field name string
---@field verdict "wrong" | "stuck"
---@field subject "product" | "buyer" | "order" | "sale"  the rule is about each product, buyer, …
---@field broken fun(each, account: zklock.seckill.Account): any  true if `each` breaks the rule
---@field says string | fun(found): string  the reason; a number of buyers or orders precedes it.
---`found` is a product, a list of buyers or orders, or the result of `broken` for the sale

--- The rules in the order of the finding. A sale that breaks no rule is right; "wrong" outranks
--- "stuck".
---@type zklock.seckill.Rule[]
verdict.rules = {
    {
        name = "no product is oversold", verdict = "wrong", subject = "product",
        broken = function(product) return product.ordered > product.stock end,
        says = function(product)
            return ("%d sold of %s: %d more than there were"):format(product.ordered,
                pieces(product.stock), product.ordered - product.stock)
        end,
    },
    {
        name = "sold and left pieces add up to the stock", verdict = "wrong", subject = "product",
        broken = function(product)
            return product.ordered <= product.stock and surplus(product) ~= 0
        end,
        says = function(product)
            local by = surplus(product)
            return ("%d sold and %d left of %s: %d %s"):format(product.ordered, product.left,
                pieces(product.stock), math.abs(by), by > 0 and "sold, and still in stock"
                or "gone, and not sold")
        end,
    },
    {
        name = "each order is of a buyer who asked", verdict = "wrong", subject = "order",
        broken = function(order, account) return not account.asked[order.buyer] end,
        says = "orders are of nobody who asked",
    },
    {
        name = "each order is paid at the sale's price", verdict = "wrong", subject = "order",
        broken = function(order, account)
            local prices = account.plan.prices
            return prices and order.paid ~= prices[order.product] * order.quantity
        end,
        says = "orders are paid at another price",
    },
    {
        name = "each answer \"sold\" has an order", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local beyond, others = count_orders(purchase, account)
            return others == 0 and range(beyond, beyond) < 0
        end,
        says = "buyers were told \"sold\", without an order",
    },
    {
        name = "a buyer that cannot have bought has no order", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local _, most = count_purchases(purchase)
            return most == 0 and account.asked[purchase.buyer] and account.orders[purchase.buyer]
        end,
        says = function(purchases)
            return ("buyers were told %s, with an order"):format(quoted_outcomes(purchases))
        end,
    },
    {
        name = "no buyer has more orders than purchases", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local told, possible = count_purchases(purchase)
            local beyond = count_orders(purchase, account)
            local _, most = range(beyond, beyond)
            return possible > 0 and most > possible - told
        end,
        says = "buyers were charged more often than they were told",
    },
    {
        name = "no buyer exceeds the sale's limit of orders", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            return count_purchases(purchase) > (account.plan.orders or 1)
        end,
        says = "buyers were sold more orders than the sale allows",
    },
    {
        name = "a purchase orders all wanted products or none",
        verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local beyond, others = count_orders(purchase, account)
            local least, most = range(beyond, wants_of(purchase))
            local told, possible = count_purchases(purchase)
            return others == 0 and least >= 0 and least < most and most <= possible - told
        end,
        says = "buyers were sold a part of what they asked for",
    },
    {
        name = "each order is of a wanted product", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local _, others = count_orders(purchase, account)
            return others > 0 and account.asked[purchase.buyer]
        end,
        says = "buyers were sold another product",
    },
    {
        name = "each order has the wanted quantity", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            local wishes = sold_to(purchase)
            wishes[#wishes + 1] = wants_of(purchase)
            return any(account.orders[purchase.buyer] or {}, function(order)
                local function has_product(wants) return wants[order.product] ~= nil end
                local function fits(wants) return wants[order.product] == order.quantity end
                return any(wishes, has_product) and not any(wishes, fits)
            end)
        end,
        says = "buyers were sold another quantity",
    },
    {
        name = "no buyer is refused while the stock is enough",
        verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            return purchase.outcome == "refused" and was_enough(purchase, account)
                and not was_sold_enough(purchase, account)
        end,
        says = "buyers were told \"refused\", and enough was left",
    },
    {
        name = "each failure has a cause", verdict = "wrong", subject = "buyer",
        broken = function(purchase, account)
            return figures.is_failed(purchase) and next(wants_of(purchase))
                and not account.has_cause(purchase)
        end,
        says = "buyers failed without a cause",
    },
    {
        name = "the sale meets its option `expect`", verdict = "wrong", subject = "sale",
        broken = function(outcome, account)
            return expectation.unmet(account.plan.expect, outcome.purchases)
        end,
        says = function(unmet) return "expected " .. unmet end,
    },
    {
        name = "a buyer that waits gets the lock or an answer",
        verdict = "stuck", subject = "buyer",
        broken = function(purchase, account) return account.in_vain[purchase] end,
        says = "buyers waited in vain",
    },
    {
        name = "some buyer is served", verdict = "stuck", subject = "sale",
        broken = function(outcome, account)
            return next(account.in_vain) == nil and not outcome.by_chance
                and not any(outcome.purchases, is_served)
        end,
        says = function() return "no buyer was served" end,
    },
    {
        name = "each fault ends", verdict = "stuck", subject = "sale",
        broken = function(outcome) return outcome.endless end,
        says = function(fault)
            return ("the fault %s of %s did not end"):format(fault.kind, fault.target)
        end,
    },
}


-- judging --------------------------------------------------------------------------------------

local function account_of(plan, outcome, products)
    local account = {
        plan = plan, outcome = outcome, products = products, orders = {}, asked = {},
        requests = record.requests(outcome.purchases), returned = {}, last_grants = {},
        has_cause = cause.test_of(plan, outcome),
    }
    for _, order in ipairs(outcome.orders) do
        local buyer = order.buyer or false
        account.orders[buyer] = account.orders[buyer] or {}
        table.insert(account.orders[buyer], order)
    end
    for _, purchase in ipairs(outcome.purchases) do
        if purchase.asked or purchase.told then account.asked[purchase.buyer] = true end
        for product in pairs(purchase.returned or {}) do account.returned[product] = true end
    end
    account.in_vain = stuck.find(plan, outcome, outcome.late and plan.limit or outcome.seconds,
        function(purchase) return can_be_served(purchase, products) end)
    return account
end


local apply_rule = {}

function apply_rule.product(rule, account, add)
    local names = sorted_names(account.products)
    for _, name in ipairs(names) do
        local product = account.products[name]
        if rule.broken(product, account) then
            local says = rule.says(product)
            add(names[2] and name .. ": " .. says or says)
        end
    end
end


local function apply_to_list(list, rule, account, add)
    local broken = {}
    for _, each in ipairs(list) do
        if rule.broken(each, account) then broken[#broken + 1] = each end
    end
    if not broken[1] then return end
    local says = type(rule.says) == "string" and rule.says or rule.says(broken)
    add(counted(#broken, says))
end


function apply_rule.buyer(rule, account, add)
    apply_to_list(account.outcome.purchases, rule, account, add)
end


function apply_rule.order(rule, account, add)
    apply_to_list(account.outcome.orders, rule, account, add)
end


function apply_rule.sale(rule, account, add)
    local broken = rule.broken(account.outcome, account)
    if broken then add(rule.says(broken)) end
end


local function total_text(products)
    local total = { stock = 0, left = 0, ordered = 0 }
    for _, product in pairs(products) do
        for field in pairs(total) do total[field] = total[field] + product[field] end
    end
    return ("%d sold and %d left of %s"):format(total.ordered, total.left, pieces(total.stock))
end


local function failure_text(purchases)
    local counts, failures = figures.counts(purchases)
    if counts.failed == 0 then return nil end
    return ("%d of %d buyers failed (%s)"):format(counts.failed, #purchases,
        figures.outcomes_text(failures))
end


---@param plan zklock.seckill.Plan
---@param outcome zklock.seckill.Outcome
---@param products table<string, { stock: integer, left: integer, ordered: integer }>
---@return "right" | "wrong" | "stuck" verdict
---@return string finding
function verdict.of(plan, outcome, products)
    local account, found, reasons = account_of(plan, outcome, products), "right", {}
    for _, rule in ipairs(verdict.rules) do
        if rule.subject ~= "product" and not reasons[1] then reasons[1] = total_text(products) end
        apply_rule[rule.subject](rule, account, function(reason)
            found = found == "wrong" and found or rule.verdict
            reasons[#reasons + 1] = reason
        end)
    end
    reasons[#reasons + 1] = failure_text(outcome.purchases)
    if outcome.late then
        reasons[#reasons + 1] = ("ended after its limit of %g s"):format(plan.limit)
    end
    return found, table.concat(reasons, "; ")
end


return verdict
