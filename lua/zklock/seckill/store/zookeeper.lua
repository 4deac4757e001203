--- The store of a sale in ZooKeeper, with a node for each product's stock and for each buyer's
--- order. A transaction writes both, and only while the writer's lease exists, so late writes are
--- impossible. (No token is needed, because the next holder reads after the end of this lease.)
---
--- Without a lease of zklock (under other strategies) a buyer writes under the store's own lease,
--- which nobody else requests.

local zklock = require "zklock"


local SESSION_TIMEOUT = 10 -- seconds


---@class zklock.seckill.ZooKeeperStore
local Store = {}
Store.__index = Store


local zookeeper = {}


local function product_path(place, product)
    return ("%s/stock-%s"):format(place.root, product)
end


local function order_path(place, buyer)
    return ("%s/order-%d"):format(place.root, buyer)
end


local function take_own_lease(self, name)
    return assert(self.session:mutex(("%s/writer-%s"):format(self.place.root, name)):acquire())
end


---@param place zklock.seckill.Place
---@param server zklock.seckill.Server?  nil in the process that runs or removes the sale
---@param name string?  part of the own lease's path; the server's number by default
function zookeeper.open(place, server, name)
    local self = setmetatable({
        place = place,
        session = server and server:session()
            or assert(zklock.connect(place.zookeeper, { timeout = SESSION_TIMEOUT })),
        owns_session = not server,
    }, Store)
    self.lease = take_own_lease(self, name or server and server.number or "main")
    return self
end


function zookeeper.create(place)
    local self = zookeeper.open(place)
    for product, stock in pairs(place.products) do
        assert(self.lease:guard{ { "create", product_path(place, product), ("%d"):format(stock) } })
    end
    return self
end


function Store:stock(product)
    return tonumber((assert(self.session:get(product_path(self.place, product)))))
end


-- The buyer's lease if it is a lease of zklock, else the store's.
local function lease_for(self, hold)
    if type(hold) == "table" and hold.guard then return hold end
    return self.lease
end


--- Writes the stock and the orders of a buyer, all or none.
---@param orders zklock.seckill.Order[]  one for each product
---@return boolean written  false if the lease was lost
function Store:sell_all(orders)
    local path, lines, writes = order_path(self.place, orders[1].buyer), {}, {}
    for i, order in ipairs(orders) do
        writes[i] = { "set", product_path(self.place, order.product), ("%d"):format(order.left) }
        lines[i] = ("%d %s %s"):format(order.quantity, order.product, order.paid or "-")
    end
    writes[#writes + 1] = { "create", path, table.concat(lines, "\n") }
    local written, message, code = lease_for(self, orders[1].hold):guard(writes)
    if code == "unknown" and self.session:get(path) then return true end -- it has happened
    if not written and code ~= "lost" then error(message, 0) end
    return written == true
end


function Store:sell(order) return self:sell_all{ order } end


function Store:orders()
    local orders = {}
    for buyer = 1, self.place.buyers do
        local text, message, code = self.session:get(order_path(self.place, buyer))
        assert(text or code == "no_node", message)
        for quantity, product, paid in (text or ""):gmatch "(%d+) (%S+) (%S+)" do
            orders[#orders + 1] = {
                buyer = buyer, product = product, quantity = tonumber(quantity),
                paid = tonumber(paid),
            }
        end
    end
    return orders
end


--- Removes the nodes of a sale. Nodes of locks vanish by themselves.
function zookeeper.remove(place)
    local self = zookeeper.open(place, nil, "remover")
    local function delete(path)
        local done, message, code = self.lease:guard{ { "delete", path } }
        assert(done or code == "no_node", message)
    end
    for product in pairs(place.products) do delete(product_path(place, product)) end
    for buyer = 1, place.buyers do delete(order_path(place, buyer)) end
    self:close()
end


-- If the server does not answer, the lease ends with the session.
function Store:close()
    self.lease:release()
    if self.owns_session then self.session:close() end
end


return zookeeper
