--- Lesson: readers share a lock; a reader that writes shares it, too.

local function run(side)
    return {
        buyers = 8, servers = 2, products = { bun = 2 }, strategy = "zookeeper-rw",
        purchase = "docs.lessons.read_or_buy", parameters = { side = side, gap = 0.02 },
        pause = 0.2, fenced = false, simulated = true, seed = 1,
    }
end


local function looked(sale)
    local count = 0
    for _, each in ipairs(sale.purchases) do
        if each.outcome == "looked" then count = count + 1 end
    end
    return count
end

return {
    title = { en = "Read and write", zh = "读锁与写锁" },
    ask = {
        en = "Readers hold a lock together, a writer holds it alone. What if a buyer buys as a "
            .. "reader?",
        zh = "读者可以一起持有锁，写者独占。要是买家以读者的身份来买，会怎样？",
    },
    runs = { first = run "read", second = run "write" },
    modules = { first = { "read_or_buy" } },
    expect = {
        first = { verdict = "wrong", sold = 4, left = 1, overlap = 0 },
        second = { verdict = "right", sold = 2, left = 0, refused = 2, overlap = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    facts = function(facts) return { lookers = looked(facts.first) } end,

    question = {
        en = [[
Most visitors of a shop only look. They need not wait for one another, so the shop takes a
**read-write lock**: any number of readers hold it together; a writer holds it alone. Eight
visitors come in a row. {lookers} of them only look (1, 2, 5 and 6), and {lookers} want to buy (3,
4, 7 and 8). There are {first.stock} buns. The code that sells begins with reading the stock, so
somebody has given it the read side: `lock:read()`.

**How many are told that they have bought?**]],
        zh = [[
商店里的人大多只看不买，没有必要互相等待。所以商店用了**读写锁**：读者不论多少都可以一起持有，写者独占。
一连来了八个人，其中 {lookers} 个只看看（1、2、5、6），{lookers} 个要买（3、4、7、8）。包子有 {first.stock} 个。
卖货的代码第一步是读库存，于是有人给它用了读锁：`lock:read()`。

**有几个人被告知买到了？**]],
    },
    answers = {
        {
            value = 2,
            en = { "2: there are no more", "Two could buy if the second read what the first had "
                .. "written. But as readers all of them are inside at once, and all read 2." },
            zh = { "2 个：只有这么多", "要是后一个读到的是前一个写下的，就会这样。可是作为读者，"
                .. "他们全都同时在里面，读到的都是 2。" },
        },
        {
            value = 4,
            en = { "4: readers do not keep each other out", "The lock did what it was asked for. "
                .. "{first.sold} are sold of {first.stock}, and the database says that there is "
                .. "{first.left} left." },
            zh = { "4 个：读者之间不互斥", "锁做到了要它做的事：{first.stock} 个包子卖出 {first.sold} 个，"
                .. "数据库里还写着剩 {first.left} 个。" },
        },
        {
            value = "refused",
            en = { "None: a reader may not write", "Who would refuse it? The lock does not see "
                .. "what is done under it. \"Read\" is a promise of the caller's, and nobody "
                .. "checks it." },
            zh = { "没有：读者不可以写", "谁来拒绝呢？锁看不见持有者做了什么。“读”只是调用者的承诺，没有人检查。" },
        },
    },
    run = {
        en = [[
A hollow bar is a hold that is shared. Nothing is red, since readers may hold the lock together. And
yet the shop sells more than it has, as [with a lock in each server](lock-in-one-server.html).]],
        zh = [[
空心的横条是与别人一起的持有。没有红色，因为读者本来就可以一起持有。可是照样超卖，
和[只在一台服务器里的锁](lock-in-one-server.html)一样。]],
    },
    cause = {
        en = [[
The **last** step of a piece of code decides whether it is a reader, and not the first one. Code
that reads something in order to write what follows from it is a writer from its first read on.]],
        zh = [[
一段代码是不是读者，要看它的**最后**一步，而不是第一步。凡是先读、再据此写的，从读的那一刻起就是写者。]],
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
除非第一次读大多会发现没有什么可写。

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
others are told that it is sold out. Readers still hold the lock together (1 with 2, and 5 with 6);
each writer has it alone.

Note that 5 and 6 wait for the writers in front of them, though a reader held the lock when they
came. zklock's read-write lock has one queue. If readers could pass a waiting writer, a shop full of
visitors would never sell anything: see [the lesson on fairness](fairness.html).]],
        zh = [[
同样的人，买的用写锁。卖出 {second.sold} 个，其余的被告知售罄。读者仍然一起持有锁（1 和 2，5 和 6），
写者各自独占。

注意 5 和 6 在等前面的写者，尽管他们来的时候锁在读者手里。zklock 的读写锁只有一个队列。要是读者可以越过等待中的写者，
客人不断的商店就永远卖不出东西：见[先来后到](fairness.html)那一课。]],
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
            zh = "一个 Kubernetes 代理在 `RLock` 之下往 map 里写，数据可能丢失。",
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
            zh = "Quarkus：持有读锁的方法调用了需要写锁的方法，结果在等自己。",
        },
    },
}
