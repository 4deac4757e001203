--- A store that sells, and forgets the orders and the stock.

local Forgetful = {}
Forgetful.__index = Forgetful


function Forgetful.create(place) return setmetatable({ products = place.products }, Forgetful) end
Forgetful.open = Forgetful.create

function Forgetful:stock(product) return self.products[product] end
function Forgetful.sell() return true end
function Forgetful.orders() return {} end
function Forgetful.close() end


return Forgetful
