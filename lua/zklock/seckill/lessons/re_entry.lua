--- Lesson: a function acquires the lock that its caller has.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"


local function run(strategy)
    return {
        buyers = 3, servers = 3, products = { bun = 10 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.helper_locks", pause = 0.2, timeout = 2,
        simulated = true, seed = 1,
    }
end


-- What a buyer noted, with the moment and the token of each note.
local function notes_of(sale, buyer)
    local notes = {}
    for _, note in ipairs(sale.notes) do
        if note.buyer == buyer then notes[note.line] = note end
    end
    return notes
end


-- When a buyer noted that; nil: it did not.
local function moment(notes, line) return notes[line] and notes[line].at end


-- What `sell` did with the lock, as a row of its own; nil: it was not called.
local function row_of_sell(purchase, notes)
    local asked = moment(notes, "asks again")
    if not asked then return nil end
    local again = notes["has it again"]
    return {
        buyer = purchase.buyer, server = purchase.server, lock = purchase.lock, label = "sell()",
        asked = asked, granted = again and again.at, token = again and again.token,
        read = purchase.read, left = purchase.left, written = purchase.written,
        released = moment(notes, "releases once"), gave_up = moment(notes, "gives up"),
        told = purchase.told, outcome = purchase.outcome, reentered = again ~= nil,
    }
end


-- A row for each acquire of each buyer. (What is sold, `sell` sells.)
local function rows(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        local notes = notes_of(sale, purchase.buyer)
        list[#list + 1] = {
            buyer = purchase.buyer, server = purchase.server, lock = purchase.lock,
            label = "order()", asked = purchase.asked, granted = purchase.granted,
            released = purchase.released, token = purchase.token,
            told = purchase.told, outcome = purchase.outcome,
        }
        list[#list + 1] = row_of_sell(purchase, notes)
    end
    return list
end


-- What the buyer did that had the lock first, and who gave up.
local function steps_of(sale)
    local list, first = {}, buyers.granted(sale.rows)[1]
    local function add(at, what, row)
        if at then list[#list + 1] = { at = at, what = what, purchase = row } end
    end
    for _, row in ipairs(sale.rows) do
        if row == first then
            add(row.granted, "granted", row)
        elseif row.buyer == first.buyer then
            add(row.asked, "asks_again", row)
            add(row.granted, "has_again", row)
            add(row.gave_up, "gives_up", row)
            add(row.released, "releases_once", row)
        elseif not row.granted then
            add(row.told, "gives_up", row)
        end
    end
    add(first.released, "releases", first) -- after what `sell` did at that moment
    return steps.sorted(list)
end

return {
    title = { en = "Waiting for oneself: re-entry", zh = "自己等自己：可重入" },
    ask = {
        en = "A function has the lock, and calls another one, which acquires it. How many of three "
            .. "buyers buy?",
        zh = "一个函数拿着锁，又调用另一个要获取同一把锁的函数。三个买家中有几个买到？",
    },
    runs = { first = run "zklock.seckill.lessons.ttl_lock", second = run "zookeeper" },
    modules = { first = { "helper_locks", "ttl_lock" } },
    expect = {
        first = { verdict = "stuck", sold = 0, left = 10, failed = 3 },
        second = { verdict = "right", sold = 3, left = 7, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    rows = rows, steps = steps_of,
    column = {
        en = "in", zh = "函数",
        of = function(row) return row.label end,
    },

    question = {
        en = [[
There is one lock, so there can be no circle of two locks as in [the lesson
before](deadlock.html). The program has grown: `sell()` acquires the lock, sells a bun, and releases
it. Now there is `order()`, which needs the lock as well: it acquires it, checks the order, calls
`sell()`, and writes a receipt. The lock is a key in Redis, set by `SET lock me NX`, here without an
expiry. Nobody waits for it for longer than 2 s.

**There are {first.stock} buns. How many of {first.buyers} buyers buy?**]],
        zh = [[
锁只有一把，不会像[上一课](deadlock.html)那样两把锁互相等成一圈。程序变长了：原来的 `sell()` 获取锁，
卖一个包子，再释放。现在多了 `order()`，它也需要这把锁：获取，检查订单，调用 `sell()`，再写收据。锁是 Redis 里的一个键，
用 `SET lock me NX` 设置，这里没有设过期时间。等锁最多等 2 秒。

**包子有 {first.stock} 个。{first.buyers} 个买家中有几个买到？**]],
    },
    answers = {
        {
            value = 3,
            en = { "3: it is the same program that asks", "The lock does not know that. To `SET … "
                .. "NX` a key that is there is there, whoever has set it." },
            zh = { "3 个：请求锁的是同一个程序", "锁不知道这一点。对 `SET … NX` 来说，键在就是在，不管是谁设置的。" },
        },
        {
            value = 2,
            en = { "2: the first one blocks itself, the others buy", "They have waited for 2 s by "
                .. "then, and are gone. Had they waited longer, each of them would have done the "
                .. "same: it is the same code." },
            zh = { "2 个：第一个把自己卡住，另外两个买到", "到那时他们已经等满 2 秒，走了。就算等得更久，"
                .. "也会一个个把自己卡住：代码是一样的。" },
        },
        {
            value = 0,
            en = { "0", "Whoever gets the lock waits in `sell()` for a release. Only `order()` "
                .. "could make it, and `order()` waits for `sell()`. One buyer is enough for this "
                .. "deadlock." },
            zh = { "0 个", "拿到锁的人在 `sell()` 里等锁释放，而能释放它的只有 `order()`，"
                .. "`order()` 又在等 `sell()` 返回。一个买家就足以死锁。" },
        },
    },
    run = {
        en = [[
A row is a request for the lock. {first.left} buns are left, nobody has one, and nothing is false in
the database, but nobody was served: the sale is "stuck". It took {first.seconds} to sell nothing.
(The figures below the picture count waits that were given up, too. The report and `print(sale)`
have one sample: the one buyer whose `order()` got the lock, without a wait.)]],
        zh = [[
每一行是一次加锁请求。还剩 {first.left} 个包子，谁也没有买到。数据库里没有错，
可是没有一个买家得到服务，所以这场销售“卡死”了：花了 {first.seconds}，一个也没卖出去。
（图下的等锁时间把放弃了的等待也算在内；报告和 `print(sale)` 只有一个样本：
唯一拿到锁的那个 `order()`，它没有等。）]],
    },
    cause = {
        en = [[
A lock that does not know its owner treats it like anybody else. The call that holds the lock and
the call that waits for it are in different functions, often in different files, and each of them is
right by itself.

An expiry would not help. Once the key of `order()` has expired, `sell()` gets the lock; from then
on `order()` works without one.

A test with one buyer finds it, if it goes this way through the program. In production it looks like
a slow lock: timeouts, and no hint that the holder is the one who waits.]],
        zh = [[
不认得主人的锁，把主人也当成外人。等锁的调用和持锁的调用分别在两个函数里，往往还在不同的文件里；单独看，各自都没有错。

设过期时间也没有用。等 `order()` 的键过期了，`sell()` 是能得到锁，可是从那以后，`order()` 就在没有锁的情况下运行。

用一个买家测试就能发现，只要测试覆盖到这条路径。在生产环境里，它看起来只是锁慢：到处超时，看不出等的人正是持有者自己。]],
    },
    mend = {
        en = [[
**A lock with re-entry** knows its owner: the owner gets it again, at once and with the same token,
and the lock is free after the last release. zklock's locks are such locks, unless you say
`reentrant = false`; then the second acquire fails with `would_deadlock` at once.

The owner is the running coroutine. So a helper that runs in a coroutine or a task of its own is
another owner, and waits for its caller until its timeout: give both the same `owner`. (In Java the
owner is the thread, so a task of a thread pool is another one, too.)

**Or let one function acquire, and the other one take the lease as its argument.** Then nobody can
call `sell` without the lock, the token is at hand for the store, and each function shows whether
the lock is held. With re-entry it does not: a release may not free the lock, and `sell` may see
what its caller has only half done.]],
        zh = [[
**可重入的锁**认得主人：主人再来获取，马上得到，令牌相同；最后一次释放之后，锁才真正空出来。zklock 的锁就是这样，
除非你指定 `reentrant = false`：那样第二次获取不会等，而是立刻以 `would_deadlock` 失败。

主人是正在运行的协程。所以，在单独的协程或任务里运行的辅助函数是另一个主人，它会等调用者，直到超时。
解决办法是给两者指定同一个 `owner`。（在 Java 里，主人是线程，所以线程池里的任务也是另一个主人。）

**或者只让一个函数获取锁，另一个把租约作为参数。** 这样，没有锁就调用不了 `sell`，令牌也就在手边，可以交给存储；
每个函数里锁在不在手，一目了然。而有了重入，一次释放不一定真的释放，`sell` 也可能看到调用者做了一半的东西。]],
    },
    code = [[
local lease = session:mutex("/lock/bun"):acquire(2)   -- knows its owner: sell() may acquire it
-- or:
local function sell(lease, item) … end                -- has the lock from its caller]],
    same = {
        en = [[
The same program with zklock's mutex. `sell()` has the lock as soon as it asks, with the token of
`order()`, and its release gives nothing away: the next buyer comes when `order()` is done.
All {second.sold} buy.]],
        zh = [[
同一个程序，换成 zklock 的互斥锁。`sell()` 一请求就得到锁，令牌与 `order()` 的相同；它释放之后，锁并没有让出去：
`order()` 做完，下一个买家才开始。{second.sold} 个都买到了。]],
    },
    try = {
        en = "In `lua/zklock/seckill/lessons/helper_locks.lua` let `order` call `sell` in a task "
            .. "of its own, by `require(\"zklock\").run(function() return sell(buyer) end)`, and "
            .. "run the second sale again: with re-entry, too, each buyer waits for itself now.",
        zh = "修改 `lua/zklock/seckill/lessons/helper_locks.lua`，让 `order` 用 `require(\"zklock\")"
            .. ".run(function() return sell(buyer) end)` 在单独的任务里调用 `sell`，再运行第二场："
            .. "锁虽然可重入，每个买家又在等自己了。",
    },
    where = {
        {
            url = "https://github.com/kenn/redis-mutex/issues/39",
            en = "A mutex in Redis: in a large code base a method that has the lock called one "
                .. "that acquires it, and waited until the lock expired.",
            zh = "Redis 上的一个互斥锁：在一个大代码库里，拿着锁的方法调用了要获取它的方法，一直等到锁过期。",
        },
        {
            url = "https://github.com/awslabs/amazon-dynamodb-lock-client/issues/56",
            en = "The same question to the lock client of DynamoDB.",
            zh = "有人向 DynamoDB 的锁客户端提出同样的问题。",
        },
        {
            url = "https://github.com/w3c/web-locks/issues/33",
            en = "The browsers' Web Locks wait for themselves on purpose, and say so.",
            zh = "浏览器的 Web Locks 有意设计成不可重入：再次获取就会自己等自己，文档里写明了。",
        },
    },
}
