--- Lesson: many wait for one lock, and each waits for all holds before its own.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"


local function run(pays_after)
    return {
        buyers = 16, servers = 4, products = { bun = 20 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.pays",
        parameters = { payment = 0.18, pays_after = pays_after },
        pause = 0.02, timeout = 1.5, simulated = true, seed = 1,
    }
end


-- For how long a buyer holds the lock, on average.
local function mean_hold(sale)
    local sum, holders = 0, buyers.granted(sale.purchases)
    for _, each in ipairs(holders) do sum = sum + each.released - each.granted end
    return times.duration(sum / #holders)
end


-- The buyer that had the lock after all others.
local function last_holder(sale)
    local holders = buyers.granted(sale.purchases)
    return holders[#holders]
end


-- The last one that had the lock, and those that gave up.
local function steps_of(sale)
    local list, last = {}, last_holder(sale)
    for _, each in ipairs(sale.purchases) do
        if each.outcome == "timeout" then
            list[#list + 1] = { at = each.told, what = "gives_up", purchase = each }
        end
    end
    if not list[1] then return list end
    list[#list + 1] = { at = last.granted, what = "granted", purchase = last }
    return steps.sorted(list)
end

return {
    title = { en = "A long queue", zh = "长长的队" },
    ask = {
        en = "Sixteen buyers, twenty buns, one lock, and nobody waits for it for longer than "
            .. "1.5 s. How many buy?",
        zh = "十六个买家，二十个包子，一把锁，等锁最多等 1.5 秒。有几个买到？",
    },
    runs = { first = run(nil), second = run(true) },
    modules = { first = { "pays" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 12, failed = 8 },
        second = { verdict = "right", sold = 16, left = 4, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    facts = function(facts)
        local last = last_holder(facts.first)
        return {
            hold = { first = mean_hold(facts.first), second = mean_hold(facts.second) },
            last = ("%.2f s"):format(buyers.waited(last)),
        }
    end,
    steps = steps_of,

    question = {
        en = [[
{first.buyers} buyers come at the same moment. All want the same product, so there is nothing to
gain from [finer locks](coarse-lock.html). There are {first.stock} buns: enough for all. A purchase
reads the stock, writes it, and waits for the bank to take the money: 0.2 s together. All of it is
done under the lock, so that nothing can come in between. Whoever does not get the lock within 1.5 s
gives up.

**How many of the {first.buyers} buy?**]],
        zh = [[
{first.buyers} 个买家同时到来，要的是同一种商品，[更细的锁](coarse-lock.html)帮不上忙。包子有 {first.stock} 个，人人够分。
买一次要读库存，写库存，再等银行扣款，一共 0.2 秒。这些都在锁里做，免得中途被别人插进来。1.5 秒之内得不到锁的就放弃。

**{first.buyers} 个买家中有几个买到？**]],
    },
    answers = {
        {
            value = 16,
            en = { "16: there are enough buns, and 1.5 s is much longer than a purchase", "It is "
                .. "longer than seven of them, but not than eight: the ninth in the queue has "
                .. "eight purchases in front of it." },
            zh = { "16 个：包子够，1.5 秒又比一次购买长得多", "1.5 秒比七次购买长，却不到八次："
                .. "队里的第九个，前面有八次购买。" },
        },
        {
            value = 7,
            en = { "7: so many purchases fit into 1.5 s", "The limit is for the wait, and not "
                .. "for the purchase: after these seven one more buyer gets the lock, for which "
                .. "it has waited {last}." },
            zh = { "7 个：1.5 秒里只装得下这么多次购买", "时限限的是等待，不是购买："
                .. "七次做完，还有一个买家得到了锁，它只等了 {last}。" },
        },
        {
            value = 8,
            en = { "8: seven purchases are over within 1.5 s, and one more begins", "The other "
                .. "{first.failed} waited for 1.5 s, and left with {first.left} buns on the "
                .. "shelf." },
            zh = { "8 个：1.5 秒里做完七次购买，第八次已经开始", "另外 {first.failed} 个等满 1.5 秒就走了，"
                .. "架上还有 {first.left} 个包子。" },
        },
        {
            value = 4,
            en = { "4: one for each server", "All of them wait at the same time, whichever server "
                .. "they came to. The number of servers does not matter: there is one lock." },
            zh = { "4 个：每台服务器一个", "不管在哪台服务器上，大家等的是同一把锁，有几台服务器都一样。" },
        },
    },
    run = {
        en = [[
Each bar begins where the one before it ends. The dotted lines that no bar follows are the buyers
who gave up. The figures below the picture count their waits, too; the report and `print(sale)`
count only waits that ended with the lock.]],
        zh = [[
每根横条都从前一根结束的地方开始。点线后面没接横条的，是放弃了的买家。
图下的等锁时间把他们的等待也算在内；报告和 `print(sale)` 只统计等到了锁的。]],
    },
    cause = {
        en = [[
The nth in a queue waits for n − 1 holds. A hold takes {hold.first} here, so the wait grows by that
much with each buyer, and no lock can change it. The only figures to work on are the **time of a
hold** and the **number of waiters**.

Most of the hold is spent on something that needs no lock: the bank does not read our stock.]],
        zh = [[
队里的第 n 个要等 n − 1 次持有。这里一次持有是 {hold.first}，每多一个买家，等待就长这么多，什么锁都一样。
能改的只有两个数：**一次持有的时间**，以及**等待的人数**。

而持有的大部分时间，花在不需要锁的事情上：银行并不读我们的库存。]],
    },
    mend = {
        en = [[
**Hold it for less.** Only the reading and the writing of the stock belong under the lock. The buyer
pays after the release. (If the payment fails, the bun is put back, under the lock again.)

**Hold it for several at once.** `lock:combine` collects what many requests of a process want, and
carries it out in one hold.

**Do without it.** For one row of one database [one UPDATE with a condition](no-need.html) is
enough. The row is locked for that statement alone.

**Let fewer wait.** Admit as many as have a chance: by tickets, by a limit at the entrance, or by
`acquire{ timeout = 1.5, max_waiters = 7 }`. The ninth buyer then gets `busy` at once, and not
`timeout` after 1.5 s.

**Answer honestly.** Give each wait a timeout that is shorter than the visitor's patience, and then
say that it did not work. A program that tries again in a loop makes the queue longer for all.]],
        zh = [[
**缩短持有时间。** 只有读库存和写库存需要锁，释放之后再付款。（如果付款失败，就再拿一次锁，把包子放回去。）

**拿一次锁，办几个请求的事。** `lock:combine` 把一个进程里许多请求要做的事收集起来，拿一次锁就全部办完。

**不用锁。** 只涉及一个数据库的一行时，[一条带条件的 UPDATE](no-need.html) 就够了，那一行只在这条语句期间被锁住。

**限制排队的人数。** 只放有机会的人进来：发号，在入口限流，或者 `acquire{ timeout = 1.5, max_waiters = 7 }`。
这样，第九个买家马上得到 `busy`，而不是等 1.5 秒之后得到 `timeout`。

**如实回答。** 每次等待都要有时限，而且要短于顾客的耐心；到时没等到，就如实告诉他没买成。在循环里不断重试的程序，只会让大家的队更长。]],
    },
    code = [[
local lease = assert(lock:acquire(1.5))
local stock = read_stock()
if stock > 0 then write_stock(stock - 1) end
lease:release()                -- was the last line
if stock > 0 then pay() end]],
    same = {
        en = [[
The same sale, where the buyers pay after the release. A hold takes {hold.second} instead of
{hold.first}. All {second.sold} buy, and the last one has waited for {second.longest}. Payments have
no bars, as they do not hold the lock; the last one ends after {second.seconds}. (That many pay at
the same time is the bank's business, which has more than one lock.)]],
        zh = [[
同一场秒杀，释放之后再付款。一次持有是 {hold.second}，而不是 {hold.first}。{second.sold} 个都买到了，
最后一个等了 {second.longest}。付款时不持有锁，所以没有横条；最后一笔付款在 {second.seconds} 结束。
（大家同时付款是银行的事，银行不止一把锁。）]],
    },
    try = {
        en = "How many buyers fit into 1.5 s now? Work it out, and then set `buyers` and "
            .. "`products`. With real processes:",
        zh = "现在 1.5 秒里装得下多少买家？先算一算，再改 `buyers` 和 `products`。用真实的进程：",
    },
    command = "make demo DEMO=\"--strategy zookeeper --servers 4 --buyers 200 "
        .. "--products bun=200 --pause 0.02 --report sale.html\"",
    where = {
        {
            url = "https://github.com/pikkujs/pikku/pull/1314",
            en = "The lock of a workflow was held for as long as the workflow ran, by a connection "
                .. "of the pool: twenty runs, and every other request of the service waited.",
            zh = "工作流运行多久，它的锁就占着连接池里的一个连接多久：同时跑到二十个，服务里别的请求就全卡住了。",
        },
        {
            url = "https://github.com/eclipse-tractusx/industry-core-hub/pull/353",
            en = "A lock was held during a call over the network of thirty seconds and more; now "
                .. "the call is made without it.",
            zh = "持有锁的时候发一次网络调用，一次就要三十秒以上；后来调用时不再持有锁。",
        },
        {
            url = "https://github.com/open-mercato/open-mercato/issues/5604",
            en = "All orders take their number from one row: under load they queue for that row, "
                .. "and the queue outlives the load.",
            zh = "所有订单都从同一行取号：有负载时都在排队等这一行；负载过去了，队还没散。",
        },
    },
}
