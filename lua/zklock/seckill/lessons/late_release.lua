--- Lesson: a holder that has lost the lock releases it, and deletes that of another.

local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local function run(careless)
    return {
        buyers = 4, servers = 4, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.ttl_lock",
        purchase = "zklock.seckill.lessons.check_first",
        parameters = { ttl = 1, careless = careless }, pause = 0.6,
        faults = { { at = 0, stop = "holder", length = 1.3 } },
        simulated = true, seed = 1,
    }
end


-- Whose lock a release deletes: that of a buyer who was granted it later, and still has it.
local function victim_of(sale, purchase)
    for _, other in ipairs(sale.purchases) do
        if other.granted > purchase.granted and other.granted < purchase.released
            and other.released > purchase.released then
            return other
        end
    end
end


-- The one that was stopped, whose lock it deleted, and who got the lock then.
local function chain(sale)
    for _, late in ipairs(sale.purchases) do
        if late.outcome == "lost" then
            local victim = victim_of(sale, late)
            return late, victim, victim_of(sale, victim)
        end
    end
end


-- The steps of all three.
local function steps_of(sale)
    if sale.verdict == "right" then return steps.of(sale) end
    local late, victim, other = chain(sale)
    local list = {}
    local function add(at, what, purchase, count)
        list[#list + 1] = { at = at, what = what, purchase = purchase, count = count }
    end
    add(sale.faults[1].at, "stop", late)
    add(sale.faults[1].ended, "wakes", late)
    for _, each in ipairs{ victim, other } do
        add(each.granted, "reads", each, each.read)
        add(each.written, "writes", each, each.left)
    end
    add(victim.written, "deletes", victim)
    steps.add_looks(list, sale, { late, victim })
    add(late.released, "deletes", late)
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
    steps = steps_of,
    facts = function(facts)
        local late, victim, other = chain(facts.first)
        return {
            late = late.server, victim = victim.server, other = other.server,
            deleted = times.duration(late.released), again = times.duration(victim.released),
        }
    end,

    question = {
        en = [[
Four servers have a buyer each, who come at the same moment; there are ten buns. The lock ends after
1 s, and the work takes 0.6 s, so there is room. The first holder is stopped for 1.3 s, and the
others get the lock after it. When it goes on, it finishes its work,
[looks at its lock](paused-holder.html#check_first), sees that it has lost it, and writes nothing.
Then, as a tidy program does in `finally`, it releases the lock: `DEL lock`.

**Is the stock right at the end?**]],
        zh = [[
四台服务器各有一个买家，同时到来；包子有十个。锁在 1 秒后过期，工作只要 0.6 秒，时间足够。第一个持有者停住了 1.3 秒，
其他人在它之后得到锁。它继续运行之后做完手里的事，[看一眼锁](paused-holder.html#check_first)，
发现已经失去，于是什么也没写。然后，它像守规矩的程序那样，在 `finally` 里释放锁：`DEL lock`。

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
Look at {deleted}. Server {late} was stopped, and its lock has ended long ago. It releases the lock,
which is server {victim}'s by now, so server {other} gets it. From then on servers {victim} and
{other} are both at work, and neither of them did anything wrong.

(Between two holds there are up to 10 ms: a server that waits asks again every 10 ms.)]],
        zh = [[
看 {deleted} 这一刻。服务器 {late} 停住过，它的锁早已过期。它释放的锁，这时其实是服务器 {victim} 的，
于是服务器 {other} 得到了锁。从此服务器 {victim} 和 {other} 同时在做事，而它们谁也没有做错。

（两次持锁之间最多隔 10 毫秒：等锁的服务器每 10 毫秒问一次。）]],
    },
    cause = {
        en = [[
The late holder meant the lock that **it** had been granted. `DEL lock` names no grant: it deletes
the lock of whoever has it at that moment.

Server {victim} looks at its own lock before it writes, and that does not help: the look goes by the
clock, and its second is not over. A look finds out that a lock has **ended**, and not that another
server has deleted it. Then server {victim} is careless, too. It releases at {again}, and deletes
the lock of server {other}. If more buyers waited, the damage would go on.]],
        zh = [[
来晚的持有者想归还的，是**它自己**得到过的那把锁。可是 `DEL lock` 没有说是哪一次得到的：
这一刻锁在谁手里，删掉的就是谁的。

服务器 {victim} 写之前也看了自己的锁，却没有用：它看的是时钟，而它的一秒还没有到。看一眼能发现锁**过期**，
发现不了锁被别人删掉。随后服务器 {victim} 也同样粗心：它在 {again} 释放，又删掉了服务器 {other} 的锁。
要是还有买家在等，错误会一直传下去。]],
    },
    mend = {
        en = [[
Give each grant a value that no other has, and delete the lock only if it still has that value. In
Redis a script does both in one step. With a `GET` and then a `DEL` the lock could end between the
two. (In ZooKeeper each grant is a node of its own, so a holder deletes nothing but its own
node.)]],
        zh = [[
给每次获取锁一个独有的值，只有锁里还是这个值才删除。在 Redis 中用脚本，两件事一步做完；如果先 `GET` 再 `DEL`，
锁可能在两者之间过期。（在 ZooKeeper 中，每次获取锁都是一个单独的节点，持有者只会删掉自己的节点。）]],
    },
    code = [[
-- DEL lock
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end]],
    same = {
        en = [[
The same sale without `careless`: a release looks whose lock it is. Server {late} still believes for
a while that it has the lock, but it writes nothing, and its release changes nothing. The others
have the lock one after the other, and {second.left} buns are left.]],
        zh = [[
同一场秒杀，去掉 `careless`：释放时先看锁是谁的。服务器 {late} 仍有一阵以为自己持有锁，但它什么也没有写，
释放也什么都没有改变。其他人一个接一个得到锁，剩下 {second.left} 个。]],
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
