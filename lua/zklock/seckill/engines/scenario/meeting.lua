--- Two buyers, and a fault while the first of them has the lock. It goes on when the other one has
--- the lock, too, and has read the stock; if it comes to that, both write the same. So a lock that
--- the fault takes away is seen to be lost, however slow the machine is.

local evidence = require "zklock.seckill.scenario.evidence"
local wait_for = require "zklock.throwaway.wait_for"


local AGAIN = 30 -- seconds for which a buyer asks again

local meeting = {}


--- Carries such a sale out.
---@param run zklock.seckill.Run
---@param options table  of seckill.sale
---@param fault { what: string, where: string, strike: fun(), patience: number }  patience: seconds
--- for which the first waits for the other
---@return zklock.seckill.Sale
function meeting.sale(run, options, fault)
    local function strike(play)
        fault.strike()
        wait_for(function() return play:arrived "read" > 0 end, fault.patience)
    end
    local all = {
        buyers = 2, servers = 2, timeout = 60, parameters = {},
        purchase = "zklock.seckill.engines.scenario.purchase.asks_again",
        faults = { { at = 0, held = true, run = strike, what = fault.what, where = fault.where } },
    }
    for name, value in pairs(options) do all[name] = value end
    all.parameters.again = AGAIN
    return run:sale(all)
end


--- What a sale is that must be wrong because two had the lock: an error if it is so for another
--- reason.
---@param sale zklock.seckill.Sale
---@return zklock.seckill.Played
function meeting.of_two(sale)
    local first, second = sale.purchases[1], sale.purchases[2]
    local both = #sale.overlaps == 1 and sale.sold == 2 and first.left == second.left
    if not both and sale.verdict == "wrong" then
        error("it is wrong, but not because two had the lock: " .. sale.finding, 0)
    end
    return {
        right = sale.verdict == "right", sales = { sale }, log = evidence.story(sale, "server %d"),
        finding = both and ("stock %d, should be %d; 2 at once"):format(sale.left,
            first.left - 1) or sale.finding,
    }
end


--- What a sale is that must be right: one after the other had the lock, though the fault struck.
---@param sale zklock.seckill.Sale
---@return zklock.seckill.Played
function meeting.of_one(sale)
    return {
        right = sale.verdict == "right" and sale.sold == 2 and not sale.overlaps[1]
            and evidence.tokens_grow(sale),
        finding = ("%d sold, %d left; one at a time"):format(sale.sold, sale.left),
        sales = { sale },
        log = evidence.story(sale, "server %d"),
    }
end


return meeting
