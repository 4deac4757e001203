--- A finished sale with its figures and verdict.

local fairness = require "zklock.seckill.fairness"
local figures = require "zklock.seckill.figures"
local misuse = require "zklock.value.misuse"
local overlaps = require "zklock.seckill.overlaps"
local report = require "zklock.seckill.report"
local strategies = require "zklock.seckill.strategies"
local verdicts = require "zklock.seckill.verdict"


---@class zklock.seckill.Sale
---@field name string
---@field verdict "right" | "wrong" | "stuck"  from zklock.seckill.verdict
---@field finding string   the reason for the verdict, a sentence
---@field in_vain boolean? wrong because buyers waited in vain (set by a scenario)
---@field sold integer     buyers told that they bought
---@field refused integer  buyers told that the product is sold out
---@field failed integer   buyers with other answers or none
---@field left integer     pieces in the store, over all products
---@field seconds number
---@field wait zklock.seckill.Distribution    from the request for the lock to its grant
---@field hold zklock.seckill.Distribution    from grant to release
---@field answer zklock.seckill.Distribution  from the request for the lock to the answer
---@field unlocked boolean?  the strategy admits all buyers at once
---@field fairness zklock.seckill.Fairness
---@field purchases zklock.seckill.Purchase[]
---@field overlaps zklock.seckill.Overlap[]
---@field faults zklock.seckill.Fault[]
---@field notes zklock.seckill.Note[]
---@field products table<string, { stock: integer, left: integer, ordered: integer }>
---@field seed integer?    of a simulated sale
---@field story string?    of a simulated sale, a line for each step
---@field schedule string?  the name of its schedule, if a systematic search found it
---@field depth integer?   the least depth of `pct` at which its seed is wrong, with `pct` only
---@field moment zklock.Moment?  the step that made the wrong end likely, if an exploration found it
---@field messages zklock.seckill.Message[]?  of a simulated sale
local Sale = { __name = "zklock.seckill.sale" }
Sale.__index = Sale


local sale = {}


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


---@param plan zklock.seckill.Plan
---@param outcome zklock.seckill.Outcome
---@return "right"|"wrong"|"stuck" verdict
---@return string finding
function sale.judge(plan, outcome)
    return verdicts.of(plan, outcome, count_products(plan, outcome))
end


local function total_left(products)
    local left = 0
    for _, product in pairs(products) do left = left + product.left end
    return left
end


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
    counts, self.failures = figures.counts(self.purchases)
    for name, count in pairs(counts) do self[name] = count end
    for name, times in pairs(figures.times(self.purchases)) do self[name] = times end
    self.left = total_left(self.products)
    self.verdict, self.finding = verdicts.of(plan, outcome, self.products)
    local strategy = strategies.load(plan.strategy) or {}
    self.unlocked = strategy.unlocked
    self.fairness = fairness.of(self.purchases, plan.servers, strategy.fifo)
    self.overlaps = overlaps.of(self.purchases)
    return self
end


-- reports ---------------------------------------------------------------------------------------

-- The number of errors of strategy, store and purchase, and the first error.
local function error_summary(notes)
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


function Sale:__tostring()
    return ("%s: %s, %s\n%d %s: %d sold, %d refused, %d failed in %.2f s; waited %s%s"):format(
        self.name, self.verdict:upper(), self.finding, self.buyers,
        self.buyers == 1 and "buyer" or "buyers", self.sold, self.refused, self.failed,
        self.seconds, tostring(self.wait), error_summary(self.notes))
end


-- Options in a report's table; other options stand elsewhere in the report.
local OPTIONS = {
    "arrivals", "quantity", "orders", "prices", "purchase", "lock", "pause", "hold", "timeout",
    "fenced", "session", "seed", "limit", "simulated", "expect", "parameters",
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


--- The sale as a table for reports (zklock.seckill.report).
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
        fairness = self.fairness, unlocked = self.unlocked,
        purchases = self.purchases, overlaps = self.overlaps,
        failures = self.failures, notes = self.notes, messages = self.messages,
        moment = self.moment,
        options = options_of(self.plan),
    }
end


--- The whole sale as plain tables, for JSON.
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


local function report_contents(self)
    if getmetatable(self) ~= Sale then
        misuse.refuse("a report is a sale's, as in sale:report(file), and not that of %s",
            misuse.show(self))
    end
    return { title = self.name, sales = { self:record() } }
end


---@param file string
---@return true?
---@return string? message
function Sale:report(file) return report.write(file, report_contents(self)) end


---@param file string
---@return true?
---@return string? message
function Sale:json(file)
    local all = report_contents(self)
    all.sales[1] = self:fields()
    return report.json(file, all)
end


---@param file string
---@return true?
---@return string? message
function Sale:csv(file) return report.csv(file, report_contents(self)) end


return sale
