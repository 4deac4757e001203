--- A record in the compact form of the page, where 10 000 purchases take less than a megabyte.
--- Lists become columns. Times are whole microseconds, repeated names are indices from 0 into a
--- list, and -1 means none (for a stock, which may be below 0, "").

local json = require "zklock.seckill.report.json"
local records = require "zklock.seckill.record"
local sorted_names = require "zklock.value.sorted_names"
local words = require "zklock.seckill.report.words"


local columns = {}

local NONE = -1


local function microseconds(seconds)
    return seconds and math.floor(seconds * 1e6 + 0.5) or NONE
end


local function column(list, value_of)
    local values = json.list{}
    for i, entry in ipairs(list) do values[i] = value_of(entry) end
    return values
end


local function time_column(list, name)
    return column(list, function(entry) return microseconds(entry[name]) end)
end


local function stock(record)
    local list = {}
    for i, product in ipairs(sorted_names(record.products or {})) do
        local first = record.products[product]
        local left, ordered = (record.left or {})[product], (record.ordered or {})[product]
        list[i] = {
            product = product, first = first, left = left, ordered = ordered,
            mismatch = words.mismatch_of(first, left, ordered),
        }
    end
    return list
end


local function faults(record)
    return column(record.faults or {}, function(fault)
        return { at = microseconds(fault.at), ended = microseconds(fault.ended),
                 kind = fault.kind, target = fault.target }
    end)
end


-- Times when buyers learned that their hold was suspect or lost, from the record or their notes.
local function beliefs(record)
    local known = { suspect = {}, lost = {} }
    for _, note in ipairs(record.notes or {}) do
        local times = known[note.line:match "its hold is (%l+)$"]
        if times then times[note.buyer] = times[note.buyer] or note.at end
    end
    return function(state)
        return function(each)
            return microseconds(each[state] or each.granted and known[state][each.buyer])
        end
    end
end


local function purchases(list, belief, product_index, lock_index, outcome_index)
    return {
        buyer = column(list, function(each) return each.buyer or NONE end),
        server = column(list, function(each) return (each.server or 0) - 1 end),
        product = column(list, function(each) return product_index(each.product) end),
        lock = column(list, function(each) return lock_index(each.lock or each.product) end),
        shared = column(list, function(each) return each.shared and 1 or 0 end),
        asked = time_column(list, "asked"),
        granted = time_column(list, "granted"),
        released = time_column(list, "released"), ended = time_column(list, "ended"),
        token = column(list, function(each) return each.token and tostring(each.token) or "" end),
        left = column(list, function(each) return each.left or "" end),
        written = time_column(list, "written"), told = time_column(list, "told"),
        suspect = column(list, belief "suspect"), lost = column(list, belief "lost"),
        outcome = column(list, function(each) return outcome_index(each.outcome or "") end),
        quantity = column(list, function(each) return each.pieces or each.quantity or 1 end),
    }
end


-- Writes of purchases, except their last one of their own product.
local function writes(list, product_index)
    local all, purchase_index = {}, {}
    for i, purchase in ipairs(list) do
        for _, write in ipairs(purchase.writes or {}) do
            all[#all + 1], purchase_index[#purchase_index + 1] = write, i - 1
        end
    end
    return {
        purchase = purchase_index, at = time_column(all, "at"),
        product = column(all, function(each) return product_index(each.product) end),
        left = column(all, function(each) return each.left end),
        quantity = column(all, function(each) return each.quantity or 1 end),
    }
end


local function overlaps(list, lock_index)
    return {
        lock = column(list, function(each) return lock_index(each.lock) end),
        from = time_column(list, "from"), to = time_column(list, "to"),
        holders = column(list, function(each) return each.holders end),
    }
end


local function notes(record)
    return column(record.notes or {}, function(note)
        return { at = microseconds(note.at), server = (note.server or 0) - 1, buyer = note.buyer,
                 token = note.token, line = note.line }
    end)
end


local function messages(list, lock_index)
    if not list then return nil end
    local texts, text_index = json.indices()
    return {
        server = column(list, function(each) return each.server - 1 end),
        kind = column(list, function(each) return each.kind end),
        sent = time_column(list, "sent"), arrived = time_column(list, "arrived"),
        lock = column(list, function(each) return each.lock and lock_index(each.lock) or NONE end),
        text = column(list, function(each) return text_index(each.text) end), texts = texts,
    }
end


-- Numbers of failed buyers by outcome.
local function reasons(record)
    local counts, list = {}, {}
    for _, purchase in ipairs(record.purchases) do
        local outcome = purchase.outcome or "unknown"
        if outcome ~= "sold" and outcome ~= "refused" then
            counts[outcome] = (counts[outcome] or 0) + 1
        end
    end
    for i, outcome in ipairs(sorted_names(counts)) do
        list[i] = { outcome = outcome, count = counts[outcome] }
    end
    return list
end


local function settings(record)
    local list = {}
    for i, name in ipairs(sorted_names(record.options or {})) do
        local value = record.options[name]
        list[i] = { name = name, value = type(value) == "table" and json.encode(value, name)
            or tostring(value) }
    end
    return list
end


-- The step from which the sale was likely to end wrong; nil if no exploration looked for it.
local function moment_of(moment)
    if not moment then return nil end
    local curve = moment.curve
    return {
        step = moment.step, text = moment.text, seeds = moment.seeds, wrong = moment.wrong,
        before = moment.before,
        curve = {
            step = column(curve, function(each) return each.step end),
            at = time_column(curve, "at"),
            wrong = column(curve, function(each) return each.wrong end),
        },
    }
end


--- The part of a record that the page needs.
---@param record table
---@param is_history boolean  its verdict comes from a check, not from a store
---@return table
function columns.of(record, is_history)
    local products, product_index = json.indices()
    local locks, lock_index = json.indices()
    local outcomes, outcome_index = json.indices()
    local requests = records.requests(record.purchases)
    local of_requests = setmetatable({ purchases = requests }, { __index = record })
    return {
        name = record.name, strategy = record.strategy, store = record.store,
        verdict = record.verdict, finding = record.finding, expect = record.expect,
        explanation = record.explanation, why = words.why(of_requests, is_history),
        history = is_history or nil,
        stock = stock(record), unlocked = record.unlocked,
        settings = settings(record), fenced = (record.options or {}).fenced,
        notes = notes(record), reasons = is_history and {} or reasons(record),
        buyers = record.buyers, sold = record.sold, refused = record.refused,
        failed = record.failed, seconds = microseconds(record.seconds or 0),
        servers = record.servers, faults = faults(record),
        overtakes = record.fairness and record.fairness.overtakes,
        lead = record.fairness and record.fairness.lead
            and microseconds(record.fairness.lead),
        byToken = record.fairness and record.fairness.by_token,
        jain = record.fairness and record.fairness.jain,
        purchases = purchases(requests, beliefs(record), product_index, lock_index, outcome_index),
        writes = writes(requests, product_index),
        overlaps = overlaps(record.overlaps, lock_index),
        messages = messages(record.messages, lock_index),
        moment = moment_of(record.moment),
        products = products, locks = locks, outcomes = outcomes,
    }
end


return columns
