--- Lesson: a holder that has lost the lock releases it, and deletes that of another.

local steps = require "docs.lessons.site.steps"

local function run(careless)
    return {
        buyers = 4, servers = 4, products = { bun = 10 }, strategy = "docs.lessons.ttl_lock",
        purchase = "docs.lessons.check_first", parameters = { ttl = 1, careless = careless },
        pause = 0.6, faults = { { at = 0, stop = "holder", length = 1.3 } },
        simulated = true, seed = 1,
    }
end


-- The release of the one that has lost the lock, among the steps that overlapped.
local function with_release(sale)
    local list = steps.of(sale)
    if sale.verdict == "right" then return list end
    for _, purchase in ipairs(sale.purchases) do
        if purchase.outcome == "lost" then
            list[#list + 1] = { at = purchase.released, what = "deletes", purchase = purchase }
        end
    end
    return steps.sorted(list)
end

return {
    title = { en = "Deleting another's lock", zh = "删掉别人的锁" },
    ask = {
        en = "A holder comes too late, sees it, writes nothing, and tidies up. What can it break?",
        zh = "一个持有者来晚了，自己也看出来了，什么也没写，只是收拾干净。它能弄坏什么？",
    },
    runs = { first = run(true), second = run(nil) },
    modules = { first = { "ttl_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8, failed = 1 },
        second = { verdict = "right", sold = 3, left = 7, failed = 1 },
    },
    predicted = function(facts) return facts.first.verdict end,
    steps = with_release,

    question = {
        en = [[
The lock ends after 1 s, and work takes 0.6 s, so there is room. One holder is stopped for 1.3 s.
When it goes on, it finishes its work, [looks at its lock](paused-holder.html), sees that it has
lost it, and writes nothing. Then, as a tidy program does in `finally`, it releases the lock: `DEL
lock`.

**Is the stock right at the end?**]],
        zh = [[
锁在 1 秒后过期，工作只要 0.6 秒，时间足够。有一个持有者停住了 1.3 秒。它继续运行之后做完手里的事，
[看一眼锁](paused-holder.html)，发现已经失去，于是什么也没写。然后，它像守规矩的程序那样，
在 `finally` 里释放锁：`DEL lock`。

**最后库存对吗？**]],
    },
    answers = {
        {
            value = "right",
            en = { "Yes: it wrote nothing", "It wrote nothing to the stock. It wrote to the "
                .. "lock: the key that it deleted was somebody else's by then." },
            zh = { "对：它什么也没写", "它没有写库存，却动了锁：它删掉的那个键，那时已经是别人的了。" },
        },
        {
            value = "wrong",
            en = { "No", "It deleted the lock of a buyer who was at work. The next one got the "
                .. "lock in the middle of that, and both read the same stock." },
            zh = { "不对", "它删掉了一个正在做事的买家的锁。下一个买家趁这时得到锁，两人读到的是同一个库存。" },
        },
        {
            value = "error",
            en = { "Redis refuses a `DEL` of a key that another client has set", "Redis does not "
                .. "know who has set a key. Whoever may write may delete it." },
            zh = { "Redis 会拒绝删除别的客户端设置的键", "Redis 不知道键是谁设置的。能写的人就能删。" },
        },
    },
    run = {
        en = [[
The hatched part of the bar of the server that was stopped is the time after its lock had ended. The
other one comes after its release: two who did nothing wrong.]],
        zh = [[
停住过的那台服务器，横条上有斜线的部分，是它的锁过期之后。另一处斜线在它释放之后：那两个买家什么也没有做错。]],
    },
    cause = {
        en = [[
The holder deleted a **name**, and meant its own **grant**. Between the two lies all that happened
while it was stopped.]],
        zh = [[
它想归还的是**自己那一次获锁**，删掉的却是一个**名字**。两者之间，隔着它停住时发生的一切。]],
    },
    mend = {
        en = [[
Give each grant a value that no other has, and delete the lock only if it still has that value, in
one step: with a script in Redis, as a `GET` and a `DEL` after it have the same gap again. (In
ZooKeeper each grant is a node of its own.)]],
        zh = [[
给每次获锁一个独有的值，只有锁里还是这个值才删除，而且要一步做完：在 Redis 中用脚本，因为先 `GET` 再 `DEL`，
中间又是同样的空隙。（在 ZooKeeper 中，每次获锁都是一个单独的节点。）]],
    },
    code = [[
-- DEL lock
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end]],
    same = {
        en = [[
The same sale, where a release looks whose lock it is. The late one changes nothing, the others have
the lock one after the other, and {second.left} buns are left.]],
        zh = [[
同一场秒杀，释放时先看锁是谁的。来晚的那个什么也没改变，其他人一个接一个得到锁，剩下 {second.left} 个。]],
    },
    try = {
        en = "With a real Redis: a late `DEL`, a late release that looks, and zklock:",
        zh = "用真实的 Redis，看迟到的 `DEL`、先看再删的释放，以及 zklock：",
    },
    command = "make demo-engines DEMO=\"--only DEMO-18\"",
    where = {
        {
            url = "https://github.com/lukas-krecan/ShedLock/issues/2583",
            en = "ShedLock's Redis lock could unlock that of another process, reported in 2025.",
            zh = "ShedLock 的 Redis 锁可能解开另一个进程的锁，2025 年有人报告。",
        },
        {
            url = "https://github.com/redis/redis-py/pull/1031",
            en = "redis-py looked and then deleted in two steps: the lock could end in between.",
            zh = "redis-py 先看再删，分成两步：锁可能在中间过期。",
        },
        {
            url = "https://github.com/zk-ruby/zk/issues/34",
            en = "The same with ZooKeeper, where a lock's folder is deleted and made again: "
                .. "zk-ruby, 2012.",
            zh = "ZooKeeper 上也有：锁的目录被删除又重建，zk-ruby，2012 年。",
        },
    },
}
