--- Lesson: a lock that ends by itself before the work is done.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local TTL = 1 -- seconds


local function run(purchase)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        purchase = purchase, parameters = { ttl = TTL }, pause = 1.5, simulated = true, seed = 1,
    }
end


-- When its lock ends, if the purchase does not renew it.
local function ends(row, sale) return sale.options.purchase and math.huge or row.granted + TTL end

-- When the last one got the lock, and for how long after its write a lock that is renewed is held.
local function facts_of(facts)
    local holders, renewed = buyers.granted(facts.first.purchases), facts.second.purchases[1]
    return {
        last = times.duration(holders[#holders].granted),
        after = times.duration(renewed.released - renewed.written),
    }
end

return {
    title = { en = "Expiry without renewal", zh = "锁会过期，却没有续期" },
    ask = {
        en = "The lock ends by itself after one second; the work takes one and a half. Nobody "
            .. "stops, nothing fails. What comes out?",
        zh = "锁一秒后自动过期，而工作要做一秒半。没有进程卡住，也没有出故障。结果会怎样？",
    },
    runs = { first = run(), second = run "zklock.seckill.lessons.watchdog" },
    modules = { first = { "ttl_lock" }, second = { "watchdog" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    steps = steps.all, ends = ends, facts = facts_of,

    question = {
        en = [[
So that a killed holder does not keep the lock for ever, it ends by itself: `SET lock me NX PX 1000`
in Redis gives it for one second. One second was long enough when it was chosen. Today the work
takes 1.5 s, since a query has become slow. No process stops, and no server fails.

**Ten buns, three buyers, one lock that all share. How many buns are left?**]],
        zh = [[
为了不让被杀死的持有者永远占着锁，锁会自动过期：Redis 的 `SET lock me NX PX 1000` 给一秒钟。
当初定下一秒的时候是够的。今天有一条查询变慢了，工作要做 1.5 秒。没有进程停住，也没有服务器坏掉。

**十个包子，三个买家，共用一把锁。还剩几个？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: it is one lock for all", "It is. But after one second it is free, while its "
                .. "holder still works, and the next buyer reads before the first has written." },
            zh = { "7 个：大家用的是同一把锁", "是同一把。可是一秒之后它就空出来了，而持有者还在做事，"
                .. "下一个买家在前一个写入之前就读了。" },
        },
        {
            value = 8,
            en = { "8: one sale is lost", "The second buyer read 10 before the first had written "
                .. "9, and wrote 9 once more. The third one came after the first write: it read 9, "
                .. "and wrote 8." },
            zh = { "8 个：有一次没扣库存", "第二个买家在第一个写下 9 之前就读到了 10，于是又写了一遍 9。"
                .. "第三个来时第一次写入已经完成：它读到 9，写下 8。" },
        },
        {
            value = 9,
            en = { "9: two sales are lost", "The third buyer gets the lock at {last}. By then "
                .. "the first has written, so the third reads 9 and not 10." },
            zh = { "9 个：有两次没扣库存", "第三个买家在 {last} 才得到锁。那时第一个已经写完，所以它读到的是 9，不是 10。" },
        },
        {
            value = "error",
            en = { "The holder gets an error when its second is over", "Nobody tells it. The "
                .. "release may report that the lock was gone, but that is too late, and many "
                .. "programs ignore that error." },
            zh = { "一秒一到，持有者会收到错误", "没有人告诉它。释放锁时也许会报告锁已不在，那已经太晚了，"
                .. "而且许多程序不理会这个错误。" },
        },
    },
    run = {
        en = [[
A bar is blue for the second for which the buyer has the lock. After that it is red and hatched: the
buyer believes that it still holds the lock, until it has written. (When it is done, it releases
nothing: `leave` looks whose lock it is. [The next lesson](late-release.html) does not look.)]],
        zh = [[
横条上蓝色的一秒，买家确实持有锁。之后是红色斜线：买家自以为还持有锁，直到写完。
（它做完时什么也没有释放：`leave` 会看锁是谁的。[下一课](late-release.html)就不看了。）]],
    },
    cause = {
        en = [[
The time of the lock was a guess about the time of the work. The guess was right on most days.]],
        zh = [[
锁的时长，是对工作时长的一个猜测。大多数日子里它猜对了。]],
    },
    mend = {
        en = [[
Renew the lock while the work goes on, from a task beside it: Redisson calls this its watchdog, and
ZooKeeper's sessions do it for you. A holder that dies does not renew, so its lock ends soon.

A longer time without renewal is no cure: it only makes the wait after a crash longer. And a holder
that is **stopped** does not renew either: against that there is
[the token](token.html), which this lock does not give.]],
        zh = [[
工作进行的时候，由旁边的一个任务续期：Redisson 把它叫作看门狗（watchdog），ZooKeeper 的会话替你做这件事。
死掉的持有者不会续期，它的锁很快就会过期。

只把时长加长而不续期，治不了病：崩溃之后大家要等得更久。另外，**停住**的持有者也不会续期：
对付它要靠[令牌](token.html)，而这种锁不提供令牌。]],
    },
    code = [[
local done = false
zklock.run(function()               -- runs both functions side by side
    work()
    done = true
end, function()
    while not done do
        lock:renew()                -- new: it lasts `ttl` seconds from now on
        zklock.sleep(ttl / 3)
    end
end)]],
    same = {
        en = [[
The same sale, with [a purchase that renews](#watchdog). The bars follow one another, and
{second.left} buns are left. Each bar goes on after the write, for {after} here: the task that
renews is asleep, and sees that the work is done when it wakes.]],
        zh = [[
同一场秒杀，换成[会续期的买法](#watchdog)。横条一个接一个，剩下 {second.left} 个。
写完之后横条还延续了 {after}：续期的任务正在睡，醒来才看到工作已经做完。]],
    },
    try = {
        en = "With a real Redis, and Redisson's way to lock: a lease that is long enough, one that "
            .. "is not, and zklock:",
        zh = "用真实的 Redis 和 Redisson 的做法看三种情形：租期够长、租期太短，以及 zklock：",
    },
    command = "make demo-engines DEMO=\"--only DEMO-13\"",
    where = {
        {
            url = "https://github.com/redisson/redisson/issues/4869",
            en = "A Redisson lock of ten minutes around work that sometimes takes longer: the "
                .. "program learns of it when it unlocks.",
            zh = "一把十分钟的 Redisson 锁，里面的工作有时更久：程序到解锁时才得知。",
        },
        {
            url = "https://github.com/openresty/lua-resty-lock/issues/35",
            en = "\"failed to release lock: unlocked\", from a health check in APISIX with a "
                .. "lock of ten seconds.",
            zh = "APISIX 的健康检查使用十秒的锁，日志里出现 “failed to release lock: unlocked”。",
        },
        {
            url = "https://github.com/spring-projects/spring-integration/pull/2661",
            en = "Spring Integration came to raise an error where a lock had expired in Redis "
                .. "before `unlock()`.",
            zh = "Spring Integration 后来改为：锁在 `unlock()` 之前就已在 Redis 中过期时抛出异常。",
        },
    },
}
