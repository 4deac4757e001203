--- The page's words in each language. {states} and the like are numbers of the table.

return {
    en = {
        title = "You are the scheduler",
        ask = "Two servers, one lock, one bun: choose what happens next, and try to sell the bun "
            .. "twice.",
        intro = [[
A shop has one bun left, and each of its two servers has a buyer for it. You choose which server
takes its next step, which one is stopped, and when a session expires. **Try to sell the bun
twice.**

Both servers run the program below. A server's steps are to ask for the lock, to read the stock, and
to write it with the order. The lock is granted as soon as it is free; the server releases it at the
end.]],
        made = [[
Nothing on this page is made up: `make site` ran this program with zklock's own client in worlds of
virtual time. It carried out each choice in each state, and wrote down what happened. The buttons
walk through that table, which has {states} states and {choices} choices for the five games.]],
        program = "The program, `lua/zklock/seckill/lessons/scheduler/purchase.lua`:",
        no_script = "The buttons need JavaScript. Without it, the lists below show ways through "
            .. "the games, and where each one ends.",
        games = {
            ["local"] = {
                title = "Game 1: a lock in each process",
                text = "Each server has a lock of its own, which the other one does not see.",
            },
            early = {
                title = "Game 2: a lock that is released before the commit",
                text = [[
Both servers share one lock in ZooKeeper. Each writes in a transaction, which the other one sees
after its commit only. The program releases the lock before it commits.]],
                code = "Its program, `lua/zklock/seckill/lessons/scheduler/early_release.lua`:",
                after = "[The lesson on this mistake](release-before-commit.html) mends it.",
            },
            ttl = {
                title = "Game 3: a lock that ends by itself",
                text = [[
Both servers share one lock, which ends by itself, so that a server that dies does not keep it for
ever. A server can be slow between any two of its steps, and then its lock lapses.]],
                code = "The lock, `lua/zklock/seckill/lessons/scheduler/ttl_lock.lua`:",
                after = "[The lesson on expiry](expiry.html) has more of such locks.",
            },
            zookeeper = {
                title = "Game 4: a lock in ZooKeeper",
                text = [[
Both servers share one lock. Once a server has asked for it, its process can be stopped at any
moment, by its garbage collector or by an overloaded host, and does not notice. While it is stopped,
time can pass until its session expires: then ZooKeeper takes its lock away.]],
                after = "Would a look at the lease before the write help? [The lesson on "
                    .. "tokens](token.html) tries that.",
            },
            token = {
                title = "Game 5: the lock in ZooKeeper, and a store that checks the token",
                text = [[
Each grant has a [token](token.html), and each token is greater than all before it. The store
remembers the greatest token that it was shown, and refuses a read or a write with a smaller one.
Can you still sell the bun twice?]],
                code = "The store, `lua/zklock/seckill/lessons/scheduler/store.lua`:",
                proof = [[
**It cannot be done with these choices.** All {states} states of this game were tried, with all
{choices} choices in them: in none of them are there two orders.

That is a statement about this program, this store and these choices. A server stops between two
steps only, so no write is on its way meanwhile; no clock jumps, and no server of ZooKeeper dies.
The lessons about [tokens](token.html), [clocks](clocks.html) and [a dead master](dead-master.html)
are about those.]],
                near = {
                    refused = "The way that wins game 4: here the late write is refused",
                    admitted = "A late write that comes before the other server's read: it is "
                        .. "admitted, and does no harm",
                },
            },
        },
        way = "A shortest way to sell it twice: {left} choices",
        count = "This game has {states} states and {choices} choices; in {wrong} of the states the "
            .. "bun is sold twice.",
        count_one = "This game has {states} states and {choices} choices; in one of the states the "
            .. "bun is sold twice.",
        moment = "If chance chose, from choice {choice} ({text}) {odds} of 100 games would end "
            .. "wrong, before it {before}. The curve has these odds after each choice of that way:",
        curve = "How likely each choice of this way makes it that the bun is sold twice",
        chance = "If chance made all choices from here, %d of 100 games would end wrong.",
        ends = "In the end:", row = "%s: %s",
        lanes = "Each box is one choice:",
        key = { wait = "waits for the lock", hold = "believes that it has the lock",
                two = "both believe that they have it", stop = "is stopped" },
        board = "Now", choose = "Choose what happens next", past = "So far",
        undo = "Undo", restart = "Start again", hint = "Hint",
        nothing = "Nothing has happened yet.",
        steps = {
            ask = "Server %d asks for the lock", read = "Server %d reads the stock",
            write = "Server %d writes stock %d and its order", stop = "Server %d is stopped",
            wake = "Server %d goes on", release = "Server %d releases the lock",
            commit = "Server %d commits stock %d and its order",
            lapse = "Time passes until the lock of server %d lapses",
        },
        expire_one = "Time passes until the session of server %d expires",
        expire_both = "Time passes until the sessions of both servers expire",
        server = "Server %d",
        at = {
            ask = "is about to ask for the lock", wait = "waits for the lock",
            read = "is about to read the stock",
            write = "has read %d, and is about to write %d",
            release = "has read %d, and is about to release the lock before it commits %d",
            commit = "has read %d, has no lock any more, and is about to commit %d",
        },
        told = { sold = "has sold the bun", sold_out = "has told its buyer: sold out",
                 refused = "was refused by the store: its token is too old",
                 expired = "has given up: its session expired while it was stopped" },
        unheard = { granted = "does not know yet that it has it",
                    expired = "does not know yet that its session has expired" },
        stopped = "‖ stopped", token = "token %d",
        lease = { held = "believes that it has the lock", lost = "has lost the lock, and would "
            .. "know it if it looked at its lease" },
        locks = { ["local"] = "Lock of server %d", early = "Lock", ttl = "Lock",
                  zookeeper = "Lock", token = "Lock" },
        free = "free", holder = "server %d has it", waiter = "server %d waits",
        two = "⚠ server %d goes on as if it had it",
        two_stopped = "⚠ server %d, which is stopped, will go on as if it had it",
        store = "Store", stock = "stock %d", orders = "orders %d", greatest = "greatest token %d",
        no_token = "no token seen yet",
        verdicts = {
            oversold = "✘ Oversold: %d orders for %d bun.",
            over = "✔ It is over: %d order for %d bun. Undo, or start again.",
            playing = "○ Not oversold so far.",
        },
        hints = {
            more = "From here it takes %d more choices. The next one: %s.",
            one = "From here it takes one more choice: %s.",
            none = "From here the bun cannot be sold twice any more. Undo some choices.",
            done = "You have done it.",
        },
        joint = "; ", list = ", ",
    },
    zh = {
        title = "由你来调度",
        ask = "两台服务器，一把锁，一个包子：接下来发生什么由你决定，试试把这个包子卖两次。",
        intro = [[
店里只剩一个包子，两台服务器各有一个买家想买它。哪台服务器走下一步，哪台停住，会话什么时候过期，都由你决定。
**试试把这个包子卖两次。**

两台服务器运行的都是下面的程序。它的步骤是请求锁，读库存，写入库存和订单。锁一空出来就给等着的服务器，程序结束时释放。]],
        made = [[
这一页的内容没有一处是编的：`make site` 在虚拟时间的世界里，用 zklock 自己的客户端运行这段程序，
把每个状态下的每种选择都真的执行了一遍，把结果记成一张表。按钮带你走的就是这张表，
五个游戏一共有 {states} 个状态、{choices} 种选择。]],
        program = "程序 `lua/zklock/seckill/lessons/scheduler/purchase.lua`：",
        no_script = "按钮需要 JavaScript。没有它，可以看下面的列表：游戏的几种走法，以及各自的结局。",
        games = {
            ["local"] = {
                title = "游戏一：每个进程里一把锁",
                text = "每台服务器有自己的一把锁，另一台看不见它。",
            },
            early = {
                title = "游戏二：提交之前就释放的锁",
                text = [[
两台服务器共用 ZooKeeper 里的一把锁，写入都在事务里，提交之后另一台才看得见。程序在提交之前就释放了锁。]],
                code = "它的程序 `lua/zklock/seckill/lessons/scheduler/early_release.lua`：",
                after = "[讲这个错误的那一课](release-before-commit.html)把它改对。",
            },
            ttl = {
                title = "游戏三：自己会到期的锁",
                text = [[
两台服务器共用一把锁，它到时自己结束，这样服务器死了也不会一直占着。服务器在任何两步之间都可能很慢，锁就会在这时到期。]],
                code = "锁 `lua/zklock/seckill/lessons/scheduler/ttl_lock.lua`：",
                after = "[讲到期的那一课](expiry.html)还有更多这样的锁。",
            },
            zookeeper = {
                title = "游戏四：锁在 ZooKeeper 里",
                text = [[
两台服务器共用一把锁。服务器请求锁之后，进程随时可能停住（垃圾回收，或者宿主机过载），自己却不知道。
停住的时候，时间可以一直流逝到它的会话过期：这时 ZooKeeper 会收回它的锁。]],
                after = "写之前看一眼租约有用吗？[讲令牌的那一课](token.html)试过了。",
            },
            token = {
                title = "游戏五：锁在 ZooKeeper 里，存储检查令牌",
                text = [[
每次获取锁都有一个[令牌](token.html)，比以前任何一次的都大。存储记住见过的最大令牌，令牌比它小的读写，一律拒绝。
现在还能把包子卖两次吗？]],
                code = "存储 `lua/zklock/seckill/lessons/scheduler/store.lua`：",
                proof = [[
**用这些选择，做不到。** 这个游戏的全部 {states} 个状态、其中的全部 {choices} 种选择都试过了：
没有一个状态里出现两份订单。

这个结论只针对这段程序、这个存储和这些选择。服务器只会在两步之间停住，所以停住时没有写入还在路上；
时钟不会跳变，ZooKeeper 的服务器也不会宕机。这些情形见讲[令牌](token.html)、[时钟](clocks.html)和
[主节点宕机](dead-master.html)的几课。]],
                near = {
                    refused = "在游戏四里能赢的走法：在这里，迟到的写入被拒绝",
                    admitted = "迟到的写入赶在另一台读之前：存储接受了它，也没有出错",
                },
            },
        },
        way = "卖两次的一种最短走法：{left} 步",
        count = "这个游戏有 {states} 个状态、{choices} 种选择；其中 {wrong} 个状态里包子卖了两次。",
        count_one = "这个游戏有 {states} 个状态、{choices} 种选择；其中一个状态里包子卖了两次。",
        moment = "如果由随机来选，从第 {choice} 步（{text}）起，100 局里有 {odds} 局会出错，在它之前是 "
            .. "{before} 局。曲线是这种走法每一步之后的出错机会：",
        curve = "这种走法的每一步之后，包子卖两次的机会",
        chance = "如果从这里起全由随机来选，100 局里有 %d 局会出错。",
        ends = "最后：", row = "%s：%s",
        lanes = "每一格是一次选择：",
        key = { wait = "等锁", hold = "以持有者身份行事", two = "两台都以持有者身份行事", stop = "停住" },
        board = "现在", choose = "接下来发生什么", past = "到目前为止",
        undo = "撤销", restart = "重新开始", hint = "提示",
        nothing = "还什么都没有发生。",
        steps = {
            ask = "服务器 %d 请求锁", read = "服务器 %d 读库存",
            write = "服务器 %d 写入库存 %d 和订单", stop = "服务器 %d 停住", wake = "服务器 %d 继续运行",
            release = "服务器 %d 释放锁", commit = "服务器 %d 提交库存 %d 和订单",
            lapse = "时间流逝，直到服务器 %d 的锁到期",
        },
        expire_one = "时间流逝，直到服务器 %d 的会话过期",
        expire_both = "时间流逝，直到两台服务器的会话都过期",
        server = "服务器 %d",
        at = {
            ask = "正要请求锁", wait = "在等锁", read = "正要读库存",
            write = "读到 %d，正要写入 %d", release = "读到 %d，正要释放锁，之后才提交 %d",
            commit = "读到 %d，锁已不在，正要提交 %d",
        },
        told = { sold = "已卖出包子", sold_out = "已告诉买家：售罄",
                 refused = "被存储拒绝：令牌太旧", expired = "放弃了：停住时会话已过期" },
        unheard = { granted = "还不知道锁已经是它的", expired = "还不知道会话已过期" },
        stopped = "‖ 停住", token = "令牌 %d",
        lease = { held = "自认为持有锁", lost = "锁已失去，看一眼租约就会知道" },
        locks = { ["local"] = "服务器 %d 的锁", early = "锁", ttl = "锁", zookeeper = "锁", token = "锁" },
        free = "空闲", holder = "服务器 %d 持有", waiter = "服务器 %d 在等",
        two = "⚠ 服务器 %d 仍按持有锁行事",
        two_stopped = "⚠ 服务器 %d 停住了，醒来仍会按持有锁行事",
        store = "存储", stock = "库存 %d", orders = "订单 %d", greatest = "见过的最大令牌 %d",
        no_token = "还没有见过令牌",
        verdicts = {
            oversold = "✘ 超卖：%d 份订单，只有 %d 个包子。",
            over = "✔ 结束了：%d 份订单，%d 个包子。可以撤销，或者重新开始。",
            playing = "○ 到现在还没有超卖。",
        },
        hints = {
            more = "从这里还要 %d 步。下一步：%s。",
            one = "从这里只要再走一步：%s。",
            none = "从这里已经不可能把包子卖两次了。请撤销几步。",
            done = "你已经做到了。",
        },
        joint = "；", list = "，",
    },
}
