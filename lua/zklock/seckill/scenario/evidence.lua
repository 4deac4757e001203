--- Evidence that scenarios read from the record of a sale.

local lock_name = require "zklock.seckill.lock_name"
local tokens = require "zklock.seckill.token"


local evidence = {}


local function in_order_of_grants(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        if purchase.granted then list[#list + 1] = purchase end
    end
    table.sort(list, function(a, b) return a.granted < b.granted end)
    return list
end


--- True if each grant of a lock has a greater token than the one before.
function evidence.tokens_grow(sale)
    local last = {}
    for _, purchase in ipairs(in_order_of_grants(sale)) do
        local token = purchase.token
        for _, lock in ipairs(token and lock_name.parts(purchase.lock) or {}) do
            if last[lock] and not tokens.is_less(last[lock], token) then return false end
            last[lock] = token
        end
    end
    return true
end


--- The purchase with the first grant after that time.
function evidence.next_grant_after(sale, time)
    for _, purchase in ipairs(in_order_of_grants(sale)) do
        if purchase.granted > time then return purchase end
    end
end


--- Seconds from the first fault, which killed a holder or its engine, to the next grant.
function evidence.wait_after_death(sale)
    local killed_at = assert(sale.faults[1], "nobody was killed").at
    local heir = assert(evidence.next_grant_after(sale, killed_at),
        "nobody had the lock after that")
    return heir.granted - killed_at
end


--- Raises an error unless that many bought, because a sale with unserved buyers proves nothing.
function evidence.require_served(sale, count)
    if sale.sold ~= count then
        error(("only %d of %d buyers were served"):format(sale.sold, count), 0)
    end
end


--- True if two purchases, for which fits(a, b) is true, held locks at the same time.
---@param sale zklock.seckill.Sale
---@param fits fun(a: zklock.seckill.Purchase, b: zklock.seckill.Purchase): boolean
---@return boolean
function evidence.held_at_once(sale, fits)
    local open = {}
    for _, purchase in ipairs(in_order_of_grants(sale)) do
        local still_open = { purchase }
        for _, other in ipairs(open) do
            if (other.released or math.huge) > purchase.granted then
                if fits(other, purchase) then return true end
                still_open[#still_open + 1] = other
            end
        end
        open = still_open
    end
    return false
end


--- The captures of each note that matches, in order of time, with buyer, server and token.
---@param sale zklock.seckill.Sale
---@param pattern string
---@return { [integer]: string, buyer: integer, server: integer, token: string? }[] list
function evidence.match_notes(sale, pattern)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local found = { note.line:match(pattern) }
        if found[1] then
            found.buyer, found.server, found.token = note.buyer, note.server, note.token
            list[#list + 1] = found
        end
    end
    return list
end


--- The buyers' notes of their holds (Buyer:note_hold).
---@param sale zklock.seckill.Sale
---@return { [1]: string, buyer: integer }[]  "held", "lost" …
function evidence.hold_notes(sale) return evidence.match_notes(sale, "^its hold is (%l+)$") end


--- Makes the sale's verdict wrong because buyers waited in vain, which the store does not show.
function evidence.convict(sale, finding)
    sale.verdict, sale.finding, sale.in_vain = "wrong", finding, true
end


--- A line of a log.
---@class zklock.seckill.Entry
---@field at number
---@field who string
---@field line string
---@field token string?

--- The buyers' notes, with names for their servers.
---@param sale zklock.seckill.Sale
---@param name string  of a server, with %d for its number
---@return zklock.seckill.Entry[]
function evidence.log(sale, name)
    local log = {}
    for i, note in ipairs(sale.notes) do
        log[i] = {
            at = note.at, who = name:format(note.server), line = note.line, token = note.token,
        }
    end
    return log
end


-- The events of a purchase as { time, line }. The time is false if the event did not happen.
local function events_of(purchase)
    return {
        { purchase.granted or false, "got the lock" },
        { purchase.written or false, ("wrote a stock of %d"):format(purchase.left or 0) },
        { purchase.outcome == "late" and purchase.told, "was refused by the store" },
        { purchase.released or false, "releases the lock" },
    }
end


local FAULT_LINES = { stop = "is stopped", kill = "is killed", cut = "is cut off" }

--- The log with events of each purchase, and the faults.
function evidence.story(sale, name)
    local story = evidence.log(sale, name)
    local function add(at, who, line, token)
        story[#story + 1] = { at = at, who = who, line = line, token = token }
    end
    for _, purchase in ipairs(sale.purchases) do
        for _, event in ipairs(events_of(purchase)) do
            if event[1] then
                add(event[1], name:format(purchase.server), event[2], purchase.token)
            end
        end
    end
    for _, fault in ipairs(sale.faults) do
        local line = FAULT_LINES[fault.kind]
        add(fault.at, fault.target, line or fault.kind)
        if fault.ended and line then add(fault.ended, fault.target, "goes on") end
    end
    table.sort(story, function(a, b) return a.at < b.at end)
    return story
end


--- The outcome of a scenario with one sale and its story.
function evidence.outcome(sale, right, finding)
    return {
        right = right, finding = finding, sales = { sale },
        log = evidence.story(sale, "server %d"),
    }
end


--- The outcome of a scenario that proved nothing and must be played again.
function evidence.inconclusive(sale, finding)
    local outcome = evidence.outcome(sale, false, finding)
    outcome.again = true
    return outcome
end


return evidence
