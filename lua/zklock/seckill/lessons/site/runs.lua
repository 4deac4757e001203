--- Carries out a lesson's runs, and checks that they end as the lesson expects.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local runs = {}


local ORDER = {
    "buyers", "servers", "products", "product", "strategy", "store", "lock", "purchase",
    "parameters", "pause", "timeout", "session", "fenced", "faults", "simulated", "seed",
}


local function is_name(key) return type(key) == "string" and key:find "^[%a_][%w_]*$" end


-- A value in Lua's syntax, with sorted keys.
local function literal(value)
    if type(value) ~= "table" then
        return type(value) == "string" and ("%q"):format(value) or ("%s"):format(value)
    end
    local parts, keys = {}, {}
    for _, each in ipairs(value) do parts[#parts + 1] = literal(each) end
    for key in pairs(value) do
        if type(key) == "string" then keys[#keys + 1] = key end
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        local name = is_name(key) and key or ("[%q]"):format(key)
        parts[#parts + 1] = name .. " = " .. literal(value[key])
    end
    return "{ " .. table.concat(parts, ", ") .. " }"
end


---@param options table
---@param file string  the report's name
---@return string
function runs.program_of(options, file)
    local lines = {}
    for _, name in ipairs(ORDER) do
        if options[name] ~= nil then
            lines[#lines + 1] = ("    %s = %s,"):format(name, literal(options[name]))
        end
    end
    return 'local seckill = require "zklock.seckill"\n\nlocal sale = seckill.sale{\n'
        .. table.concat(lines, "\n") .. "\n}\nprint(sale)\nsale:report \"" .. file .. '"'
end


local function stock_of(sale)
    local stock = 0
    for _, product in pairs(sale.products) do stock = stock + product.stock end
    return stock
end


-- Waiting times in ascending order. (A reentrant acquire does not wait.)
local function waits_of(rows)
    local list = {}
    for _, row in ipairs(rows) do
        if not row.reentered then list[#list + 1] = buyers.waited(row) end
    end
    table.sort(list)
    return list
end


local function has_tokens(rows)
    for _, row in ipairs(rows) do
        if row.token then return true end
    end
end


-- The sale's data for pictures and texts.
local function view(sale, lesson, options)
    local finish = sale.seconds
    for _, fault in ipairs(sale.faults) do finish = math.max(finish, fault.ended or 0) end
    local made = {
        verdict = sale.verdict, finding = sale.finding, sold = sale.sold, left = sale.left,
        refused = sale.refused, failed = sale.failed, buyers = sale.buyers,
        servers = sale.servers, purchases = sale.purchases, overlaps = sale.overlaps,
        faults = sale.faults, notes = sale.notes, messages = sale.messages,
        products = sale.products, options = options,
        stock = stock_of(sale), finish = finish * 1.02,
        lock_of = lesson.lock_of, ends = lesson.ends,
        seconds = times.duration(sale.seconds), commits = lesson.commits,
        apart = sale.left - (stock_of(sale) - sale.sold), overlap = #sale.overlaps,
    }
    made.rows = lesson.rows and lesson.rows(made) or sale.purchases
    made.tokens = lesson.tokens ~= false and has_tokens(made.rows)
    local waits = waits_of(made.rows)
    made.has_waits, made.longest = waits[#waits] > 0, times.duration(waits[#waits])
    made.median = times.duration(waits[math.ceil(#waits / 2)])
    made.common, made.spans = lesson.common, lesson.spans and lesson.spans(made) or {}
    made.steps = (lesson.steps or steps.of)(made)
    return made
end


local function check_expected(name, which, made, expected)
    for field, value in pairs(expected) do
        if made[field] ~= value then
            error(("the lesson %s says that %s of its %s run is %s, and it is %s (%s)"):format(
                name, field, which, tostring(value), tostring(made[field]), made.finding), 0)
        end
    end
end


--- Both runs of a lesson, and its facts; raises an error if a run does not end as expected.
---@param lesson table
---@return table facts  first, second, and the lesson's additions
---@return table sales  first, second, for reports
function runs.play(lesson)
    local facts, sales = {}, {}
    for _, which in ipairs{ "first", "second" } do
        local options = { name = lesson.name .. ": " .. which .. " run" }
        for name, value in pairs(lesson.runs[which]) do options[name] = value end
        local sale = assert(seckill.sale(options))
        sales[which], facts[which] = sale, view(sale, lesson, lesson.runs[which])
        check_expected(lesson.name, which, facts[which], lesson.expect[which])
    end
    local finish = math.max(facts.first.finish, facts.second.finish) -- same scale in both pictures
    facts.first.finish, facts.second.finish = finish, finish
    for name, value in pairs(lesson.facts and lesson.facts(facts) or {}) do facts[name] = value end
    return facts, sales
end


--- The numbers of schedules of a lesson's sales with at most one preemption, and of wrong ones. A
--- small sale has a few hundred. The lesson's faults are kept.
---@param lesson table
---@return table? searched  nil if the lesson is not `searched`
function runs.search(lesson)
    if not lesson.searched then return nil end
    local searched = {}
    for _, which in ipairs{ "first", "second" } do
        local options = { faults = {}, quiet = true }
        for name, value in pairs(lesson.runs[which]) do
            if name ~= "seed" then options[name] = value end
        end
        local found = assert(seckill.explore(options, {
            all = { preemptions = 1 }, moment = false,
        }))
        assert(found.complete and found.bounds.preemptions == 1, lesson.name)
        searched[which] = { schedules = found.schedules, wrong = found.wrong }
    end
    return searched
end


--- The number of the right answer, which is the outcome of the run.
function runs.right_answer(lesson, facts)
    local value, right = lesson.predicted(facts), nil
    for i, answer in ipairs(lesson.values) do
        if answer == value then
            assert(not right, lesson.name .. " has two right answers")
            right = i
        end
    end
    return assert(right, ("no answer of %s is %s"):format(lesson.name, tostring(value)))
end


return runs
