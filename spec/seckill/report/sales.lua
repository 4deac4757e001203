--- Invented records of sales (docs/record.md), the same each time.

local overlaps = require "zklock.seckill.overlaps"


local sales = {}

local PRODUCT = "10000001"


-- Random numbers in (0, 1), the same in each Lua.
local function dice()
    local state = 1
    return function()
        state = (state * 16807) % 2147483647
        return state / 2147483647
    end
end


local function record(name, verdict, purchases, left)
    local sold, finished = 0, 0
    for _, purchase in ipairs(purchases) do
        if purchase.outcome == "sold" then sold = sold + 1 end
        finished = math.max(finished, purchase.released or 0, purchase.written or 0)
    end
    return {
        name = name, strategy = "zookeeper", store = "sqlite", verdict = verdict,
        finding = ("%d sold and %d left of %d"):format(sold, left, 2 * #purchases),
        products = { [PRODUCT] = 2 * #purchases }, left = { [PRODUCT] = left },
        ordered = { [PRODUCT] = sold }, buyers = #purchases, sold = sold, refused = 0,
        failed = #purchases - sold, seconds = finished + 0.01,
        servers = { "server 1", "server 2" }, faults = {},
        fairness = { overtakes = 0, jain = 0.998 },
        purchases = purchases, overlaps = overlaps.of(purchases),
    }
end


--- Two servers whose buyers take turns under a lock.
function sales.right(count)
    local random, at, purchases = dice(), 0.01, {}
    for i = 1, count do
        local hold = 0.002 + 0.004 * random()
        at = at + 0.0005 + 0.0008 * random()
        purchases[i] = {
            buyer = i, server = i % 2 + 1, product = PRODUCT, asked = 0.001 + 1e-6 * i,
            granted = at, released = at + hold, token = ("%.0f"):format(8589934592 + 3 * i),
            left = 2 * count - i, written = at + 0.8 * hold, outcome = "sold",
        }
        at = at + hold
    end
    local result = record("zookeeper", "right", purchases, count)
    result.explanation = "Every buyer takes the lock before it reads the stock."
    return result
end


-- Each buyer writes one less than it read at its grant.
local function write_what_was_read(purchases, stock)
    local moments, saw = {}, {}
    for _, purchase in ipairs(purchases) do
        moments[#moments + 1] = { at = purchase.granted, reads = true, purchase = purchase }
        moments[#moments + 1] = { at = purchase.written, purchase = purchase }
    end
    table.sort(moments, function(a, b) return a.at < b.at end)
    for _, each in ipairs(moments) do
        if each.reads then
            saw[each.purchase] = stock
        else
            stock = saw[each.purchase] - 1
            each.purchase.left = stock
        end
    end
    return stock
end


--- A sale without a lock, with overlaps and lost updates.
function sales.wrong(count)
    local random, purchases = dice(), {}
    for i = 1, count do
        local at, hold = 0.001 + 0.004 * count * random(), 0.002 + 0.006 * random()
        purchases[i] = {
            buyer = i, server = i % 2 + 1, product = PRODUCT, asked = at, granted = at,
            released = at + hold, written = at + 0.9 * hold, outcome = "sold",
        }
    end
    local result = record("none", "wrong", purchases, write_what_was_read(purchases, 2 * count))
    result.strategy, result.expect = "none", "wrong"
    return result
end


--- A sale without a lock, with crowds of a hundred.
function sales.crowd(count)
    local purchases = {}
    for i = 1, count do
        local at = math.floor((i - 1) / 100) * 0.05 + 1e-4 * (i % 100)
        purchases[i] = {
            buyer = i, server = i % 2 + 1, product = PRODUCT, asked = at, granted = at,
            released = at + 0.02, written = at + 0.015, left = 2 * count, outcome = "sold",
        }
    end
    return record("a crowd", "wrong", purchases, 2 * count)
end


--- A server is stopped while it holds the lock, and its session ends. Its late write is refused.
--- The other server is killed with the lock held.
function sales.refused()
    local result = sales.right(30)
    local purchases, stopped, killed = result.purchases, 10, 30
    for i, purchase in ipairs(purchases) do
        if i > stopped then
            for _, name in ipairs{ "granted", "released", "written" } do
                purchase[name] = purchase[name] + 1
            end
            purchase.left = purchase.left + 1
        end
    end
    local late, last = purchases[stopped], purchases[killed]
    late.released, late.left, late.outcome = late.granted + 1.05, nil, "late"
    late.written, late.told, late.lost = nil, late.released + 0.02, late.released - 0.001
    last.released, last.written, last.left, last.outcome = nil, nil, nil, "killed"
    result = record("a holder is stopped", "right", purchases, 32)
    last.ended = last.granted + 0.002
    result.faults = {
        { kind = "stop", target = result.servers[late.server], at = late.granted + 0.001,
          ended = late.released - 0.001 },
        { kind = "kill", target = result.servers[last.server], at = last.ended },
    }
    result.notes = { { at = late.lost, server = late.server, buyer = stopped, token = late.token,
                       line = "wakes, and its hold is lost" } }
    result.options = { buyers = 30, fenced = true, products = result.products, hold = 0.25 }
    return result
end


--- A stopped holder writes after the next holder; it knows the state of its hold.
function sales.late_write()
    local result = sales.right(3)
    local late, other = result.purchases[2], result.purchases[3]
    late.suspect, late.lost = late.granted + 0.2, late.granted + 0.5
    other.granted, other.written, other.released = late.granted + 0.6, late.granted + 0.7,
        late.granted + 0.8
    late.written, late.released = late.granted + 1, late.granted + 1.1
    result = record("a late write", "wrong", result.purchases, 4)
    result.options = { fenced = false }
    return result
end


--- A simulated sale of two buyers. An event tells the second one that the lock is free, after an
--- answer to its server got lost. An exploration has found the sale's moment.
function sales.messages()
    local result = sales.right(2)
    local function message(server, kind, sent, arrived, text)
        return { server = server, kind = kind, sent = sent, arrived = arrived, text = text,
                 lock = PRODUCT }
    end
    result.messages = {
        message(2, "request", 0.001, 0.004, "create lock"),
        message(2, "answer", 0.004, 0.009, "answer to create #0"),
        message(1, "request", 0.002, 0.005, "create lock"),
        message(1, "answer", 0.005, nil, "answer to create #1"),
        message(1, "request", 0.006, 0.008, "get and watch #0"),
        message(2, "request", result.purchases[1].released, 0.014, "delete #0"),
        message(1, "event", 0.014, result.purchases[2].granted, "#0 was deleted"),
    }
    result.moment = {
        step = 7, text = "server 1 is stopped for 20 s", seeds = 100, wrong = 97, before = 3,
        curve = { { step = 0, at = 0, wrong = 2 }, { step = 6, at = 0.006, wrong = 3 },
                  { step = 7, at = 0.006, wrong = 97 }, { step = 12, at = 0.014, wrong = 100 } },
    }
    return result
end


--- Each product but the last is wrong in its own way; some buyers share a lock.
function sales.products()
    local result = sales.wrong(12)
    result.products = { bun = 4, cake = 10, pie = 10, tea = 10 }
    result.left = { bun = 0, cake = 9, pie = 7, tea = 5 }
    result.ordered = { bun = 5, cake = 4, pie = 2, tea = 5 }
    for i, purchase in ipairs(result.purchases) do
        purchase.product = i % 2 == 0 and "bun" or "cake"
        purchase.shared, purchase.told = i == 3 or nil, purchase.released
        if i > 10 then purchase.outcome, purchase.left, purchase.written = "refused", nil, nil end
    end
    return result
end


--- The holder is killed, and its lock stays, so all other buyers wait in vain.
function sales.stuck()
    local purchases = { { buyer = 1, server = 1, product = PRODUCT, asked = 0, granted = 0.01,
                          ended = 0.1, outcome = "unanswered" } }
    for i = 2, 21 do
        purchases[i] = { buyer = i, server = 2, product = PRODUCT, asked = 0.02, told = 10,
                         outcome = "timeout" }
    end
    purchases[22] = { buyer = 22, server = 1, product = PRODUCT, asked = 0.02,
                      outcome = "unanswered" } -- waits in the killed server
    local result = record("shared", "stuck", purchases, 44)
    result.strategy = "shared"
    result.faults = { { kind = "kill", target = "server 1", at = 0.1 } }
    return result
end


--- Two baskets of two buns and a tea; the second buyer's own product is not in its basket.
function sales.baskets()
    local purchases = {}
    for i = 1, 2 do
        local at = 0.1 * i
        purchases[i] = {
            buyer = i, server = i, product = i == 1 and "bun" or "pie",
            quantity = i == 1 and 2 or 1, lock = "bun + tea", asked = 0.001 * i,
            granted = at, written = at + 0.021, released = at + 0.03, told = at + 0.025,
            token = tostring(i), outcome = "sold", left = i == 1 and 4 or nil,
            writes = { { product = "tea", left = 3 - i, quantity = 1, at = at + 0.02 } },
        }
    end
    local of_second = purchases[2].writes
    of_second[2] = { product = "bun", left = 2, quantity = 2, at = 0.221 }
    local result = record("baskets", "right", purchases, 0)
    result.products = { bun = 6, pie = 9, tea = 3 }
    result.left, result.ordered = { bun = 2, pie = 9, tea = 1 }, { bun = 4, pie = 0, tea = 2 }
    return result
end


local function three_lanes(name, ...)
    local purchases = { ... }
    for i, each in ipairs(purchases) do
        each.buyer, each.server, each.asked, each.outcome = i, i, 0, "sold"
    end
    local result = record(name, "wrong", purchases, 0)
    result.servers, result.products = { "one", "two", "three" }, { a = 9, b = 9 }
    result.left, result.ordered, result.seconds = { a = 8, b = 8 }, { a = 2, b = 1 }, 1
    return result
end


--- Three servers and two locks within a second. Servers 1 and 3 hold one lock together for 0.2 s,
--- while server 2 holds the other lock.
function sales.three_lanes()
    return three_lanes("three lanes", { product = "a", granted = 0.2, released = 0.6 },
        { product = "b", granted = 0.1, released = 0.9 },
        { product = "a", granted = 0.4, released = 0.8 })
end


--- Server 1 holds both locks, and meets a holder of each for 0.1 s. It writes when server 2 has the
--- second lock.
function sales.both_locks()
    return three_lanes("both locks",
        { product = "a", lock = "a + b", granted = 0.2, released = 0.6, written = 0.55, left = 8,
          token = "8" },
        { product = "b", granted = 0.5, released = 0.9, token = "9" },
        { product = "a", granted = 0.1, released = 0.3, token = "7" })
end


return sales
