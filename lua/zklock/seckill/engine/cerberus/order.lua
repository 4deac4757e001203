--- The engines in the order of cerberus, each opened on first use.

local clock = require "zklock.waiting.runtime"
local engines = require "zklock.seckill.engine"
local failure = require "zklock.seckill.engine.failure"
local misuse = require "zklock.value.misuse"


---@class zklock.engine.Order
---@field names string[]
---@field parts table<string, { kind: string, options: table, life_after_process: number }>
---@field opened table<string, zklock.engine.Engine>
---@field closed boolean?
local Order = {}
Order.__index = Order


local order = {}


function order.list_of_names(value, name)
    if type(value) ~= "table" or not value[1] then
        misuse.refuse("%s must be a list of names of engines, not %s", name, misuse.show(value))
    end
    for _, each in ipairs(value) do
        if type(each) ~= "string" or each:find "[%s%c]" or each == "" then
            misuse.refuse("%s must have names without spaces, not %s", name, misuse.show(each))
        end
    end
end


function order.table_of_options(value, name)
    if type(value) ~= "table" then
        misuse.refuse("%s must be a table: options for each engine of the order, not %s", name,
            misuse.show(value))
    end
end


local function part_options(given, name)
    local own = {}
    for option, value in pairs((given.engines or {})[name] or {}) do own[option] = value end
    local kind = own.engine or name
    own.engine = nil
    return kind, own
end


local function validate_part(given, name)
    local kind, own = part_options(given, name)
    if kind == "cerberus" or kind == "sql-optimistic" then
        misuse.refuse("%s cannot be in the order of cerberus", kind)
    end
    engines.validate(kind, own)
end


---@param given { order: string[], engines: table<string, table>? }
function order.validate(given)
    local known = {}
    for _, name in ipairs(given.order) do
        if known[name] then misuse.refuse("order has %s twice", name) end
        known[name] = true
        validate_part(given, name)
    end
    for name in pairs(given.engines or {}) do
        if not known[name] then
            misuse.refuse("engines has %s, which is not in the order", misuse.show(name))
        end
    end
end


local function part_of(self, name)
    local part = self.parts[name]
    if part then return part end
    failure.raise("unsupported", ("the switch says %s, which is not in the order"):format(name))
end


--- The kind of an engine in the order, such as "redis-set".
function Order:kind(name) return part_of(self, name).kind end


--- Seconds that a lock of the engine may outlive its process.
function Order:life_after_process(name) return part_of(self, name).life_after_process end


--- Seconds that a lock may outlive a dropped lease. zklock releases a dropped lease at once.
function Order:life_after_lease(name)
    return self:kind(name) == "zookeeper" and 0 or self:life_after_process(name)
end


function Order:engine(name)
    if self.opened[name] then return self.opened[name] end
    local part = part_of(self, name)
    local opened, message = engines.open(part.kind, part.options)
    if not opened then failure.raise("connection", message) end
    -- Another coroutine may have opened it, or closed the order, meanwhile.
    if self.opened[name] or self.closed then opened:close() else self.opened[name] = opened end
    if self.closed then failure.raise("closed", "the engine is closed") end
    return self.opened[name]
end


local function lock_of(self, lock, name)
    lock.part_locks = lock.part_locks or {}
    local known = lock.part_locks[name]
    if known then return known end
    local engine = self:engine(name)
    local new
    if lock.kind == "read" or lock.kind == "write" then
        local both = assert(engine:rwlock(lock.name))
        new = lock.kind == "read" and both:read() or both:write()
    else
        new = assert(engine:mutex(lock.name, { fair = lock.kind == "fair" or nil }))
    end
    lock.part_locks[name] = new
    return new
end


--- Waits for the lock of one engine, unless it is no longer wanted once the engine is open.
---@param lock zklock.engine.Lock
---@param name string
---@param owner string
---@param request zklock.engine.Request
---@param is_wanted fun(): boolean
---@return zklock.engine.Lease? lease
---@return string? message
---@return string? code  also "timeout" if the lock is no longer wanted
function Order:acquire(lock, name, owner, request, is_wanted)
    local part = lock_of(self, lock, name)
    if not is_wanted() then return nil, "not wanted", "timeout" end
    local left = request.due and math.max(request.due - clock.now(), 0)
    request.awaited_engine = self.opened[name]
    local lease, message, code = part:acquire{ timeout = left, owner = owner }
    request.awaited_engine = nil
    return lease, message, code
end


--- The features that all engines share, and the switch.
function Order:has()
    local has = { switch = true }
    for feature in pairs(engines.has(self:kind(self.names[1]))) do
        has[feature] = true
        for _, name in ipairs(self.names) do
            has[feature] = has[feature] and engines.has(self:kind(name))[feature]
        end
    end
    -- A lease time is an option of each engine. Multi-locks and conditions do not switch.
    has.lease, has.multi, has.condition = nil, nil, nil
    return has
end


function Order:close()
    self.closed = true
    for _, engine in pairs(self.opened) do engine:close() end
end


---@param given { order: string[], engines: table<string, table>? }
---@return zklock.engine.Order
function order.new(given)
    local parts = {}
    for _, name in ipairs(given.order) do
        local kind, own = part_options(given, name)
        parts[name] = {
            kind = kind, options = own, life_after_process = engines.life(kind, own),
        }
    end
    return setmetatable({ names = given.order, parts = parts, opened = {} }, Order)
end


return order
