--- Lesson: two servers, each of which has a lock of its own.

local function run(strategy)
    return {
        buyers = 6, servers = 2, products = { bun = 3 }, strategy = strategy,
        simulated = true, seed = 1,
    }
end

return {
    title = { en = "A lock in one server", zh = "只在一台服务器里的锁" },
    ask = {
        en = "Two servers, one lock each, three buns, six buyers: how many are sold?",
        zh = "两台服务器，各有一把锁，三个包子，六个买家：卖出几个？",
    },
    runs = { first = run "local", second = run "zookeeper" },
    modules = {}, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 6, left = 0 },
        second = { verdict = "right", sold = 3, left = 0, refused = 3 },
    },
    predicted = function(facts) return facts.first.sold end,

    question = {
        en = [[
The shop has grown: two servers sell from one database. Each of them has the lock of the lesson
before: a `synchronized` block, a `Mutex`, a lock in shared memory. There are {first.stock} buns and
{first.buyers} buyers, three at each server. A server that reads a stock of 0 says "sold out".

**How many buyers are told that they have bought?**]],
        zh = [[
生意做大了：两台服务器从同一个数据库卖货。每台都有上一课的那把锁：`synchronized`、`Mutex`，
或者共享内存里的锁。有 {first.stock} 个包子，{first.buyers} 个买家，每台服务器三个。读到库存为 0 的服务器回答“售罄”。

**有几个买家被告知买到了？**]],
    },
    answers = {
        {
            value = 3,
            en = { "3: there are no more", "With one server, yes. But each lock knows only the "
                .. "buyers of its own server, and a buyer here and a buyer there read the same "
                .. "stock." },
            zh = { "3 个：只有这么多", "只有一台服务器时是这样。可是每把锁只认得自己服务器的买家，"
                .. "这一台的买家和那一台的买家读到的是同一个库存。" },
        },
        {
            value = 4,
            en = { "4: once, two come at the same moment", "It is not once. Both servers "
                .. "begin at the same moment and work in step, so both sell each bun. (Out of step "
                .. "it can be 4 or 5.)" },
            zh = { "4 个：总有一次撞上", "不止一次。两台服务器同时开始，步调一致，每个包子都被它们各卖了一遍。"
                .. "（步调错开时，也可能是 4 个或 5 个。）" },
        },
        {
            value = 6,
            en = { "6: each server sells all three", "Each server sold each bun once: "
                .. "{first.sold} are sold of {first.stock}. The locks did what they promise, and "
                .. "what they promise is not enough." },
            zh = { "6 个：每台服务器都卖了三个", "每台服务器把每个包子都卖了一遍：{first.stock} 个包子卖出 "
                .. "{first.sold} 个。锁做到了它答应的事，只是它答应的不够。" },
        },
    },
    run = {
        en = [[
The bars of one server do not overlap: its lock works. They are red and hatched since at the same
time a buyer of the other server is at work, who holds the other lock.]],
        zh = [[
每台服务器自己的横条互不重叠：它的锁是管用的。横条上有红色斜线，是因为另一台服务器的一个买家
同时也在购买，手里是另一把锁。]],
    },
    cause = {
        en = [[
A lock keeps out only those who ask for the same lock. These are two locks: they have the same name
in the source, but they are in two processes.]],
        zh = [[
锁只能挡住请求同一把锁的人。这里是两把锁：在源码里名字相同，却在两个进程里。]],
    },
    mend = {
        en = [[
Take a lock that all servers share: in ZooKeeper, etcd, Redis, or the database itself. Only the line
that makes the lock changes. (`zklock` is the library that these lessons use.)]],
        zh = [[
换一把所有服务器共用的锁：放在 ZooKeeper、etcd、Redis，或者数据库里。只有创建锁的那一行要改。
（`zklock` 就是这些课程所用的库。）]],
    },
    code = [[
-- local lock = the_process.lock
local session = zklock.connect "zk1:2181,zk2:2181,zk3:2181"
local lock = session:mutex "/lock/bun"]],
    same = {
        en = [[
The same sale with a lock in ZooKeeper. Now the bars of all rows follow one another, {second.sold}
buns are sold, and the other {second.refused} buyers, who hold the lock for just as long, read a
stock of 0 and are told that it is sold out (○).]],
        zh = [[
同一场秒杀，锁放在 ZooKeeper 里。现在所有的横条一个接一个，卖出 {second.sold} 个。
另外 {second.refused} 个买家持有锁的时间一样长，读到库存为 0，被告知售罄（○）。]],
    },
    try = {
        en = "With real processes, a real database and a real ZooKeeper:",
        zh = "用真实的进程、数据库和 ZooKeeper：",
    },
    command = "make demo DEMO=\"--strategy local,zookeeper --servers 2 --buyers 6 "
        .. "--products bun=3 --report sale.html\"",
    where = {
        {
            url = "https://github.com/fffonion/lua-resty-acme/pull/47",
            en = "Several OpenResty servers behind a load balancer began to renew the same "
                .. "certificate at the same time.",
            zh = "负载均衡器后面的几台 OpenResty 服务器同时开始续签同一张证书。",
        },
        {
            url = "https://github.com/opensoar-hq/opensoar-core/pull/120",
            en = "A scheduler in memory ran every job once for each replica, until a lock that the "
                .. "replicas share was added.",
            zh = "一个内存中的调度器有几个副本，每个任务就跑几遍，直到加上一把各副本共用的锁。",
        },
        {
            url = "https://github.com/agenda/agenda/issues/12",
            en = "The same was asked of a job queue: not to run a job twice on two machines.",
            zh = "有人向一个任务队列提出同样的要求：不要在两台机器上把同一个任务跑两遍。",
        },
    },
}
