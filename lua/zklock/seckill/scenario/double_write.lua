--- REQ-15: the stock is in a database and in a cache. A writer changes the one, then the other; a
--- reader of both in between sees them differ, unless a read-write lock keeps writers and readers
--- apart. Readers have it together.

local evidence = require "zklock.seckill.scenario.evidence"


local WRITERS, READERS = 4, 12


local double_write = {}


local function count_differing(sale)
    local reads, differing = evidence.noted(sale, "^database (%-?%d+), cache (%-?%d+)$"), 0
    for _, read in ipairs(reads) do
        if read[1] ~= read[2] then differing = differing + 1 end
    end
    return #reads, differing
end


local function both_read(a, b) return a.shared == true and b.shared == true end


local function play(scenario, run)
    local sale = run:sale{
        buyers = WRITERS + READERS, strategy = scenario.strategy, timeout = 60,
        pause = math.max(run.options.pause, 0.01),
        store = "zklock.seckill.scenario.cached_store",
        purchase = "zklock.seckill.scenario.purchase.double_write",
        parameters = { writers = WRITERS },
    }
    local reads, differing = count_differing(sale)
    if sale.sold ~= WRITERS or reads ~= READERS then
        error(("only %d wrote, and %d read"):format(sale.sold, reads), 0)
    end
    local shared = evidence.at_once(sale, both_read)
    return {
        right = differing == 0, again = scenario.shares and not shared,
        finding = ("%d of %d saw two stocks%s"):format(differing, reads,
            shared and ", shared reads" or ""),
        sales = { sale }, log = evidence.log(sale, "server %d"),
    }
end


double_write.scenarios = {
    {
        id = "REQ-15a", title = "cache and database, no lock",
        expect = "wrong", race = true, play = play, strategy = "none",
        explanation = "Between the write to the database and the write to the cache, readers see "
            .. "two different stocks.",
    },
    {
        id = "REQ-15b", title = "cache and database, read-write lock",
        expect = "right", zookeeper = true, play = play, strategy = "zookeeper-rw", shares = true,
        explanation = "A writer has the lock alone for both writes, and readers, who have it "
            .. "together, see both writes or none.",
    },
}


return double_write
