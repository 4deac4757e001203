--- Lesson: the holder is stopped for longer than its session lasts, and writes when it goes on.

local steps = require "zklock.seckill.lessons.site.steps"

local function run(purchase)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = "zookeeper",
        purchase = purchase, pause = 0.5, session = 2, fenced = false,
        faults = { { at = 0, stop = "holder", length = 5 } }, simulated = true, seed = 1,
    }
end

return {
    title = { en = "The paused holder", zh = "卡住的持有者" },
    ask = {
        en = "The process that holds the lock stops for five seconds, and goes on. What does it "
            .. "write?",
        zh = "持有锁的进程停住五秒，又继续运行。它会写下什么？",
    },
    runs = { first = run(), second = run "zklock.seckill.lessons.check_first" },
    modules = { second = { "check_first" } }, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 3, left = 9 },
        second = { verdict = "right", sold = 2, left = 8, failed = 1 },
    },
    predicted = function(facts) return facts.first.left end,
    steps = steps.all,

    question = {
        en = [[
A process can stop at any moment, and does not notice: its garbage collector runs, its host moves
it, its disk is full. Here the server that has the lock stops for 5 s between reading the stock and
writing it. Its session with ZooKeeper lasts {first.options.session} s without a sign of life, and a
little longer, as ZooKeeper looks for silent sessions only now and then. Then ZooKeeper takes the
lock from it, so that a dead process does not keep it for ever, and the other two buyers have their
turns.

**Ten buns, three buyers, each is told that it has bought. How many buns are left?**]],
        zh = [[
进程随时可能停住，自己却不知道：垃圾回收开始了，宿主机在迁移它，磁盘满了。这里，持有锁的服务器在读库存与写库存之间
停住 5 秒。它与 ZooKeeper 的会话，没有动静时只能维持 {first.options.session} 秒，再稍多一点，
因为 ZooKeeper 隔一阵才检查一次。之后 ZooKeeper 收回锁，免得死掉的进程永远占着它，另外两个买家于是轮到了。

**十个包子，三个买家，每人都被告知买到了。还剩几个？**]],
    },
    answers = {
        {
            value = 7,
            en = { "7: ZooKeeper gives the lock to one at a time", "It does. But the first one "
                .. "does not know that it has lost the lock: it goes on where it stopped, works "
                .. "for {first.options.pause} s, and writes." },
            zh = { "7 个：ZooKeeper 一次只把锁给一个", "是的。可是第一个不知道自己已经失去了锁："
                .. "它从停住的地方继续，再处理 {first.options.pause} 秒，然后写入。" },
        },
        {
            value = 8,
            en = { "8: the write of the one that was stopped is refused", "Who would refuse it? "
                .. "The database knows nothing of locks." },
            zh = { "8 个：卡住的那个，写入会被拒绝", "谁来拒绝呢？数据库不知道有锁这回事。" },
        },
        {
            value = 9,
            en = { "9: it writes what it had worked out five seconds ago", "It read 10 and "
                .. "writes 9, over the 8 that the others had come to. {first.apart} sales are "
                .. "lost." },
            zh = { "9 个：写下五秒前算好的结果", "它当初读到 10，现在写下 9，盖掉了别人写到的 8。"
                .. "有 {first.apart} 次售卖不见了。" },
        },
    },
    run = {
        en = [[
The dashed box is the time in which the server was stopped. Its bar turns red and hatched when
ZooKeeper gives the lock to the next buyer: from then on the server only believes that it holds the
lock. When it goes on, it still has {first.options.pause} s of work before its write.]],
        zh = [[
虚线框是服务器停住的时间。ZooKeeper 把锁交给下一个买家时，它的横条变成红色斜线：
从那时起，它只是自以为持有锁。它继续运行之后，还要处理 {first.options.pause} 秒才写入。]],
    },
    cause = {
        en = [[
In ZooKeeper the lock has another owner by now, and the process, which has been asleep, does not
know. No lock service can prevent that: it cannot reach into a process that does not run.]],
        zh = [[
在 ZooKeeper 里，锁早已换了主人，而那个睡着的进程并不知道。没有哪个锁服务能避免这一点：
它够不着一个没有在运行的进程。]],
    },
    mend = {
        en = [[
Ask before you write. With each lock that you get, zklock gives you a **lease**: an object that says
whether you still hold the lock. When a process wakes, the lease knows by its own clock that more
time has passed than the session lasts, and says that the lock is lost: it needs no answer of a
server for that.]],
        zh = [[
写之前先问一下。每次得到锁，zklock 都给你一个**租约**（lease），问它就知道自己是否还持有锁。
进程醒来时，租约凭自己的时钟就知道，过去的时间已经比会话能维持的长，于是回答“失去了”：
不需要任何服务器的答复。]],
    },
    code = [[
local stock = read_stock()
if not lease:held() then return give_up() end      -- new
write_stock(stock - 1)]],
    same = {
        en = [[
The same sale with that line. The server that was stopped sees that it has lost the lock, writes
nothing, and tells its buyer so (✘).

**Is this safe now?** The line makes the dangerous time much shorter. Whether it ends it is the
question of the next lesson.]],
        zh = [[
同一场秒杀，加上这一行。停住过的服务器发现锁已经失去，什么也不写，并告诉它的买家（✘）。

**这样就安全了吗？** 这一行大大缩短了危险的时间。有没有消除它，是下一课的问题。]],
    },
    try = {
        en = "With a real process that is stopped by SIGSTOP:",
        zh = "用真实的进程（用 SIGSTOP 停住）：",
    },
    command = "make demo DEMO=\"--only DEMO-17a --report sale.html\"",
    where = {
        {
            url = "https://github.com/apache/curator/issues/727",
            en = "CURATOR-206: two clients held one lock. The first had been cut off until its "
                .. "node expired, and still took itself for the holder.",
            zh = "CURATOR-206：两个客户端同时持有一把锁。前一个断网太久，节点已经过期，它却仍以为自己持有锁。",
        },
        {
            url = "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html",
            en = "Martin Kleppmann's article of 2016 draws this picture, and says that HBase once "
                .. "had the problem.",
            zh = "Martin Kleppmann 2016 年的文章画出了这幅图，并提到 HBase 曾经有这个问题。",
        },
    },
}
