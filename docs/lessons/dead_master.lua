--- Lesson: the master dies before its replica has the lock.

local seckill = require "zklock.seckill"
local steps = require "docs.lessons.site.steps"

local LAG, FAILOVER, DIES, SCHEDULES = 0.1, 0.2, 0.09, 1000


local function parameters(majority, dies_after)
    return { lag = LAG, failover = FAILOVER, majority = majority, dies_after = dies_after }
end


local function run(majority)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "docs.lessons.replicated_lock", parameters = parameters(majority, DIES),
        pause = 0.5, simulated = true, seed = 1,
    }
end


-- How many of so many schedules are wrong, if the master dies at a moment that the seed chooses.
local function wrong(majority)
    local found = assert(seckill.explore({
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "docs.lessons.replicated_lock", parameters = parameters(majority), pause = 0.5,
        faults = {},
    }, { seeds = SCHEDULES }))
    return found.wrong
end


-- When the master died.
local function death(sale)
    local first = math.huge
    for _, purchase in ipairs(sale.purchases) do first = math.min(first, purchase.granted) end
    return first + DIES
end


-- No line ends between a number and its unit.
local function milliseconds(seconds) return ("%d\194\160ms"):format(1000 * seconds) end


local function spans(sale)
    local died = death(sale)
    return {
        { at = 0, ended = died, text = { en = "master", zh = "主节点" } },
        { at = died + FAILOVER, text = { en = "replica as master", zh = "副本成为主节点" } },
    }
end


local function steps_of(sale)
    local list, knows = steps.of(sale), sale.verdict == "right"
    local died = death(sale)
    list[#list + 1] = { at = died, text = { en = "the master dies", zh = "主节点死掉" } }
    list[#list + 1] = { at = died + FAILOVER, text = {
        en = knows and "the replica takes over, and has the lock"
            or "the replica takes over, and has no lock",
        zh = knows and "副本接替，它有这把锁" or "副本接替，它没有这把锁",
    } }
    return steps.sorted(list)
end


return {
    title = { en = "The dead master", zh = "宕机的主节点" },
    ask = {
        en = "The server that keeps the lock dies right after it has granted it, and its replica "
            .. "takes over. Who holds the lock?",
        zh = "保存锁的服务器刚把锁给出去就宕机了，由副本接替。锁现在是谁的？",
    },
    runs = { first = run(), second = run(true) },
    modules = { first = { "replicated_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    common = { en = "the lock's servers", zh = "锁的服务器" },
    spans = spans, steps = steps_of,
    facts = function()
        return {
            lag = milliseconds(LAG), dies = milliseconds(DIES), failover = milliseconds(FAILOVER),
            explored = { schedules = SCHEDULES, plain = wrong(), majority = wrong(true) },
        }
    end,

    question = {
        en = [[
The lock is a key in Redis, and it has all that the lessons before have asked for: it ends by itself
after 30 s, which is much longer than the work takes, and only its holder can delete it. Redis has a
replica, so that the shop goes on when a server is lost. A write is at the replica {lag} after the
master has answered.

The master grants the lock to the first buyer, and dies {dies} later. Another {failover} later
the replica takes its place. No buyer is stopped, and none is late.

**Ten buns, three buyers. How many buns are left?**]],
        zh = [[
锁是 Redis 里的一个键，前几课要求的它都做到了：30 秒后自动过期，远比工作的时间长；只有持有者能删除它。
Redis 还有一个副本，丢了一台服务器，商店照常营业。主节点答复之后，写入要过 {lag} 才到副本。

主节点把锁给了第一个买家，{dies} 后死掉。再过 {failover}，副本接替它。没有买家停住，也没有买家来晚。

**十个包子，三个买家。还剩几个？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: the replica has the lock, too", "It would have it {lag} after the answer. "
                .. "The master lived for {dies}." },
            zh = { "7 个：副本也有这把锁", "答复之后要过 {lag} 才会有，而主节点只活了 {dies}。" },
        },
        {
            value = 8,
            en = { "8: one sale is lost", "The replica had never heard of the first buyer's "
                .. "lock, so it gave it to the next one. Both read 10, and both wrote 9." },
            zh = { "8 个：丢失了一次售卖", "副本从来没有听说过第一个买家的锁，就把它给了下一个。"
                .. "两个人都读到 10，都写下 9。" },
        },
        {
            value = 9,
            en = { "9: two sales are lost", "Only what the replica did not have yet is lost: one "
                .. "lock. It has the second buyer's, so the third one waits for that." },
            zh = { "9 个：丢失了两次售卖", "丢的只是副本还没有的东西：一把锁。第二个买家的锁它有，"
                .. "所以第三个会等第二个。" },
        },
        {
            value = "error",
            en = { "The first buyer is told that its lock is gone", "By whom? To the new master "
                .. "that lock never existed, and the holder asks nobody until it releases it." },
            zh = { "第一个买家会得知锁没了", "谁来告诉它呢？在新的主节点看来，那把锁从来没有存在过；"
                .. "而持有者自己在释放之前不会再去问任何人。" },
        },
    },
    run = {
        en = [[
The row at the top is the server that answers. The first two holds overlap, although each of the
two buyers was granted the lock by the server that was the master then.]],
        zh = [[
最上面一行是当时答复请求的服务器。前两次持锁重叠，尽管两个买家都是从当时的主节点那里得到锁的。]],
    },
    cause = {
        en = [[
The master said yes before any other server knew of it. This is **asynchronous replication**: for a
moment only one machine knows the answer, and the failover replaces that machine by one that has
never heard of the lock. (If a release is lost like that, all wait until it ends by itself.)]],
        zh = [[
主节点在别的服务器知道之前就答应了。这叫**异步复制**：有那么一会儿，只有一台机器知道这个答复，
而故障切换恰好把它换成了一台没听说过这件事的机器。
（如果丢的是一次释放，大家就得等到这把锁自己过期。）]],
    },
    mend = {
        en = [[
Answer when **most of the servers** have the write, and elect a server only if it has every write
that was answered. Any two majorities share a server, so the next leader knows the lock. That is how
ZooKeeper, etcd and Consul work. The price is one more trip between servers for each grant.

Redis can be told to wait for replicas (`WAIT`). That makes the loss rarer, but a failover may still
choose a replica that does not have the write.]],
        zh = [[
等**多数服务器**都有了这次写入再答复，并且只让拥有全部已答复写入的服务器成为新的主节点。任意两个多数派
至少有一台共同的服务器，所以新的主节点一定知道这把锁。ZooKeeper、etcd 和 Consul 都是这样做的。
代价是每次获锁多一次服务器之间的往返。

Redis 也可以用 `WAIT` 等待副本。这样丢锁会少一些，但故障切换仍可能选中一个没有这次写入的副本。]],
    },
    code = [[
-- redis:set("lock", me, "NX", "PX", 30000)      -- the master has it
session:mutex("/lock/bun"):acquire()             -- most of the servers have it]],
    same = {
        en = [[
The same sale, where the answer waits for the replica (`majority = true`; here most of the servers
are both). The master dies as before. The replica has the lock, so the next buyer waits for the
first one, and {second.left} buns are left.

In {explored.schedules} more schedules, without `dies_after`, the seed chooses when the master dies.
{explored.plain} go wrong with asynchronous replication, and {explored.majority} with a
majority.]],
        zh = [[
同一场秒杀，答复之前先等副本（`majority = true`，这里的多数就是两台）。主节点照样死掉。副本有这把锁，
所以下一个买家会等第一个，剩下 {second.left} 个。

再模拟 {explored.schedules} 种调度，去掉 `dies_after`，主节点死掉的时刻由种子决定：
异步复制有 {explored.plain} 种出错，多数派有 {explored.majority} 种。]],
    },
    try = {
        en = "With a real Redis whose master is killed, the same with Redisson's lock, and three "
            .. "ZooKeeper servers whose leader is killed:",
        zh = "用真实的服务器看三种情形：Redis 的主节点被杀死，换成 Redisson 的锁，以及三台 ZooKeeper 中的领导者被杀死：",
    },
    command = "make demo-engines DEMO=\"--only DEMO-19\"",
    where = {
        {
            url = "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/",
            en = "Redis's own page on locks tells this story, and calls it a violation of safety.",
            zh = "Redis 官方讲分布式锁的页面写明了这个过程，称之为违反安全性。",
        },
        {
            url = "https://aphyr.com/posts/283-jepsen-redis",
            en = "Jepsen, 2013: in a partition Redis with Sentinel lost 56 % of the writes that it "
                .. "had acknowledged.",
            zh = "Jepsen，2013 年：网络分区时，带 Sentinel 的 Redis 丢了已确认写入中的 56%。",
        },
        {
            url = "https://github.blog/2018-10-30-oct21-post-incident-analysis/",
            en = "GitHub, 2018: MySQL failed over to servers that lacked a few seconds of writes. "
                .. "It took a day to bring both sides together.",
            zh = "GitHub，2018 年：MySQL 故障切换到了缺少几秒写入的服务器，花了一天才把两边的数据合到一起。",
        },
    },
}
