--- Lesson: the holder is killed, and the lock has no end of its own.

local steps = require "zklock.seckill.lessons.site.steps"

local TIMEOUT, STRUCK, TTL = 5, 0.2, 2 -- seconds


local function run(parameters)
    return {
        buyers = 4, servers = 4, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        parameters = parameters, pause = 0.5, timeout = TIMEOUT,
        faults = { { at = STRUCK, kill = "holder" } }, simulated = true, seed = 1,
    }
end


-- When its lock ends, if nobody releases it.
local function ends(row, sale)
    local parameters = sale.options.parameters
    return parameters and row.granted + parameters.ttl or math.huge
end


-- Who bought first, and who was killed.
local function facts_of(facts)
    local said = { timeout = TIMEOUT, struck = STRUCK, ttl = TTL }
    for _, purchase in ipairs(facts.first.purchases) do
        if purchase.outcome == "sold" then said.bought = purchase.buyer end
        if purchase.outcome == "unanswered" then said.killed = purchase.buyer end
    end
    return said
end


-- Who was killed, who had the lock after that, and who gave up.
local function steps_of(sale)
    local list = {}
    local function add(at, what, purchase)
        list[#list + 1] = { at = at, what = what, purchase = purchase }
    end
    for _, purchase in ipairs(sale.purchases) do
        for _, fault in ipairs(sale.faults) do
            if fault.target == "server " .. purchase.server then
                add(fault.at, "killed", purchase)
            elseif purchase.outcome == "timeout" then
                add(purchase.told, "gives_up", purchase)
            elseif purchase.granted > fault.at then
                add(purchase.granted, "granted", purchase)
            end
        end
    end
    return steps.sorted(list)
end

return {
    title = { en = "The killed holder", zh = "被杀死的持有者" },
    ask = {
        en = "The process that holds the lock is killed. When does the next buyer get it?",
        zh = "持有锁的进程被杀死了。下一个买家什么时候能得到锁？",
    },
    runs = { first = run(), second = run{ ttl = TTL } },
    modules = { first = { "ttl_lock" } },
    expect = {
        first = { verdict = "stuck", sold = 1, left = 9, failed = 3 },
        second = { verdict = "right", sold = 3, left = 7, failed = 1 },
    },
    predicted = function(facts) return facts.first.sold end,
    steps = steps_of, ends = ends, facts = facts_of,

    question = {
        en = [[
This time the lock is not ZooKeeper's but the one that many begin with: a key in Redis, a row in a
table, a file. Whoever can make it has the lock, and removes it when done. Nothing else removes it.
Four servers have one buyer each, and there are ten buns. One buyer has bought. The next one has the
lock and has read the stock when its server is killed: by the kernel that is out of memory, or by a
deploy. Each buyer waits for the lock for {timeout} s at most.

**How many of the four buy?**]],
        zh = [[
这一次不是 ZooKeeper 的锁，而是许多人最初会用的那种：Redis 里的一个键，表里的一行，或者一个文件。
谁能创建它，谁就得到锁，做完再删除它。除此之外没有谁会删除它。四台服务器各有一个买家，有十个包子。
一个买家买完了。下一个得到锁，刚读了库存，服务器就被杀死：内核内存不足，或者正在部署。
每个买家等锁最多等 {timeout} 秒。

**四个买家中有几个买到？**]],
    },
    answers = {
        {
            value = 3,
            en = { "3: all but the one whose server was killed", "The other two would, if anybody "
                .. "removed the key. The one who was to do that is dead." },
            zh = { "3 个：除了服务器被杀死的那个", "要是有人删除那个键，另外两个就能买到。可是该删除它的已经死了。" },
        },
        {
            value = 2,
            en = { "2: the killed one had bought, too", "It was killed between reading and "
                .. "writing: it has no order." },
            zh = { "2 个：被杀死的那个也买到了", "它是在读与写之间被杀死的：没有它的订单。" },
        },
        {
            value = 1,
            en = { "1: nobody gets the lock any more", "The key stays. Both others wait their "
                .. "{timeout} s and leave, with {first.left} buns on the shelf, and so does "
                .. "everybody who comes after them, until a person removes the key." },
            zh = { "1 个：再也没有人能得到锁", "那个键一直在。另外两个等满 {timeout} 秒就走了，架上还有 {first.left} 个包子。"
                .. "后来的人也都一样，直到有人动手删除那个键。" },
        },
    },
    run = {
        en = [[
Buyer {bought} has bought, and buyer {killed} is killed. (`kill = "holder"` strikes the holder that
reads next after {struck} s.) The pale bar is the lock, which is still held, though its holder is
dead. Nothing false was sold, but the shop stands still: the page calls such a run **stuck**.]],
        zh = [[
买家 {bought} 买到了，买家 {killed} 被杀死（`kill = "holder"` 杀死 {struck} 秒之后下一个读库存的持有者）。
浅色的横条是锁：持有者已经死了，锁还被占着。没有卖错什么，可是商店停在那里：页面把这样的运行叫作**卡死**。]],
    },
    cause = {
        en = [[
Only its holder gives this lock back, and its holder is gone.]],
        zh = [[
这把锁只有持有者才会归还，而持有者已经不在了。]],
    },
    mend = {
        en = [[
A lock has to end without its holder. It can end with a **time**, as here; with a **session**, as
ZooKeeper's nodes do; or with a **connection**, as row locks do.

Each has its price: until the time is over, or it is noticed that the session or the connection is
gone, all wait. Here that is up to {ttl} s.

Set the time in the same command. A process that is killed between `SETNX` and `EXPIRE` leaves a
lock without end behind.]],
        zh = [[
锁要能在没有持有者的时候自己结束。可以靠**时间**，就像这里；可以靠**会话**，如 ZooKeeper 的节点；
也可以靠**连接**，如数据库的行锁。

各有代价：在时间结束之前，或者在发现会话、连接已断之前，大家都得等。这里最多等 {ttl} 秒。

时间要在同一条命令里设定。在 `SETNX` 与 `EXPIRE` 之间被杀死的进程，会留下一把没有尽头的锁。]],
    },
    code = [[
-- SETNX lock me
SET lock me NX PX 2000]],
    same = {
        en = [[
The same sale with a lock that ends {ttl} s after it was had. {second.sold} buy, and buyer {killed}
gets no answer. What about a holder that is alive and needs longer than {ttl} s? See [expiry without
renewal](expiry.html).]],
        zh = [[
同一场秒杀，锁在获得 {ttl} 秒之后结束。{second.sold} 个买家买到了，买家 {killed} 没有得到答复。
如果持有者活着，却需要 {ttl} 秒以上呢？见[锁会过期，却没有续期](expiry.html)。]],
    },
    try = {
        en = "With a real Redis, a process that is killed between `SETNX` and `EXPIRE`, and "
            .. "zklock:",
        zh = "用真实的 Redis，看在 `SETNX` 与 `EXPIRE` 之间被杀死的进程，以及 zklock：",
    },
    command = "make demo-engines DEMO=\"--only BUG-15\"",
    where = {
        {
            url = "https://github.com/fffonion/lua-resty-acme/issues/81",
            en = "Certificates were not renewed until somebody removed a lock by hand: its key had "
                .. "no time to live.",
            zh = "证书一直没有续签，直到有人手动清除一把锁：它的键没有过期时间。",
        },
        {
            url = "https://github.com/gzigzigzeo/sidekiq-grouping/pull/23",
            en = "A worker that ended between `SETNX` and `EXPIRE` locked a batch for good: twice "
                .. "in three months of production.",
            zh = "一个 worker 在 `SETNX` 与 `EXPIRE` 之间退出，一批任务就永远锁住了：在生产环境中三个月出现两次。",
        },
        {
            url = "https://github.com/laravel/horizon/issues/1738",
            en = "The same two commands, found in Laravel Horizon in 2026.",
            zh = "同样的两条命令，2026 年在 Laravel Horizon 中被发现。",
        },
    },
}
