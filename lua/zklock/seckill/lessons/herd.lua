--- Lesson: a release wakes all waiters.

local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"

local GAP = 0.002 -- seconds between buyers, so that all arrive before the first release
local MANY = 20   -- servers, to see how the numbers grow


local function run(strategy)
    return {
        buyers = 8, servers = 8, products = { bun = 10 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.comes_later", parameters = { gap = GAP },
        simulated = true, seed = 1,
    }
end


-- ZooKeeper's events for servers that did not hold the lock yet.
local function wakes_of(sale)
    local list, granted = {}, {}
    for _, purchase in ipairs(sale.purchases) do granted[purchase.server] = purchase.granted end
    for _, message in ipairs(sale.messages) do
        if message.kind == "event" and message.arrived <= granted[message.server] then
            list[#list + 1] = message
        end
    end
    return list
end


local function wakes_by_server(sale)
    local lists = {}
    for server = 1, sale.servers do lists[server] = {} end
    for _, wake in ipairs(wakes_of(sale)) do table.insert(lists[wake.server], wake) end
    return lists
end


local ABOUT_THE_LOCK = { create = true, get = true, list = true, delete = true }

-- The servers' requests to ZooKeeper about the lock.
local function requests_of(sale)
    local count = 0
    for _, message in ipairs(sale.messages) do
        if message.kind == "request" and ABOUT_THE_LOCK[message.text:match "^%l+"] then
            count = count + 1
        end
    end
    return count
end


local function with_many_servers(strategy)
    local options = run(strategy)
    options.buyers, options.servers, options.products = MANY, MANY, { bun = MANY }
    options.parameters = { gap = GAP * 8 / MANY }
    local sale = assert(seckill.sale(options))
    return { wakes = #wakes_of(sale), requests = requests_of(sale) }
end


-- From each wake of a server on, the number of its wakes so far, above its row.
local function spans(sale)
    local list, lists = {}, wakes_by_server(sale)
    for _, purchase in ipairs(sale.purchases) do
        local wakes = lists[purchase.server]
        for i, wake in ipairs(wakes) do
            local following = wakes[i + 1]
            list[#list + 1] = {
                server = purchase.server, at = wake.arrived,
                ended = following and following.arrived or purchase.released,
                text = { en = i, zh = i },
            }
        end
    end
    return list
end


local function woken_between(sale, from, to)
    local servers = {}
    for _, wake in ipairs(wakes_of(sale)) do
        if wake.sent > from and wake.sent < to then servers[#servers + 1] = wake.server end
    end
    table.sort(servers)
    return servers
end


-- "server 3", or "servers 2, 3 and 4".
local function in_english(servers)
    local last, others = servers[#servers], table.concat(servers, ", ", 1, #servers - 1)
    return others == "" and "server " .. last or ("servers %s and %s"):format(others, last)
end


local function steps_of(sale)
    local list = {}
    for _, purchase in ipairs(sale.rows) do
        list[#list + 1] = { at = purchase.released, purchase = purchase }
    end
    steps.sorted(list)
    for i, step in ipairs(list) do
        local following = list[i + 1]
        local servers = woken_between(sale, step.at, following and following.at or math.huge)
        step.text = servers[1] and {
            en = "releases the lock, and ZooKeeper wakes " .. in_english(servers),
            zh = "释放锁，ZooKeeper 叫醒服务器 " .. table.concat(servers, "、"),
        } or { en = "releases the lock; nobody waits", zh = "释放锁，已经没有谁在等" }
    end
    return list
end


return {
    runs = { first = run "zookeeper-none", second = run "zookeeper" },
    modules = { first = { "comes_later" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 2 },
        second = { verdict = "right", sold = 8, left = 2 },
    },
    predicted = function(facts) return facts.wakes.first end,
    facts = function(facts)
        local first, second = facts.first, facts.second
        return {
            wakes = { first = #wakes_of(first), second = #wakes_of(second) },
            requests = { first = requests_of(first), second = requests_of(second) },
            many = {
                servers = MANY, first = with_many_servers "zookeeper-none",
                second = with_many_servers "zookeeper",
            },
        }
    end,
    spans = spans, steps = steps_of,
    column = {
        en = "woken", zh = "被叫醒",
        of = function(purchase, sale) return #wakes_by_server(sale)[purchase.server] end,
    },
    values = { 7, 56, 28 },
    code = [[
-- session:mutex("/lock/bun", { order = "none" })
session:mutex "/lock/bun"              -- order = "fifo", the default]],
    command = "make demo DEMO=\"--only DEMO-14\"",
}
