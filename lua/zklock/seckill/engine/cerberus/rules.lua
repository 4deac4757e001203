--- The rules of the switch, which tell the engines of the next epoch, without asking a server.
---
--- An epoch has a number and one engine, or two on the way from one to the other. A lock needs a
--- grant of all its epoch's engines, in order. So
---
---     { A }  →  { A, B }   at any time, because a holder of A excludes all clients of A
---     { A, B }  →  { A }   at any time, for the same reason
---     { A, B }  →  { B }   once nobody has a lease of an epoch before { A, B }
---
--- are the only steps. docs/design/cerberus.md tells why they keep the locks.


---@class zklock.engine.Epoch
---@field number integer
---@field engines string[]  one, or two
---@field wish_version integer  last version of the switch that was considered
---@field version integer?  of the epoch's node

---@class zklock.engine.Wish
---@field text string       an engine's name; any other text means the next in the order
---@field version integer   of the switch's node


local rules = {}


--- The text of the epoch's node is "NUMBER WISH_VERSION ENGINE", or with two engines.
function rules.text(epoch)
    return ("%d %d %s"):format(epoch.number, epoch.wish_version, table.concat(epoch.engines, " "))
end


---@param text string
---@return zklock.engine.Epoch?  nil for another text
function rules.parse(text)
    local number, wish_version, names = text:match "^(%d+) (%-?%d+) ([^ ].*)$"
    if not number then return nil end
    local engines = {}
    for name in names:gmatch "%S+" do engines[#engines + 1] = name end
    return {
        number = tonumber(number), wish_version = tonumber(wish_version), engines = engines,
    }
end


local function index_of(order, name)
    for i, each in ipairs(order) do
        if each == name then return i end
    end
end


-- The next engine in the order; the first follows the last.
local function engine_after(order, name)
    return order[(index_of(order, name) or 0) % #order + 1]
end


--- The engine that the switch means.
---@param order string[]
---@param present string  the engine in use
---@param text string     of the switch
---@return string
function rules.meant(order, present, text)
    return index_of(order, text) and text or engine_after(order, present)
end


-- An unknown name is considered once; if not, each epoch would move on to the next engine.
local function target_of(epoch, order, wish)
    if not index_of(order, wish.text) and wish.version == epoch.wish_version then
        return epoch.engines[#epoch.engines]
    end
    return rules.meant(order, epoch.engines[1], wish.text)
end


local function next_epoch(epoch, engines, wish_version)
    return { number = epoch.number + 1, engines = engines, wish_version = wish_version }
end


--- The next epoch that the switch demands; nil if it demands none.
---@param epoch zklock.engine.Epoch
---@param order string[]
---@param wish zklock.engine.Wish
---@return zklock.engine.Epoch? following
---@return boolean? must_wait  until nobody has a lease of an epoch before `epoch`
function rules.following(epoch, order, wish)
    local from, to = epoch.engines[1], epoch.engines[2]
    local target = target_of(epoch, order, wish)
    if to and target == to then return next_epoch(epoch, { to }, wish.version), true end
    if to then return next_epoch(epoch, { from }, epoch.wish_version), false end
    if target ~= from then return next_epoch(epoch, { from, target }, wish.version), false end
end


return rules
