--- Lesson: the holder is stopped between its last look at the lease and the write.

local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"

local SCHEDULES = 1000

local function run(fenced)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.check_first", pause = 0.5, session = 2, fenced = fenced,
        faults = { { at = 0.505, stop = "server 2", length = 5 } }, simulated = true, seed = 1,
    }
end


-- How many of so many sales are wrong, if servers are stopped at moments that the seed chooses.
local function wrong(purchase, fenced)
    local found = assert(seckill.explore({
        buyers = 2, products = { bun = 2 }, purchase = purchase, fenced = fenced,
        faults = { stop = true, delay = 0.02 },
    }, { seeds = SCHEDULES }))
    return found.wrong
end

return {
    title = { en = "The token", zh = "令牌" },
    ask = {
        en = "The holder looks at its lease right before it writes. Is it safe now?",
        zh = "持有者在写入之前看一眼租约。这样就安全了吗？",
    },
    runs = { first = run(false), second = run(true) },
    modules = { first = { "check_first" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 9 },
        second = { verdict = "right", sold = 2, left = 8, failed = 1 },
    },
    predicted = function(facts) return facts.first.verdict end,
    steps = steps.all,
    facts = function()
        return { explored = {
            schedules = SCHEDULES, plain = wrong(nil, false),
            checked = wrong("zklock.seckill.lessons.check_first", false),
            fenced = wrong("zklock.seckill.lessons.check_first", true),
        } }
    end,

    question = {
        en = [[
The program of the lesson before, with the line that mended it: read, work, **look at the lease**,
write. Between the look and the write there is a moment, in which the write is made ready to be
sent. In that moment the server stops for 5 s.

**Can anything still go wrong?**]],
        zh = [[
上一课的程序，加上改好它的那一行：读，处理，**看租约**，写。看过之后，写入还要一小会儿才发得出去。
就在这一小会儿里，服务器停住 5 秒。

**还会出错吗？**]],
    },
    answers = {
        {
            value = "right",
            en = { "No: it has just looked", "It has looked, and the answer was right when it "
                .. "came. A process can stop after any line, so a look is always older than the "
                .. "write." },
            zh = { "不会：刚刚才看过", "是看过，而且答案当时是对的。可是进程在任何一行之后都可能停住，"
                .. "所以看的那一刻总比写的那一刻早。" },
        },
        {
            value = "wrong",
            en = { "Yes", "In {explored.schedules} simulated sales of two buns to two buyers a "
                .. "seed chooses when servers stop. {explored.plain} of them go wrong without the "
                .. "line, and {explored.checked} with it: fewer, and not none. In the run below "
                .. "the stop is put where it does harm." },
            zh = { "会", "模拟 {explored.schedules} 场秒杀，两个买家，两个包子，服务器何时停住由种子决定。"
                .. "不加那一行有 {explored.plain} 场出错，加上之后还有 {explored.checked} 场："
                .. "少了，但不是没有。下面的运行，是特意让服务器停在会出错的地方。" },
        },
        {
            value = "longer",
            en = { "Only if the session is too short", "A longer session makes it rarer, and makes "
                .. "everybody wait longer for a holder that has died. Any stop that is longer than "
                .. "the session has the same end." },
            zh = { "只有会话太短才会", "会话长一些，出错少一些，可是持有者死了，大家就要多等。"
                .. "任何比会话还长的停顿，结局都一样。" },
        },
    },
    run = {
        en = [[
The server looked at its lease while it held the lock, and stopped before it sent its write. When it
goes on, it sends it at once.]],
        zh = [[
服务器看租约时确实持有锁，写入还没有发出，它就停住了。等它继续运行，立刻就发出写入。]],
    },
    cause = {
        en = [[
Only the store sees the write when it arrives, so only the store can refuse it. It cannot tell a
late write from another one, unless the write says which grant of the lock it belongs to.]],
        zh = [[
写入到达的那一刻，只有存储看得见它，所以也只有存储能拒绝它。可是除非写入说明自己属于哪一次获取，
存储分不出哪次写入是迟到的。]],
    },
    mend = {
        en = [[
Each grant has a **fencing token**: a number that is greater than that of any grant before. With
zklock it is the number that ZooKeeper has given to the change that made the lock's node. Show it to
the store **before you read**, and again in the statement that writes. The store keeps the greatest
that it was shown, and refuses a write that comes with a smaller one.

Comparing the token at the write alone is not enough. A late holder that wakes after the next one
has read, and before that has written, shows the greatest token so far: its write is taken. Then
the other one writes, too, from the same stock.]],
        zh = [[
每次获取锁都有一个**令牌**（fencing token）：一个比以前任何一次都大的数字。在 zklock 中，
它是 ZooKeeper 给创建锁节点的那次更改的编号。**读之前**就把它出示给存储，写入的那条语句里再带一次。
存储记住见过的最大的一个，拒绝带着更小令牌的写入。

只在写入时比较令牌是不够的。迟到的持有者如果在下一个读之后、写之前醒来，它的令牌还是至今最大的，
写入会被接受。然后另一个也写，根据的是同一个库存。]],
    },
    code = [[
-- before the work, each statement on its own:
UPDATE product SET token = :token WHERE id = :id AND token < :token;
SELECT stock FROM product WHERE id = :id;
-- after it, in one transaction with the order:
UPDATE product SET stock = :left WHERE id = :id AND token <= :token;  -- 0 rows: too late]],
    same = {
        en = [[
The same sale and the same program, with `fenced = true`: now `buyer:stock()` shows the token before
it reads, and the write has it, too. The late write comes, and is refused (✘): {second.left} buns
are left, which is right. Of the {explored.schedules} simulated sales {explored.fenced} go wrong.]],
        zh = [[
同一场秒杀，同一个程序，只是 `fenced = true`：现在 `buyer:stock()` 读之前先出示令牌，写入也带着它。
迟到的写入来了，被拒绝（✘）：剩下 {second.left} 个，是对的。{explored.schedules} 场模拟的秒杀中有
{explored.fenced} 场出错。]],
    },
    try = {
        en = "The {explored.schedules} sales are `seckill.explore`'s, in "
            .. "`lua/zklock/seckill/lessons/token.lua`. "
            .. "With real processes: no check, one at the write alone, and one before the read:",
        zh = "那 {explored.schedules} 场秒杀由 `seckill.explore` 模拟，"
            .. "见 `lua/zklock/seckill/lessons/token.lua`。"
            .. "用真实的进程看三种做法：不检查、只在写入时检查、读之前就出示：",
    },
    command = "make demo DEMO=\"--only DEMO-17\"",
    where = {
        {
            url = "https://jepsen.io/blog/2020-01-30-etcd-3.4.3",
            en = "Jepsen on etcd 3.4.3: its locks could not guarantee mutual exclusion, as no lock "
                .. "can in an asynchronous network.",
            zh = "Jepsen 对 etcd 3.4.3 的测试：它的锁不能保证互斥，在异步网络里任何锁都不能。",
        },
        {
            url = "https://github.com/skypilot-org/skypilot/pull/10347",
            en = "SkyPilot's lease has an epoch for this. Its review found a case in which a new "
                .. "term began with the epoch of the term before.",
            zh = "SkyPilot 的租约为此带有一个 epoch；评审中发现，有一种情形下新任期会沿用上一任期的 epoch。",
        },
    },
}
