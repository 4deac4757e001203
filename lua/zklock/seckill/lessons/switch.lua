--- Lesson: half of the servers lock in one engine, and half already in the next one.

local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local FIRST, LAST = 0.25, 0.7 -- seconds when server 1 hears of the switch, and server 2
local WORK = 0.2
local HEARD_AT = { FIRST, LAST }


local function run(safe)
    return {
        buyers = 6, servers = #HEARD_AT, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.switched_lock",
        parameters = { hears = HEARD_AT, safe = safe },
        pause = WORK, simulated = true, seed = 32,
    }
end


-- "A", "B" or "A and B" in a language.
local function name_of(engines, language)
    return (engines:gsub(" ", language == "en" and " and " or " 和 "))
end


local function engines_of(sale)
    local by_buyer = {}
    for _, note in ipairs(sale.notes) do
        by_buyer[note.buyer] = note.line:match "^engines (.*)$" or by_buyer[note.buyer]
    end
    return by_buyer
end


-- The time from which B is enough, because all servers have heard and the last lock of A alone was
-- released; and the purchase that held that lock.
local function last_release_of_a(sale)
    local at, by, engines = LAST, nil, engines_of(sale)
    for _, purchase in ipairs(sale.purchases) do
        if engines[purchase.buyer] == "A" and purchase.released >= at then
            at, by = purchase.released, purchase
        end
    end
    return at, by
end


local function spans(sale)
    local list = {}
    local function add(server, at, ended, engines)
        list[#list + 1] = { server = server, at = at, ended = ended, text = {
            en = name_of(engines, "en"), zh = name_of(engines, "zh"),
        } }
    end
    local b_alone_from = sale.verdict == "right" and last_release_of_a(sale)
    for server, heard_at in ipairs(HEARD_AT) do
        add(server, 0, heard_at, "A")
        if b_alone_from then add(server, heard_at, b_alone_from, "A B") end
        add(server, b_alone_from or heard_at, nil, "B")
    end
    return list
end


local HEARD = {
    wrong = { en = "hears of the switch: B instead of A", zh = "得知切换：用 B，不用 A" },
    right = { en = "hears of the switch: A and B", zh = "得知切换：A 和 B 都要" },
}

-- The two lost updates, with the reads and writes of both buyers of each pair.
local function lost_updates(sale)
    local by_left, list, add = {}, steps.list()
    for _, purchase in ipairs(sale.purchases) do
        local other = by_left[purchase.left]
        for _, each in ipairs(other and { other, purchase } or {}) do
            add(each.granted, "reads", each, each.read)
            add(each.written, "writes", each, each.left)
        end
        by_left[purchase.left] = purchase
    end
    return list
end


-- The lost updates, and the times when servers heard of the switch.
local function steps_of(sale)
    local list = lost_updates(sale)
    for server, heard_at in ipairs(HEARD_AT) do
        list[#list + 1] = { at = heard_at, server = server, text = HEARD[sale.verdict] }
    end
    if sale.verdict == "right" then
        local at, by = last_release_of_a(sale)
        list[#list + 1] = { at = at, server = by.server, text = {
            en = "its buyer releases the last lock of A alone: B is enough for all",
            zh = "最后一个只拿着 A 的锁的买家释放了锁：从此大家只需要 B",
        } }
    end
    return steps.sorted(list)
end


-- The first buyer that still holds a lock of A when the last server has heard, and until when.
local function late_holder_of_a(sale)
    local engines = engines_of(sale)
    for _, purchase in ipairs(sale.purchases) do
        if engines[purchase.buyer] == "A" and purchase.granted < LAST
            and purchase.released > LAST then
            return { buyer = purchase.buyer, till = times.duration(purchase.released) }
        end
    end
end


return {
    runs = { first = run(), second = run(true) },
    modules = { first = { "switched_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 6, left = 6 },
        second = { verdict = "right", sold = 6, left = 4 },
    },
    predicted = function(facts) return facts.first.left end,
    spans = spans, steps = steps_of,
    lock_of = function(row, sale) return engines_of(sale)[row.buyer] end,
    facts = function(facts)
        return {
            early = FIRST .. "\194\160s", late = LAST .. "\194\160s", work = WORK,
            last = late_holder_of_a(facts.first),
        }
    end,
    column = {
        en = "engine", zh = "引擎",
        of = function(row, sale) return (engines_of(sale)[row.buyer]:gsub(" ", " + ")) end,
    },
    values = { 4, 6, 5, "error" },
    code = [[
-- return heard and { B } or { A }
if not heard then return { A } end
return is_alone_in_use(A) and { A, B } or { B }]],
    command = "make demo-engines DEMO=\"--only DEMO-21\"",
}
