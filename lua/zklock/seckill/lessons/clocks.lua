--- Lesson: a lock ends at a time, and the clock of one machine jumps.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"

local LEASE, JUMP = 30, { server = 3, at = 0.2, by = 60 }


local function run(counted)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.dated_lock",
        parameters = { lease = LEASE, jump = JUMP, counted = counted }, pause = 0.5,
        simulated = true, seed = 1,
    }
end


-- The clock of the server that jumps.
local function spans()
    return {
        { server = JUMP.server, at = 0, ended = JUMP.at,
          text = { en = "clock right", zh = "时钟准确" } },
        { server = JUMP.server, at = JUMP.at,
          text = { en = ("clock %d s ahead"):format(JUMP.by),
                   zh = ("时钟快 %d 秒"):format(JUMP.by) } },
    }
end


-- The jump, and the grant by the clock that has jumped, among the steps that overlapped.
local function steps_of(sale)
    local list, first = {
        { at = JUMP.at, server = JUMP.server, count = JUMP.by,
          text = { en = "its clock jumps %d s ahead", zh = "时钟向前跳了 %d 秒" } },
    }, buyers.granted(sale.purchases)[1].granted
    for _, purchase in ipairs(sale.verdict == "wrong" and sale.purchases or {}) do
        if purchase.server == JUMP.server then
            local clock, ends = purchase.granted + JUMP.by, first + LEASE
            list[#list + 1] = { at = purchase.granted, purchase = purchase, text = {
                en = ("takes the lock: it ends at %.1f, and this clock says %.1f")
                    :format(ends, clock),
                zh = ("拿走锁：锁到 %.1f 到期，而这里的时钟显示 %.1f"):format(ends, clock),
            } }
        end
    end
    for _, step in ipairs(steps.of(sale)) do list[#list + 1] = step end
    return steps.sorted(list)
end


return {
    title = { en = "A clock that jumps", zh = "跳变的时钟" },
    ask = {
        en = "The lock says until when it is held. One machine's clock jumps a minute ahead. Who "
            .. "holds the lock?",
        zh = "锁上写着几点到期。有一台机器的时钟向前跳了一分钟。锁现在是谁的？",
    },
    runs = { first = run(), second = run(true) },
    modules = { first = { "dated_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    spans = spans, steps = steps_of,
    facts = function()
        return { lease = LEASE, by = JUMP.by, jumper = JUMP.server, longest = LEASE + JUMP.by }
    end,

    question = {
        en = [[
The lock is a row in a table: its name, its owner, and `locked_until`, the time at which it ends. A
server takes the lock if there is no such row (a release deletes it), or if that time is over. A
hold may last {lease} s, and the work takes half a second. No process stops, and the database does
not fail.

While server {jumper} waits for the lock, its clock jumps a minute ahead: time synchronization has
begun, or somebody has set it.

**Ten buns, three buyers. How many buns are left?**]],
        zh = [[
锁是表里的一行：名称、持有者，以及 `locked_until`，也就是它到期的时刻。没有这一行（释放时会删掉它），或者那个时刻已过，
服务器就可以得到锁。一次持锁最长 {lease} 秒，工作只要半秒。没有进程卡住，数据库也没有出故障。

服务器 {jumper} 等锁的时候，它的时钟向前跳了一分钟：时间同步刚刚开始，或者有人改了时间。

**十个包子，三个买家。还剩几个？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: there is half a minute to spare", "By the clock of the holder. Server "
                .. "{jumper} compares the same time with its own clock, by which it has been over "
                .. "for half a minute." },
            zh = { "7 个：离到期还有半分钟", "按持有者的时钟算，是这样。服务器 {jumper} 拿自己的时钟去比，"
                .. "到期已经是半分钟以前的事了。" },
        },
        {
            value = 8,
            en = { "8: one sale is lost", "Server {jumper} takes the lock from a holder that is "
                .. "at work. Both have read 10, and both write 9." },
            zh = { "8 个：有一次没扣库存", "服务器 {jumper} 从正在做事的持有者那里拿走了锁。"
                .. "两台都读到 10，都写下 9。" },
        },
        {
            value = 9,
            en = { "9: nobody waits for anybody any more", "The last server does. Its clock is "
                .. "right, and the row now ends in {longest} s." },
            zh = { "9 个：从此谁也不等谁了", "剩下的那台服务器会等。它的时钟是准的，而那一行要再过 {longest} 秒才到期。" },
        },
        {
            value = "error",
            en = { "The database refuses a time that is so far ahead", "To the database it is a "
                .. "number that a client may write." },
            zh = { "数据库会拒绝这么超前的时间", "在数据库看来，这只是客户端可以写的一个数字。" },
        },
    },
    run = {
        en = [[
Above the row of server {jumper} you see its clock. When it asks the next time after the jump, it
gets the lock.]],
        zh = [[
服务器 {jumper} 那一行的上方是它的时钟。时钟跳变之后，它下一次去问，就得到了锁。]],
    },
    cause = {
        en = [[
A time means something only by the clock from which it was read, and each machine has its own. Wall
clocks are set: by time synchronization, by people, after a virtual machine was restored. A clock
need not even jump: one that is always a minute ahead does the same.

The opposite happens, too. If a server whose clock is {by} s ahead dies with the lock, the others
wait for {longest} s.]],
        zh = [[
一个时刻只在读出它的那个时钟上才有意义，而每台机器都有自己的时钟。墙上时钟（wall clock）是会被改的：
时间同步会改，人会改，虚拟机恢复之后也会变。时钟甚至不必跳变：一直快一分钟，结果也一样。

也有相反的情形：时钟快了 {by} 秒的服务器拿着锁宕机，别人就要等 {longest} 秒。]],
    },
    mend = {
        en = [[
Write no time into the lock. Count **seconds** instead, by a monotonic clock, which nobody can set.
ZooKeeper counts for how long it has not heard from a session, and ends the session and its locks
after that. No other clock decides who has the lock.

The holder counts as well, by its own monotonic clock, so that it knows when its lock may be gone.
zklock counts from an earlier moment than ZooKeeper: from when it sent the last message that
ZooKeeper has answered. So the holder gives the lock up first, and no clock is compared with
another.

If the lock stays in the database, let the database read the time (`now()` in the statement). Then
there is one clock for all. It can still jump, and so can the clock of a Redis server, which decides
when a key ends.]],
        zh = [[
不要把时刻写进锁里，改为数**秒数**，用谁也改不了的单调时钟（monotonic clock）。ZooKeeper 数的是一个会话
已经多久没有动静，到了时限就结束会话，收回它的锁。锁在谁手里，不由别的时钟决定。

持有者自己也要数，用它自己的单调时钟，才知道锁什么时候可能已经没了。zklock 的起点比 ZooKeeper 早：
从最后一条得到答复的消息**发出**时算起。所以总是持有者先认为锁已失去，也没有两个时钟需要互相比较。

如果锁还是放在数据库里，就让数据库来读时间（在语句中写 `now()`）：大家用同一个时钟。这个时钟仍可能跳变；Redis 服务器的时钟也一样，而 Redis 的键正是按那个时钟过期的
。]],
    },
    code = [[
-- INSERT INTO lock (name, owner, locked_until) VALUES ('bun', :me, :my_time + 30), or
-- UPDATE lock SET owner = :me, locked_until = :my_time + 30
--     WHERE name = 'bun' AND locked_until < :my_time
local session = zklock.connect("zk1,zk2,zk3", { timeout = 30 })    -- ZooKeeper counts the seconds
session:mutex("/lock/bun"):acquire()]],
    same = {
        en = [[
The same sale, where the server that keeps the lock counts the {lease} s (`counted = true`). The
clock jumps as before, nobody looks at it, and {second.left} buns are left.

One thing remains: a holder that is **stopped** learns too late that its seconds are over. Against
that there is [the token](token.html).]],
        zh = [[
同一场秒杀，由保存锁的服务器来数这 {lease} 秒（`counted = true`）。时钟照样跳变，只是没有人去看它，
剩下 {second.left} 个。

还有一件事没有解决：**停住**的持有者得知时间已到时，已经太晚了。对付它要靠[令牌](token.html)。]],
    },
    try = {
        en = "With real servers, whose clocks jump by an hour: of a Redlock server, of ZooKeeper, "
            .. "of the clients of Redis, and of zklock:",
        zh = "用真实的服务器，让时钟跳一小时，看四种情形：Redlock 的一台服务器、ZooKeeper、Redis 的客户端，以及 zklock：",
    },
    command = "make demo-engines DEMO=\"--only DEMO-20\"",
    where = {
        {
            url = "https://github.com/lukas-krecan/ShedLock/issues/231",
            en = "ShedLock: two nodes whose clocks are three minutes apart both get the lock. It "
                .. "can use the database's time now.",
            zh = "ShedLock：两个节点的时钟相差三分钟，都能得到锁。它现在可以改用数据库的时间。",
        },
        {
            url = "https://github.com/valkey-io/valkey/issues/2651",
            en = "Valkey, 2025: keys end by the wall clock, so a jump ends all locks at once.",
            zh = "Valkey，2025 年：键按墙上时钟过期，所以时钟一跳，所有的锁同时到期。",
        },
        {
            url = "https://github.com/FoundationDB/fdb-kubernetes-operator/issues/241",
            en = "FoundationDB's operator: machines with different clocks may disagree on who has "
                .. "its lock.",
            zh = "FoundationDB 的 operator：时钟不同的机器，对锁在谁手里可能看法不一。",
        },
    },
}
