--- A sale that is over: what came of it.

local distributions = require "zklock.seckill.distribution"
local fairness = require "zklock.seckill.fairness"
local misuse = require "zklock.value.misuse"
local overlaps = require "zklock.seckill.overlaps"
local report = require "zklock.seckill.report"
local sorted_names = require "zklock.value.sorted_names"
local stuck = require "zklock.seckill.stuck"


---@class zklock.seckill.Sale
---@field name string
---@field verdict "right" | "wrong" | "stuck"  stuck: nothing is wrong, and buyers waited in vain
---@field finding string   the sentence behind it
---@field in_vain boolean? it is wrong for that buyers waited in vain (a scenario's verdict)
---@field sold integer     buyers who were told that they have bought
---@field refused integer  buyers who were told that it is sold out
---@field failed integer   all others
---@field left integer     pieces in the store, of all products
---@field seconds number
---@field wait zklock.seckill.Distribution    from asking for the lock to having it
---@field hold zklock.seckill.Distribution    from having it to giving it up
---@field answer zklock.seckill.Distribution  from asking for the lock to being told
---@field fairness zklock.seckill.Fairness
---@field purchases zklock.seckill.Purchase[]
---@field overlaps zklock.seckill.Overlap[]
---@field faults zklock.seckill.Fault[]
---@field notes zklock.seckill.Note[]
---@field products table<string, { stock: integer, left: integer, ordered: integer }>
---@field seed integer?    of a simulated sale
---@field story string?    of a simulated sale: what happened, a line a step
---@field messages zklock.seckill.Message[]?  of a simulated sale
local Sale = { __name = "zklock.seckill.sale" }
Sale.__index = Sale


local sale = {}


-- the verdict -----------------------------------------------------------------------------------

-- Stock at first, in the store now, and in orders.
local function count_products(plan, outcome)
    local products = {}
    for name, stock in pairs(plan.products) do
        products[name] = { stock = stock, left = outcome.left[name], ordered = 0 }
    end
    for _, order in ipairs(outcome.orders) do
        local product = products[order.product]
        product.ordered = product.ordered + order.quantity
    end
    return products
end


-- Does an order belong to what a buyer was told? Of other outcomes nothing follows.
local HAS_ORDER = { sold = true, refused = false, late = false }

-- Why orders and what buyers were told differ; nil: they do not.
local function lie_of(outcome)
    local ordered, counts = {}, { sold = 0, refused = 0, late = 0 }
    for _, order in ipairs(outcome.orders) do ordered[order.buyer or false] = true end
    for _, purchase in ipairs(outcome.purchases) do
        local told = purchase.outcome
        if HAS_ORDER[told] ~= nil and HAS_ORDER[told] ~= (ordered[purchase.buyer] or false) then
            counts[told] = counts[told] + 1
        end
    end
    for _, told in ipairs{ "sold", "refused", "late" } do
        local count = counts[told]
        if count > 0 then
            return ("%d %s told \"%s\", %s an order"):format(count,
                count == 1 and "buyer was" or "buyers were", told,
                HAS_ORDER[told] and "without" or "and with")
        end
    end
end


local function pieces(count)
    return ("%d %s"):format(count, count == 1 and "piece" or "pieces")
end


-- Why the product's numbers are wrong; nil: they are right.
local function fault_of(product)
    local off = product.left + product.ordered - product.stock
    if product.ordered > product.stock then
        return ("%d sold of %s: %d more than there were"):format(product.ordered,
            pieces(product.stock), product.ordered - product.stock)
    elseif off ~= 0 then
        return ("%d sold and %d left of %s: %d %s"):format(product.ordered, product.left,
            pieces(product.stock), math.abs(off), off > 0 and "sold, and still in stock"
            or "gone, and not sold")
    end
end


local function judge_store(products, outcome)
    local total = { stock = 0, left = 0, ordered = 0 }
    local names = sorted_names(products)
    for _, name in ipairs(names) do
        local product = products[name]
        for field in pairs(total) do total[field] = total[field] + product[field] end
        local fault = fault_of(product)
        if fault then return "wrong", names[2] and name .. ": " .. fault or fault end
    end
    local lie = lie_of(outcome)
    if lie then return "wrong", lie end
    return "right", ("%d sold and %d left of %s"):format(total.ordered, total.left,
        pieces(total.stock))
end


local COUNTED = { sold = "sold", refused = "refused" }

local function count_outcomes(purchases)
    local counts, failures = { sold = 0, refused = 0, failed = 0 }, {}
    for _, purchase in ipairs(purchases) do
        local what = COUNTED[purchase.outcome] or "failed"
        counts[what] = counts[what] + 1
        if what == "failed" then
            failures[purchase.outcome] = (failures[purchase.outcome] or 0) + 1
        end
    end
    return counts, failures
end


-- What the plan expects otherwise; nil: nothing.
local function unmet(expect, purchases)
    if not expect then return nil end
    local counts, words = count_outcomes(purchases), {}
    for _, name in ipairs(sorted_names(expect)) do
        if counts[name] ~= expect[name] then
            words[#words + 1] = ("%d %s and not %d"):format(expect[name], name, counts[name])
        end
    end
    return words[1] and "expected " .. table.concat(words, ", ")
end


local function judge(plan, products, outcome)
    local verdict, finding = judge_store(products, outcome)
    local other = unmet(plan.expect, outcome.purchases)
    if not other then return verdict, finding end
    return "wrong", finding .. "; " .. other
end


--- The verdict on what is left, on the orders and on what buyers were told.
---@param plan zklock.seckill.Plan
---@param outcome { left: table<string, integer>, orders: table[], purchases: table[] }
---@return "right"|"wrong" verdict
---@return string finding
function sale.judge(plan, outcome) return judge(plan, count_products(plan, outcome), outcome) end


local function has_answers(purchases)
    for _, purchase in ipairs(purchases) do
        if not stuck.is_hung(purchase) then return true end
    end
    return false
end


-- The store knows nothing of buyers that waited in vain, nor of a sale that never ends, nor of one
-- that came to nothing.
local function complete(self, outcome)
    local limit = self.plan.limit
    local waited = stuck.count(outcome, self.products, outcome.late and limit or self.seconds)
    if waited > 0 then
        self.verdict = self.verdict == "right" and "stuck" or self.verdict
        self.finding = ("%s; %d %s waited in vain"):format(self.finding, waited,
            waited == 1 and "buyer" or "buyers")
    elseif self.verdict == "right" and not has_answers(self.purchases) then
        self.verdict, self.finding = "stuck", self.finding .. "; no buyer got an answer"
    end
    if outcome.late then
        self.finding = ("%s; ended after its limit of %g s"):format(self.finding, limit)
    end
end


-- numbers ---------------------------------------------------------------------------------------

local function measure(self)
    self.wait, self.hold = distributions.new(), distributions.new()
    self.answer = distributions.new()
    for _, purchase in ipairs(self.purchases) do
        local asked, granted, released = purchase.asked, purchase.granted, purchase.released
        if granted then self.wait:add(granted - asked) end
        if granted and released then self.hold:add(released - granted) end
        if asked and purchase.told then self.answer:add(purchase.told - asked) end
    end
end


local function total_left(products)
    local left = 0
    for _, product in pairs(products) do left = left + product.left end
    return left
end


--- The sale that a play's outcome makes.
---@param plan zklock.seckill.Plan
---@param outcome zklock.seckill.Outcome
---@return zklock.seckill.Sale
function sale.of(plan, outcome)
    local self = setmetatable({
        name = plan.name, plan = plan, strategy = plan.strategy, store = plan.store,
        buyers = plan.buyers, servers = plan.servers,
        purchases = outcome.purchases, notes = outcome.notes, faults = outcome.faults,
        seconds = outcome.seconds, products = count_products(plan, outcome),
        messages = outcome.messages,
    }, Sale)
    local counts
    counts, self.failures = count_outcomes(self.purchases)
    for name, count in pairs(counts) do self[name] = count end
    measure(self)
    self.left = total_left(self.products)
    self.verdict, self.finding = judge(plan, self.products, outcome)
    complete(self, outcome)
    self.fairness = fairness.of(self.purchases, plan.servers)
    self.overlaps = overlaps.of(self.purchases)
    return self
end


-- what is shown ---------------------------------------------------------------------------------

local function listed(failures)
    local words = {}
    for _, outcome in ipairs(sorted_names(failures)) do
        words[#words + 1] = ("%d %s"):format(failures[outcome], outcome)
    end
    return words[1] and " (" .. table.concat(words, ", ") .. ")" or ""
end


-- What strategy, store or purchase raised, and the first of that; "": nothing.
local function errors(notes)
    local count, first = 0, nil
    for _, note in ipairs(notes) do
        local message = note.line:match "^error: (.*)$"
        if message then
            count = count + 1
            first = first or message
        end
    end
    if count == 0 then return "" end
    return ("\n%d %s, the first: %s"):format(count, count == 1 and "error" or "errors", first)
end


--- The verdict, and the numbers, in two lines; and the first error, if there was one.
function Sale:__tostring()
    return ("%s: %s, %s\n%d %s: %d sold, %d refused, %d failed%s in %.2f s; waited %s%s"):format(
        self.name, self.verdict:upper(), self.finding, self.buyers,
        self.buyers == 1 and "buyer" or "buyers", self.sold, self.refused, self.failed,
        listed(self.failures), self.seconds, tostring(self.wait), errors(self.notes))
end


-- Of the plan: what a reader has to know to understand the sale. What else there is stands beside.
local OPTIONS = {
    "quantity", "purchase", "lock", "pause", "hold", "timeout", "fenced", "session", "seed",
    "limit", "simulated", "expect", "parameters",
}

local function options_of(plan)
    local options = {}
    for _, name in ipairs(OPTIONS) do options[name] = plan[name] end
    return options
end


local function server_names(count)
    local names = {}
    for number = 1, count do names[number] = "server " .. number end
    return names
end


--- What a report tells of it; see zklock.seckill.report.
---@return table
function Sale:record()
    local stock, left, ordered = {}, {}, {}
    for name, product in pairs(self.products) do
        stock[name], left[name], ordered[name] = product.stock, product.left, product.ordered
    end
    return {
        name = self.name, strategy = self.strategy, store = self.store,
        verdict = self.verdict, finding = self.finding, in_vain = self.in_vain,
        expect = self.expect, explanation = self.explanation,
        products = stock, left = left, ordered = ordered,
        buyers = self.buyers, sold = self.sold, refused = self.refused, failed = self.failed,
        seconds = self.seconds, servers = server_names(self.servers), faults = self.faults,
        fairness = self.fairness, purchases = self.purchases, overlaps = self.overlaps,
        failures = self.failures, notes = self.notes, messages = self.messages,
        options = options_of(self.plan),
    }
end


--- All of it as plain tables: what JSON has. Its fields are the sale's.
---@return table
function Sale:fields()
    local fields = self:record()
    fields.products, fields.left, fields.ordered = self.products, self.left, nil
    fields.servers = self.servers
    fields.wait, fields.hold = self.wait:fields(), self.hold:fields()
    fields.answer = self.answer:fields()
    fields.seed, fields.story = self.seed, self.story
    return fields
end


local function contents(self)
    if getmetatable(self) ~= Sale then
        misuse.refuse("a report is a sale's, as in sale:report(file), and not that of %s",
            misuse.show(self))
    end
    return { title = self.name, sales = { self:record() } }
end


--- Writes a report, as one HTML file.
---@param file string
---@return true?
---@return string? message
function Sale:report(file) return report.write(file, contents(self)) end


--- Writes all of it, as JSON: its `fields`.
---@param file string
---@return true?
---@return string? message
function Sale:json(file)
    local all = contents(self)
    all.sales[1] = self:fields()
    return report.json(file, all)
end


--- Writes the purchases, a line each.
---@param file string
---@return true?
---@return string? message
function Sale:csv(file) return report.csv(file, contents(self)) end


return sale
