--- Lesson: the stock is one row of one database, and needs no other lock.

local seckill = require "zklock.seckill"


local function run(strategy, way, gap)
    return {
        buyers = 12, servers = 4, products = { bun = 8 }, strategy = strategy,
        store = "zklock.seckill.lessons.one_row", purchase = "zklock.seckill.lessons.ways_to_buy",
        parameters = { way = way, gap = gap }, pause = 0, fenced = false, simulated = true,
        seed = 1,
    }
end


-- The notes of each server, in order. A note counts the server's requests until then.
local function notes_by_server(sale)
    local list = {}
    for number = 1, sale.servers do list[number] = {} end
    for _, note in ipairs(sale.notes) do table.insert(list[note.server], note) end
    for _, notes in ipairs(list) do
        table.sort(notes, function(one, other) return one.at < other.at end)
    end
    return list
end


-- The counts in a note, and the sum of the requests to ZooKeeper.
local function counts_of(note)
    local counts, zookeeper = {}, 0
    for kind, count in note.line:gmatch "(%l+)=(%d+)" do
        counts[kind] = tonumber(count)
        if kind ~= "statements" then zookeeper = zookeeper + counts[kind] end
    end
    counts.zookeeper = zookeeper
    return counts
end


local function sum_requests(sale)
    local sums = {}
    for _, notes in ipairs(notes_by_server(sale)) do
        for kind, count in pairs(counts_of(notes[#notes])) do
            sums[kind] = (sums[kind] or 0) + count
        end
    end
    return sums
end


-- The requests of a sale, and the pieces that were sold in a second.
local function cost(sale)
    local made, last = sum_requests(sale), 0
    for _, purchase in ipairs(sale.purchases) do last = math.max(last, purchase.told) end
    made.requests = made.zookeeper + made.statements
    made.rate = ("%.0f"):format(sale.sold / last)
    return made
end


-- The requests to ZooKeeper for a free lock, after a server's first purchase, and all requests of
-- the sale if each buyer finds the lock free.
local function free_lock()
    local sale = assert(seckill.sale(run("zookeeper", "lock", 0.5)))
    assert(sale.verdict == "right", sale.finding)
    local each
    for _, notes in ipairs(notes_by_server(sale)) do
        local first, last = counts_of(notes[1]).zookeeper, counts_of(notes[#notes]).zookeeper
        local count = (last - first) / (#notes - 1)
        assert(count == (each or count), "a free lock does not always cost the same")
        each = count
    end
    return {
        each = ("%d"):format(each),
        all = ("%d"):format(sale.buyers * each + sum_requests(sale).statements),
    }
end


-- Nothing goes wrong here.
local function no_steps() return {} end


return {
    runs = {
        first = run("zookeeper", "lock"),
        second = run("zklock.seckill.lessons.together", "statement"),
    },
    modules = { first = { "one_row", "ways_to_buy" }, second = { "together" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 0, refused = 4 },
        second = { verdict = "right", sold = 8, left = 0, refused = 4 },
    },
    predicted = function(facts)
        local count = facts.lock.requests
        return count > 44 and "more" or count
    end,
    steps = no_steps,
    facts = function(facts)
        local row = assert(seckill.sale(run("zklock.seckill.lessons.together", "transaction")))
        assert(row.verdict == "right", row.finding)
        return {
            lock = cost(facts.first), row = cost(row), statement = cost(facts.second),
            free = free_lock(),
        }
    end,
    values = { 20, 44, "more" },
    code = [[
-- lock:acquire(); SELECT stock …; UPDATE …; lock:release()
UPDATE product SET stock = stock - 1 WHERE id = :id AND stock > 0     -- how many rows?]],
    command = "make demo DEMO=\"--strategy zookeeper,sql-pessimistic,sql-optimistic --pause 0 "
        .. "--report sale.html\"",
}
