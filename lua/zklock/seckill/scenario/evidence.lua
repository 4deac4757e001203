--- Evidence that scenarios read from the record of a sale.

local tokens = require "zklock.seckill.token"


local evidence = {}


local function granted(sale)
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
    for _, purchase in ipairs(granted(sale)) do
        local lock, token = purchase.lock, purchase.token
        if token then
            if last[lock] and not tokens.is_less(last[lock], token) then return false end
            last[lock] = token
        end
    end
    return true
end


function evidence.next_after(sale, time)
    for _, purchase in ipairs(granted(sale)) do
        if purchase.granted > time then return purchase end
    end
end


--- Time from the first fault, which killed a holder or its engine, to the next grant.
function evidence.waited_for_the_dead(sale)
    local killed = assert(sale.faults[1], "nobody was killed").at
    local heir = assert(evidence.next_after(sale, killed), "nobody had the lock after that")
    return heir.granted - killed
end


--- Raises an error unless that many bought, because a sale with unserved buyers proves nothing.
function evidence.all_served(sale, count)
    if sale.sold ~= count then
        error(("only %d of %d buyers were served"):format(sale.sold, count), 0)
    end
end


--- True if two purchases that fit held locks at the same time.
---@param sale zklock.seckill.Sale
---@param fits fun(a: zklock.seckill.Purchase, b: zklock.seckill.Purchase): boolean
---@return boolean
function evidence.at_once(sale, fits)
    local open = {}
    for _, purchase in ipairs(granted(sale)) do
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


--- Captures of all notes that match, in order of time, with buyer, server and token.
---@param sale zklock.seckill.Sale
---@param pattern string
---@return { [integer]: string, buyer: integer, server: integer, token: string? }[] list
function evidence.noted(sale, pattern)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local said = { note.line:match(pattern) }
        if said[1] then
            said.buyer, said.server, said.token = note.buyer, note.server, note.token
            list[#list + 1] = said
        end
    end
    return list
end


--- The buyers' notes of their holds (Buyer:note_hold).
---@param sale zklock.seckill.Sale
---@return { [1]: string, buyer: integer }[]  "held", "lost" …
function evidence.holds(sale) return evidence.noted(sale, "^its hold is (%l+)$") end


--- Makes a sale wrong whose buyers waited in vain, which the store does not know. Reports show it.
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


-- The events of a buyer that got the lock, with times, or false for no event.
local function lines_of(purchase)
    return {
        { purchase.granted or false, "got the lock" },
        { purchase.written or false, ("wrote a stock of %d"):format(purchase.left or 0) },
        { purchase.outcome == "late" and purchase.told, "was refused by the store" },
        { purchase.released or false, "releases the lock" },
    }
end


local DONE = { stop = "is stopped", kill = "is killed", cut = "is cut off" }

--- The log with events of each purchase, and the faults.
function evidence.story(sale, name)
    local story = evidence.log(sale, name)
    local function add(at, who, line, token)
        story[#story + 1] = { at = at, who = who, line = line, token = token }
    end
    for _, purchase in ipairs(sale.purchases) do
        for _, line in ipairs(lines_of(purchase)) do
            if line[1] then add(line[1], name:format(purchase.server), line[2], purchase.token) end
        end
    end
    for _, fault in ipairs(sale.faults) do
        local done = DONE[fault.kind]
        add(fault.at, fault.target, done or fault.kind)
        if fault.ended and done then add(fault.ended, fault.target, "goes on") end
    end
    table.sort(story, function(a, b) return a.at < b.at end)
    return story
end


--- The outcome of a scenario with one sale and its story.
function evidence.played(sale, right, finding)
    return {
        right = right, finding = finding, sales = { sale },
        log = evidence.story(sale, "server %d"),
    }
end


--- The outcome of a scenario that proved nothing, and must be played again.
function evidence.unproved(sale, finding)
    local played = evidence.played(sale, false, finding)
    played.again = true
    return played
end


return evidence
