--- Lesson: readers share a lock; a reader that writes shares it, too.

local seckill = require "zklock.seckill"


-- `fenced`: does the store compare tokens?
local function run(side, fenced)
    return {
        buyers = 8, servers = 2, products = { bun = 2 }, strategy = "zookeeper-rw",
        purchase = "zklock.seckill.lessons.read_or_buy", parameters = { side = side, gap = 0.02 },
        pause = 0.2, fenced = fenced, simulated = true, seed = 1,
    }
end


-- How many buyers were told that.
local function count_of(sale, outcome)
    local count = 0
    for _, each in ipairs(sale.purchases) do
        if each.outcome == outcome then count = count + 1 end
    end
    return count
end


-- The first run, with a store that compares tokens.
local function fenced_run()
    local sale = assert(seckill.sale(run("read", true)))
    assert(sale.verdict == "right", sale.finding)
    return { sold = sale.sold, left = sale.left, late = count_of(sale, "late") }
end


return {
    title = { en = "Read and write", zh = "读锁与写锁" },
    ask = {
        en = "Readers hold a lock together, a writer holds it alone. What if a buyer buys as a "
            .. "reader?",
        zh = "读者可以一起持有锁，写者独占。要是买家以读者的身份来买，会怎样？",
    },
    runs = { first = run("read", false), second = run("write", false) },
    modules = { first = { "read_or_buy" } },
    expect = {
        first = { verdict = "wrong", sold = 4, left = 1, overlap = 0 },
        second = { verdict = "right", sold = 2, left = 0, refused = 2, overlap = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    facts = function(facts)
        return { lookers = count_of(facts.first, "looked"), fenced = fenced_run() }
    end,

    question = {
        en = [[
Most visitors of a shop only look. They need not wait for one another, so the shop takes a
**read-write lock**: any number of readers hold it together; a writer holds it alone. Eight
visitors come, 20 ms after one another. {lookers} of them only look (1, 2, 5 and 6), and {lookers}
want to buy (3, 4, 7 and 8). Each holds the lock for 0.2 s: looking takes that long, and so does
reading, thinking and writing. There are {first.stock} buns. The code that sells begins with reading
the stock, so somebody has given it the read side: `lock:read()`. The store looks at no
[tokens](token.html).

**How many are told that they have bought?**]],
        zh = [[
商店里的人大多只看不买，没有必要互相等待。所以商店用了**读写锁**：读者不论多少都可以一起持有，写者独占。
每隔 20 毫秒来一个人，一共八个：{lookers} 个只是看看（1、2、5、6），{lookers} 个要买（3、4、7、8）。
每人持有锁 0.2 秒：看要看这么久，买也要这么久，先读，想一想，最后才写。包子有 {first.stock} 个。
卖货的代码第一步是读库存，于是有人给它加的是读锁：`lock:read()`。存储不检查[令牌](token.html)。

**有几个人被告知买到了？**]],
    },
    answers = {
        {
            value = 2,
            en = { "2: there are no more", "Two could buy if the second read what the first had "
                .. "written. But as readers all of them are inside at once, and all read "
                .. "{first.stock}." },
            zh = { "2 个：只有这么多", "要是后一个读到的是前一个写下的，就会是 2 个。可是作为读者，"
                .. "他们全都同时在里面，读到的都是 {first.stock}。" },
        },
        {
            value = 4,
            en = { "4: readers do not keep each other out", "The lock did what it was asked for. "
                .. "{first.sold} are sold of {first.stock}, and the database says that there is "
                .. "{first.left} left." },
            zh = { "4 个：读者之间不互斥", "锁没有失职：只有 {first.stock} 个包子，却卖出 {first.sold} 个，"
                .. "数据库里还写着剩 {first.left} 个。" },
        },
        {
            value = "refused",
            en = { "None: a reader may not write", "Who would refuse it? The lock does not see "
                .. "what is done under it: \"read\" is a promise of the caller's. And the store "
                .. "does not know who is a reader." },
            zh = { "0 个：读者不可以写", "谁来拒绝呢？锁看不见持有者做了什么：“读”只是调用者的承诺。"
                .. "而存储不知道谁是读者。" },
        },
    },
    run = {
        en = [[
A hollow bar is a hold that is shared. Nothing is red, since readers may hold the lock together. And
yet the shop sells more than it has, as [with a lock in each server](lock-in-one-server.html).]],
        zh = [[
空心横条表示与别人共同持有。没有红色，因为读者本来就可以共同持有。可是照样超卖，
和[锁只在一台服务器里](lock-in-one-server.html)的情形一样。]],
    },
    cause = {
        en = [[
What makes a piece of code a reader is that it does not write, not that it begins with a read. Code
that reads something in order to write what follows from it is a writer from its first read on.

A store that compares [tokens](token.html) would have prevented the oversell (`fenced = true`): it
lets only the newest of these buyers write. Then {fenced.sold} is sold, {fenced.late} are told that
they are too late, and {fenced.left} is left. That is right, but buyers have gone home without a bun
that was there: tokens are for late holders, and do not make up for the wrong side of the lock.]],
        zh = [[
是不是读者，要看它写不写，而不是看第一步。凡是先读、再据此写的，从读的那一刻起就是写者。

存储要是检查[令牌](token.html)（`fenced = true`），就不会超卖：这些买家里，它只让令牌最新的那个写。这样卖出 {fenced.sold} 个，
{fenced.late} 个买家被告知太迟了，还剩 {fenced.left} 个。账是对的，可是明明有包子，买家却空手而归：
令牌防的是迟到的持有者，弥补不了加错的锁。]],
    },
    mend = {
        en = [[
Acquire the write side before the first read. Two shortcuts do not work:

**Read lock, release, write lock, write.** Others write in between. It is right only if you read
again under the write lock. Then the first read was for nothing, unless it mostly finds that there
is nothing to write.

**Read lock, and the write lock on top of it.** A writer waits until all readers are gone. Two
readers that both want to write wait for each other for ever. zklock does not let it come to that: a
reader that asks for the write side gets `would_deadlock` at once. The other way round is fine:
`lease:downgrade()` makes a writer a reader, and nobody writes in between.]],
        zh = [[
在第一次读之前就获取写锁。有两条捷径走不通：

**读锁，释放，再用写锁写。** 两者之间，别人会写。只有在写锁里重新读一遍才正确；那样第一次就白读了，
除非多数时候读完就发现不用写。

**拿着读锁，再去请求写锁。** 写者要等所有读者离开。两个都想写的读者会永远互相等待。zklock 不会让事情走到这一步：
读者请求写锁，立刻得到 `would_deadlock`。反过来可以：`lease:downgrade()` 把写者变成读者，中间没有人能写。]],
    },
    code = [[
-- local lease = lock:read():acquire(3)
local lease = lock:write():acquire(3)
local stock = read_stock()
if stock > 0 then write_stock(stock - 1) end
lease:release()]],
    same = {
        en = [[
The same visitors, with the write side for those that buy. {second.sold} buns are sold, and the
other {second.refused} buyers are told that it is sold out. Readers still hold the lock together (1
with 2, and 5 with 6); each writer has it alone.

Note that 5 and 6 wait for the writers in front of them, though a reader held the lock when they
came. zklock's read-write lock has one queue. If readers could pass a waiting writer, a shop full of
visitors would never sell anything: see [the lesson on fairness](fairness.html).]],
        zh = [[
还是这八个人，只是要买的改用写锁。卖出 {second.sold} 个，另外 {second.refused} 个买家被告知售罄。
读者仍然共同持有锁（1 和 2，5 和 6），写者各自独占。

注意 5 和 6 在等前面的写者，尽管他们来的时候锁在读者手里。zklock 的读写锁只有一个队列。要是读者可以越过等待中的写者，
顾客不断的商店就永远卖不出东西：见讲[公平](fairness.html)的那一课。]],
    },
    try = {
        en = "With real processes and a real ZooKeeper: take `simulated` and `seed` out of the "
            .. "call. If almost nobody buys, how much does the read-write lock gain over a mutex?",
        zh = "用真实的进程和 ZooKeeper：从调用中去掉 `simulated` 和 `seed`。如果几乎没有人买，"
            .. "读写锁比互斥锁能快多少？",
    },
    where = {
        {
            url = "https://github.com/castai/k8s-agent/pull/233",
            en = "An agent for Kubernetes saved changes to a map under `RLock`; data could get "
                .. "lost.",
            zh = "一个 Kubernetes 的 agent 只拿着 `RLock` 就往 map 里写，数据可能丢失。",
        },
        {
            url = "https://github.com/buildbuddy-io/buildbuddy/pull/3346",
            en = "BuildBuddy read under the read lock, and wrote under the write lock, which it "
                .. "took after that: the lock moved up around both.",
            zh = "BuildBuddy 在读锁里读，释放之后再在写锁里写；后来把锁上移，包住了两步。",
        },
        {
            url = "https://github.com/quarkusio/quarkus/issues/35136",
            en = "Quarkus: a method with a read lock that called one with a write lock waited for "
                .. "itself.",
            zh = "Quarkus：持有读锁的方法调用了需要写锁的方法，结果自己等自己。",
        },
    },
}
