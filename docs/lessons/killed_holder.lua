--- Lesson: the holder is killed, and the lock has no end of its own.

local steps = require "docs.lessons.site.steps"


local function run(parameters)
    return {
        buyers = 4, servers = 4, products = { bun = 10 }, strategy = "docs.lessons.ttl_lock",
        parameters = parameters, pause = 0.5, timeout = 5,
        faults = { { at = 0.2, kill = "holder" } }, simulated = true, seed = 1,
    }
end


-- When its lock ends, if nobody releases it.
local function ends(row, sale)
    local parameters = sale.options.parameters
    return parameters and row.granted + parameters.ttl or math.huge
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
    runs = { first = run(), second = run{ ttl = 2 } },
    modules = { first = { "ttl_lock" } },
    expect = {
        first = { verdict = "stuck", sold = 1, left = 9, failed = 3 },
        second = { verdict = "right", sold = 3, left = 7, failed = 1 },
    },
    predicted = function(facts) return facts.first.sold end,
    steps = steps_of, ends = ends,

    question = {
        en = [[
A lock that all servers share: a key in Redis, a row in a table, a file. Whoever can make it has the
lock, and removes it when done. Four servers have one buyer each, and there are ten buns. The first
buyer has bought. While the second has the lock, its server is killed: by the kernel that is out of
memory, or by a deploy. Each buyer waits for the lock for 5 s at most.

**How many of the four buy?**]],
        zh = [[
一把所有服务器共用的锁：Redis 里的一个键，表里的一行，或者一个文件。谁能创建它，谁就得到锁，做完再删除它。
四台服务器各有一个买家，有十个包子。第一个买家买完了。第二个正持有锁时，它的服务器被杀死：内核内存不足，
或者正在部署。每个买家等锁最多等 5 秒。

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
            en = { "1: nobody gets the lock any more", "The key stays. Both others wait their 5 s "
                .. "and leave, with {first.left} buns on the shelf, and so does everybody who "
                .. "comes after them, until a person removes the key." },
            zh = { "1 个：再也没有人能得到锁", "那个键一直在。另外两个等满 5 秒就走了，架上还有 {first.left} 个包子。"
                .. "后来的人也都一样，直到有人动手删除那个键。" },
        },
    },
    run = {
        en = [[
Nothing false was sold, so the account is right; but the shop stands still. The laboratory calls
this **stuck**.]],
        zh = [[
没有卖错什么，账是对的，可是商店停在那里。实验室把这叫作**卡死**。]],
    },
    cause = {
        en = [[
Only its holder gives this lock back, and its holder is gone.]],
        zh = [[
这把锁只有持有者才会归还，而持有者已经不在了。]],
    },
    mend = {
        en = [[
A lock has to end without its holder. Three ways: with a **time**, which the holder renews (`SET …
NX PX 2000`, in one command: a process that is killed between `SETNX` and `EXPIRE` leaves such a
lock behind); with a **session**, as ZooKeeper's nodes do; with a **connection**, as row locks do.

Each has its price. Until the time or the session is over, all wait: here 2 s.]],
        zh = [[
锁要能在没有持有者的时候自己结束。有三种办法：靠**时间**，由持有者续期（`SET … NX PX 2000`，必须是一条命令：
在 `SETNX` 与 `EXPIRE` 之间被杀死的进程，留下的正是这样一把锁）；靠**会话**，如 ZooKeeper 的节点；
靠**连接**，如数据库的行锁。

各有代价：在时间或会话结束之前，大家都得等。这里是 2 秒。]],
    },
    code = [[
-- SETNX lock me
SET lock me NX PX 2000]],
    same = {
        en = [[
The same sale with a lock that ends after 2 s. {second.sold} buy, and the one whose server was
killed gets no answer. What about a holder that is alive and needs longer than 2 s? See [expiry
without renewal](expiry.html).]],
        zh = [[
同一场秒杀，锁在 2 秒后结束。{second.sold} 个买家买到了，服务器被杀死的那个没有得到答复。
如果持有者活着，却需要 2 秒以上呢？见[锁会过期，却没有续期](expiry.html)。]],
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
