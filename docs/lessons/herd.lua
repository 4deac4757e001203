--- Lesson: a release wakes all that wait.

local function run(strategy)
    return {
        buyers = 8, servers = 8, products = { bun = 10 }, strategy = strategy,
        purchase = "docs.lessons.count_wakes", simulated = true, seed = 1,
    }
end

-- How often ZooKeeper has woken each buyer's server.
local function wakes(sale)
    local by_buyer, all = {}, 0
    for _, note in ipairs(sale.notes) do
        local count = tonumber(note.line:match "^woken (%d+)")
        if count then by_buyer[note.buyer], all = count, all + count end
    end
    return all, by_buyer
end


-- What the picture marks: nothing overlaps here.
local function none() return {} end


return {
    title = { en = "The herd", zh = "羊群效应" },
    ask = {
        en = "Eight servers want one lock, one after the other. How often does ZooKeeper have to "
            .. "wake one of them?",
        zh = "八台服务器先后要同一把锁。ZooKeeper 总共要叫醒它们多少次？",
    },
    runs = { first = run "zookeeper-none", second = run "zookeeper" },
    modules = { first = { "count_wakes" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 2 },
        second = { verdict = "right", sold = 8, left = 2 },
    },
    predicted = function(facts) return facts.wakes.first end,
    facts = function(facts)
        return { wakes = { first = wakes(facts.first), second = wakes(facts.second) } }
    end,
    steps = none,
    column = {
        en = "woken", zh = "被叫醒",
        of = function(purchase) return purchase.wakes end,
    },
    rows = function(sale)
        local _, by_buyer = wakes(sale)
        local rows = {}
        for i, purchase in ipairs(sale.purchases) do
            rows[i] = setmetatable({ wakes = by_buyer[purchase.buyer] }, { __index = purchase })
        end
        return rows
    end,

    question = {
        en = [[
This time nothing is sold wrongly. Eight servers want the lock at the same moment, and each buys one
bun with it. The lock is one node in ZooKeeper: whoever can create it has the lock, and all others
watch it. When it is deleted they are woken, and try again.

**How often are servers woken until all eight have bought?**]],
        zh = [[
这一次没有卖错什么。八台服务器同时要锁，每台拿到锁买一个包子。锁是 ZooKeeper 里的一个节点：谁创建了它，
谁就得到锁，其他人都监视着它。它被删除时，大家被叫醒，再试一次。

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
                .. "wait any more, so each release wakes one less." },
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
The dotted lines are the servers that wait. The column "woken" of the table says how often each was
woken before it had bought.]],
        zh = [[
点线是正在等待的服务器。表中“被叫醒”一列，是每台在买完之前被叫醒的次数。]],
    },
    cause = {
        en = [[
All wait for the same thing. Each release is news for all of them and good news for one. The work
grows with the square of the number of waiters, and it comes in bursts: all woken servers ask
ZooKeeper at the same moment.]],
        zh = [[
大家等的是同一样东西。每次释放，对所有人都是消息，对其中一个才是好消息。工作量随等待者数目的平方增长，
而且是一阵一阵来的：被叫醒的服务器在同一刻一起去问 ZooKeeper。]],
    },
    mend = {
        en = [[
Let them stand in line. Each waiter creates a node with a number, and watches **the node before its
own**. A release then is news for the next one. Buyers also have their turns in the order in which
they came, which the herd does not promise.]],
        zh = [[
让大家排队。每个等待者创建一个带编号的节点，只监视**自己前面的那一个**。这样，一次释放只通知下一个。
买家还按到来的先后得到锁，而羊群不保证这一点。]],
    },
    code = [[
-- session:mutex("/lock/bun", { order = "none" })
session:mutex "/lock/bun"              -- order = "fifo", the default]],
    same = {
        en = [[
The same sale in order of arrival: servers are woken {wakes.second} times instead of {wakes.first},
each of them twice at most. (zklock tells a waiter also that it has become the next one, so that its
turn comes sooner: that is the second time.)]],
        zh = [[
同一场秒杀，按到达顺序：叫醒 {wakes.second} 次，而不是 {wakes.first} 次，每台最多两次。
（zklock 还会告诉等待者“你是下一个”，让它能更快接手：这就是第二次。）]],
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
            en = "Redisson's unlock messages went to every node of a Redis cluster; it got a lock "
                .. "without messages.",
            zh = "Redisson 的解锁消息会发到 Redis 集群的每个节点；它后来有了一种不发消息的锁。",
        },
    },
}
