--- Lesson: a release wakes all that wait.

local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"

local GAP = 0.002 -- seconds: from one buyer to the next; all have come before the first release
local MANY = 20   -- servers, to see how the numbers grow


local function run(strategy)
    return {
        buyers = 8, servers = 8, products = { bun = 10 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.comes_later", parameters = { gap = GAP },
        simulated = true, seed = 1,
    }
end


-- What ZooKeeper told servers that waited: the events that came before they had the lock.
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

-- What servers have asked ZooKeeper for about the lock.
local function requests_of(sale)
    local count = 0
    for _, message in ipairs(sale.messages) do
        if message.kind == "request" and ABOUT_THE_LOCK[message.text:match "^%l+"] then
            count = count + 1
        end
    end
    return count
end


-- The wakes and requests of the same sale with more servers.
local function many(strategy)
    local options = run(strategy)
    options.buyers, options.servers, options.products = MANY, MANY, { bun = MANY }
    options.parameters = { gap = GAP * 8 / MANY }
    local sale = assert(seckill.sale(options))
    return { wakes = #wakes_of(sale), requests = requests_of(sale) }
end


-- How often each server has been woken so far, above its row, until it releases the lock.
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


-- The servers that ZooKeeper woke between two moments, by their numbers.
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


-- Each release, and whom ZooKeeper wakes because of it.
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
    title = { en = "The herd", zh = "羊群效应" },
    ask = {
        en = "Eight servers wait for one lock, and each gets it once. How often does ZooKeeper "
            .. "have to wake one of them?",
        zh = "八台服务器都在等同一把锁，每台得到一次。ZooKeeper 总共要叫醒它们多少次？",
    },
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
            many = { servers = MANY, first = many "zookeeper-none", second = many "zookeeper" },
        }
    end,
    spans = spans, steps = steps_of,
    column = {
        en = "woken", zh = "被叫醒",
        of = function(purchase, sale) return #wakes_by_server(sale)[purchase.server] end,
    },

    question = {
        en = [[
This time nothing is sold wrongly. Eight servers want the lock, one after the other within a few
milliseconds, and each buys one bun with it. The lock is one node in ZooKeeper: whoever can create
it has the lock, and all others watch it. When it is deleted, they are woken and try again.

**How often are servers woken until all eight have bought?**]],
        zh = [[
这一次没有卖错什么。八台服务器在几毫秒内先后来要锁，每台拿到锁买一个包子。锁是 ZooKeeper 里的一个节点：
谁创建了它，谁就得到锁，其他人都监视着它。它被删除时，大家被叫醒，再试一次。

**到八台都买完为止，总共叫醒多少次？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: each that has to wait, once", "That would be the least. But a waiter cannot "
                .. "know that it is not its turn, so all of them are woken by each release." },
            zh = { "7 次：要等的每台一次", "这是最少的次数。可是等待者不知道还没有轮到自己，"
                .. "所以每次释放，大家都会被叫醒。" },
        },
        {
            value = 56,
            en = { "56: each of the eight releases wakes seven", "Those that have bought do not "
                .. "wait any more, so each release wakes one server less than the one before." },
            zh = { "56 次：八次释放，每次叫醒七台", "买完的就不再等了，所以每次释放都比上一次少叫醒一台。" },
        },
        {
            value = 28,
            en = { "28: 7 + 6 + 5 + 4 + 3 + 2 + 1", "Each release wakes all that still wait, and "
                .. "all but one of them for nothing. With a thousand waiters it is half a "
                .. "million." },
            zh = { "28 次：7 + 6 + 5 + 4 + 3 + 2 + 1", "每次释放都叫醒所有还在等的，除了一台，其余都白醒。"
                .. "有一千个等待者，就是五十万次。" },
        },
    },
    run = {
        en = [[
The servers come in the order of their numbers. Above each of them you see how often it has been
woken so far: each box begins with a wake. The column "woken" of the table has the last number.
(Tokens are numbers of ZooKeeper's transactions. Each try to create the node is one, even if it
fails, so there are gaps between them.)]],
        zh = [[
服务器按编号的顺序到来。每台服务器上方的数字，是它到这时被叫醒的次数：每个方框从一次叫醒开始。
表中“被叫醒”一列是最后的次数。
（令牌是 ZooKeeper 的事务编号。每次尝试创建节点都是一个事务，失败的也算，所以令牌不连续。）]],
    },
    cause = {
        en = [[
All wait for the same node. Each release wakes all who still wait, and the one whose request comes
first gets the lock, not the one that has waited longest. The wakes grow with the **square** of the
number of waiters, and they come in bursts: all woken servers ask ZooKeeper at the same moment.]],
        zh = [[
大家等的是同一个节点。每次释放都叫醒所有还在等的，而得到锁的只有一个：谁的请求先到就是谁，与谁等得久无关。
叫醒的次数随等待者数目的**平方**增长，而且是一阵一阵来的：被叫醒的服务器在同一刻一起去问 ZooKeeper。]],
    },
    mend = {
        en = [[
Let them stand in line. Each waiter creates a node with a number, and watches **the node before its
own**. So a release wakes only the server whose turn it is. And the servers get the lock in the
order in which they came, which the herd does not promise.]],
        zh = [[
让大家排队。每个等待者创建一个带编号的节点，只监视**自己前面的那一个**。这样，一次释放只叫醒轮到的那一台。
服务器还按到来的先后得到锁，而羊群不保证这一点。]],
    },
    code = [[
-- session:mutex("/lock/bun", { order = "none" })
session:mutex "/lock/bun"              -- order = "fifo", the default]],
    same = {
        en = [[
The same sale in order of arrival: servers are woken {wakes.second} times instead of {wakes.first}.
Seven times a release wakes the server whose turn it is. The other times it also tells the server
behind that one that it is the next one now, as zklock's waiters watch two nodes ahead.

The two sales take equally long: eight servers are few, and this ZooKeeper has nothing else to do.
The price of the herd is work for ZooKeeper: {requests.first} requests about the lock instead of
{requests.second}. With {many.servers} servers the herd takes {many.first.wakes} wakes and
{many.first.requests} requests, and the line {many.second.wakes} and {many.second.requests}.]],
        zh = [[
同一场秒杀，按到达顺序：叫醒 {wakes.second} 次，而不是 {wakes.first} 次。其中七次是释放锁时叫醒轮到的那一台，
其余几次还告诉它后面的一台：现在下一个就是你。这是因为 zklock 的等待者监视前面的两个节点。

两场用的时间一样长：八台服务器不算多，这里的 ZooKeeper 也没有别的事要做。羊群的代价是 ZooKeeper 的工作：
关于锁的请求有 {requests.first} 个，而不是 {requests.second} 个。换成 {many.servers} 台服务器，
羊群要叫醒 {many.first.wakes} 次、请求 {many.first.requests} 次；排队是 {many.second.wakes} 次和
{many.second.requests} 次。]],
    },
    try = {
        en = "With real processes: a herd, a herd that waits for random moments, and a line:",
        zh = "用真实的进程看三种情形：羊群、随机错开的羊群，以及排队：",
    },
    command = "make demo DEMO=\"--only DEMO-14\"",
    where = {
        {
            url = "https://github.com/apache/curator/issues/1231",
            en = "CURATOR-716: a thousand threads of one process waited for a lock; each release "
                .. "woke all of them.",
            zh = "CURATOR-716：一个进程里有一千个线程在等一把锁，每次释放都叫醒全部。",
        },
        {
            url = "https://github.com/redisson/redisson/issues/3349",
            en = "Redisson's unlock messages went to every node of a Redis cluster. Since then it "
                .. "has a spin lock, too, which asks again and again instead: [the next "
                .. "lesson](fairness.html) shows what that costs.",
            zh = "Redisson 的解锁消息会发到 Redis 集群的每个节点。它后来多了一种自旋锁，不等消息，"
                .. "而是一问再问：代价见[下一课](fairness.html)。",
        },
    },
}
