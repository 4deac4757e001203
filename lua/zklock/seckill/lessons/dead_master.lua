--- Lesson: the master dies before a replica has the lock.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local LAGS, FAILOVER, DIES, WORK, TTL = { 0.2, 0.3 }, 0.2, 0.18, 0.5, 5 -- seconds
local SCHEDULES = 1000


local function options(majority, dies_after)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.replicated_lock", pause = WORK,
        parameters = {
            lags = LAGS, failover = FAILOVER, ttl = TTL, majority = majority,
            dies_after = dies_after,
        },
    }
end


local function run(majority)
    local made = options(majority, DIES)
    made.simulated, made.seed = true, 1
    return made
end


-- How many of so many schedules are wrong, if the master dies at a moment that the seed chooses.
local function wrong(majority)
    local explored = options(majority)
    explored.faults = {}
    return assert(seckill.explore(explored, { seeds = SCHEDULES })).wrong
end


-- When the master died.
local function death(sale)
    return buyers.granted(sale.purchases)[1].granted + DIES
end


local function spans(sale)
    local died = death(sale)
    return {
        { at = 0, ended = died, text = { en = "A", zh = "A" } },
        { at = died + FAILOVER, text = { en = "B", zh = "B" } },
    }
end


local function steps_of(sale)
    local list, knows = steps.of(sale), sale.verdict == "right"
    local died = death(sale)
    list[#list + 1] = { at = died, text = { en = "A, the master, dies", zh = "主节点 A 宕机" } }
    list[#list + 1] = { at = died + FAILOVER, text = {
        en = knows and "B becomes the master, and has the lock"
            or "B becomes the master, and does not have the lock",
        zh = knows and "B 成为主节点，它有这把锁" or "B 成为主节点，它没有这把锁",
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
            lag = times.milliseconds(LAGS[1]), longer = times.milliseconds(LAGS[2]),
            dies = times.milliseconds(DIES), failover = times.milliseconds(FAILOVER),
            work = WORK, ttl = TTL,
            explored = { schedules = SCHEDULES, plain = wrong(), majority = wrong(true) },
        }
    end,

    question = {
        en = [[
The lock is a key in Redis. It ends by itself after {ttl} s, only its holder can delete it, and the
work takes {work} s. Redis runs on three servers, so that the shop goes on when one of them is lost:
A is the master, and B and C are its replicas. B has each write {lag} after A has answered, and C
{longer} after.

Three buyers come at the same moment. A grants the lock to the first one, and dies {dies} later.
Another {failover} later B becomes the master: it has more of the writes than C. No buyer is
stopped, and none is late.

**There were ten buns. How many are left?**]],
        zh = [[
锁是 Redis 里的一个键，{ttl} 秒后自动过期，只有持有者能删除它；工作要 {work} 秒。Redis 有三台服务器，坏了一台，商店也能照常营业
：A 是主节点，B 和 C 是副本。A 答复之后，B 过 {lag} 有这次写入，C 过 {longer} 才有。

三个买家同时到来。A 把锁给了第一个买家，{dies} 后宕机。再过 {failover}，B 成为主节点，因为它的写入比 C 全。
没有买家中途卡住，也没有买家迟到。

**原来有十个包子，还剩几个？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: the replicas have the lock, too", "B would have it {lag} after the answer. "
                .. "The master lived for {dies}." },
            zh = { "7 个：副本也有这把锁", "B 要到答复之后 {lag} 才有它，而主节点只活了 {dies}。" },
        },
        {
            value = 8,
            en = { "8: one sale is lost", "B had never heard of the first buyer's lock, so it gave "
                .. "it to the next one. Both read 10, and both wrote 9." },
            zh = { "8 个：有一次没扣库存", "B 从来没有听说过第一个买家的锁，就把它给了下一个。"
                .. "两个人都读到 10，都写下 9。" },
        },
        {
            value = 9,
            en = { "9: two sales are lost", "Only the first buyer's lock got lost. B has the "
                .. "second buyer's, so the third one waits for that." },
            zh = { "9 个：有两次没扣库存", "丢的只是第一个买家的锁。第二个买家的锁 B 有，所以第三个会等第二个。" },
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
The row at the top says which of the lock's servers is the master; between A and B there is none.
The first two buyers hold the lock at the same time: A granted it to the first one, and B to the
second one.]],
        zh = [[
最上面一行是锁的哪台服务器在当主节点；A 和 B 之间有一段时间没有主节点。前两个买家同时持有锁：
第一个是从 A 得到的，第二个是从 B 得到的。]],
    },
    cause = {
        en = [[
A said yes before any other server knew of the lock. This is **asynchronous replication**: for a
moment one machine alone knows the answer. When it dies, a machine that has never heard of the lock
takes its place.

(A release can get lost, too. Then all wait until the lock ends by itself.)]],
        zh = [[
A 在别的服务器知道之前就答应了。这叫**异步复制**：有那么一会儿，只有一台机器知道这个答复。它一宕机，接替它
的机器从来没有听说过这把锁。

（释放也可能这样丢掉，大家就得等到这把锁自己过期。）]],
    },
    mend = {
        en = [[
Answer when **most of the servers** have the write, and let only a server become master that has
every write that was answered. Any two majorities share a server, so there is always one that knows
the lock. ZooKeeper, etcd and Consul work like that. The price: each grant waits for another server,
here for {lag} from A, and for {longer} from B.

Redis can be told to wait for replicas (`WAIT`). That makes the loss rarer, but a failover may still
choose a replica that does not have the write.]],
        zh = [[
等**多数服务器**都有了这次写入再答复，并且只有具备全部已确认写入的服务器，才能当选主节点。任意两个多数派
至少有一台共同的服务器，所以总有一台知道这把锁。ZooKeeper、etcd 和 Consul 都是这样做的。
代价是每次获取锁都要等另一台服务器：这里 A 要等 {lag}，B 要等 {longer}。

Redis 也可以用 `WAIT` 等待副本。这样丢锁会少一些，但故障切换仍可能选中一个没有这次写入的副本。]],
    },
    code = [[
-- redis:set("lock", me, "NX", "PX", 5000)       -- the master has it
session:mutex("/lock/bun"):acquire()             -- most of the servers have it]],
    same = {
        en = [[
The same sale with `majority = true`: a server answers when two of the three have the write. A dies
{dies} after the first grant, as before. B has the lock, so the next buyer waits for the first one,
and {second.left} buns are left. B and C are still two of three, so the shop goes on without A. (If
A dies before it has answered, nobody was granted the lock, and the buyer asks B.)

In {explored.schedules} more schedules the seed chooses when A dies: that is the call without
`dies_after`. {explored.plain} go wrong with asynchronous replication, and {explored.majority} with
a majority.]],
        zh = [[
同一场秒杀，加上 `majority = true`：三台中有两台有了写入才答复。A 照样在第一次授予后 {dies} 宕机。
B 有这把锁，所以下一个买家会等第一个，剩下 {second.left} 个。B 和 C 仍是三台中的两台，没有 A 商店照常营业。
（如果 A 还没有答复就宕机，那么谁也没有得到锁，买家会再去问 B。）

再模拟 {explored.schedules} 种调度，A 宕机的时刻由种子决定，也就是把上面的调用去掉 `dies_after`：
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
