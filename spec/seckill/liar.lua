--- A store that breaks the contract of stores, as `parameters.lie` tells it to.

local Liar = {}
Liar.__index = Liar


local lies = {}

function lies.stock() return nil end
lies["half a stock"] = function() return 4.5 end
function lies.sell() end
function lies.orders() return nil end
lies["an order"] = function() return { "bun" } end
lies["a product"] = function() return { { buyer = 1, product = "tea", quantity = 1 } } end
lies["a buyer"] = function() return { { buyer = "1", product = "bun", quantity = 1 } } end
lies["a quantity"] = function() return { { buyer = 1, product = "bun" } } end
lies["a payment"] = function()
    return { { buyer = 1, product = "bun", quantity = 1, paid = "3" } }
end


function Liar.create(place)
    local lie = place.parameters.lie
    if lie == "nothing" then return {} end
    local self = setmetatable({ products = place.products }, Liar)
    self[lie:match "stock$" or lie:match "^sell$" or "orders"] = lies[lie]
    return self
end
Liar.open = Liar.create

function Liar:stock(product) return self.products[product] end
function Liar.sell() return true end
function Liar.orders() return {} end
function Liar.close() end


return Liar
