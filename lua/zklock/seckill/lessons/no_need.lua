--- Lesson: the stock is one row of one database, and needs no other lock.

local seckill = require "zklock.seckill"


local function run(strategy, way, gap)
    return {
        buyers = 12, servers = 4, products = { bun = 8 }, strategy = strategy,
        store = "zklock.seckill.lessons.one_row", purchase = "zklock.seckill.lessons.ways_to_buy",
        parameters = { way = way, gap = gap }, pause = 0, fenced = false, simulated = true,
        seed = 1,
    }
end


-- The notes of each server, the first one first: each has what the server has asked for until then.
local function notes_by_server(sale)
    local list = {}
    for number = 1, sale.servers do list[number] = {} end
    for _, note in ipairs(sale.notes) do table.insert(list[note.server], note) end
    for _, notes in ipairs(list) do
        table.sort(notes, function(one, other) return one.at < other.at end)
    end
    return list
end


-- What a note says, and the sum of what went to ZooKeeper.
local function counts_of(note)
    local counts, zookeeper = {}, 0
    for kind, count in note.line:gmatch "(%l+)=(%d+)" do
        counts[kind] = tonumber(count)
        if kind ~= "statements" then zookeeper = zookeeper + counts[kind] end
    end
    counts.zookeeper = zookeeper
    return counts
end


-- All requests of a sale, by kind.
local function requests(sale)
    local sums = {}
    for _, notes in ipairs(notes_by_server(sale)) do
        for kind, count in pairs(counts_of(notes[#notes])) do
            sums[kind] = (sums[kind] or 0) + count
        end
    end
    return sums
end


-- What it cost: requests, and how many pieces were sold in a second.
local function cost(sale)
    local made, last = requests(sale), 0
    for _, purchase in ipairs(sale.purchases) do last = math.max(last, purchase.told) end
    made.requests = made.zookeeper + made.statements
    made.rate = ("%.0f"):format(sale.sold / last)
    return made
end


-- What a lock costs that nobody else wants: a server's requests to ZooKeeper after its first
-- purchase. And what the sale takes if all its buyers find the lock free.
local function free_lock()
    local sale = assert(seckill.sale(run("zookeeper", "lock", 0.5)))
    assert(sale.verdict == "right", sale.finding)
    local each
    for _, notes in ipairs(notes_by_server(sale)) do
        local first, last = counts_of(notes[1]).zookeeper, counts_of(notes[#notes]).zookeeper
        local count = (last - first) / (#notes - 1)
        assert(count == (each or count), "a free lock does not always cost the same")
        each = count
    end
    return {
        each = ("%d"):format(each),
        all = ("%d"):format(sale.buyers * each + requests(sale).statements),
    }
end


-- What the picture marks: nothing goes wrong here.
local function none() return {} end


return {
    title = { en = "When you need no lock", zh = "什么时候不需要锁" },
    ask = {
        en = "The stock is one row of one database, and a lock guards it well. What does the lock "
            .. "cost, and is it needed?",
        zh = "库存只是一个数据库里的一行，锁把它护得很好。锁的代价是多少？真的需要它吗？",
    },
    runs = {
        first = run("zookeeper", "lock"),
        second = run("zklock.seckill.lessons.together", "statement"),
    },
    modules = { first = { "one_row", "ways_to_buy" }, second = { "together" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 0, refused = 4 },
        second = { verdict = "right", sold = 8, left = 0, refused = 4 },
    },
    predicted = function(facts)
        local count = facts.lock.requests
        return count > 44 and "more" or count
    end,
    steps = none,
    facts = function(facts)
        local row = assert(seckill.sale(run("zklock.seckill.lessons.together", "transaction")))
        assert(row.verdict == "right", row.finding)
        return {
            lock = cost(facts.first), row = cost(row), statement = cost(facts.second),
            free = free_lock(),
        }
    end,

    question = {
        en = [[
The lock is in ZooKeeper, the stock is one row of one database, and all is right. There are
{first.servers} servers, {first.buyers} buyers and {first.stock} buns. A buyer acquires the lock,
reads, writes, and releases the lock; whoever reads 0 writes nothing. A request takes about a
millisecond there and back, and a write has the row for one more.

**How many requests do ZooKeeper and the database get in this sale?**]],
        zh = [[
锁在 ZooKeeper 里，库存是一个数据库里的一行，一切正确。有 {first.servers} 台服务器，{first.buyers} 个买家，
{first.stock} 个包子。每个买家获取锁，读，写，释放锁；读到 0 就不写。一个请求来回大约一毫秒，
写入时还要占住那一行一毫秒。

**这场秒杀中，ZooKeeper 和数据库一共收到多少个请求？**]],
    },
    answers = {
        {
            value = 20,
            en = { "20: {first.buyers} reads and {first.stock} writes", "That is what the database "
                .. "gets. The lock has requests of its own." },
            zh = { "20 个：{first.buyers} 次读，{first.stock} 次写", "这是数据库收到的。锁还有它自己的请求。" },
        },
        {
            value = 44,
            en = { "44: and two more from each buyer, for the lock", "Even a lock that is free "
                .. "takes {free.each}: create a node, list the queue, delete the node. That makes "
                .. "{free.all} if nobody waits. A waiter also watches the nodes in front of it." },
            zh = { "44 个：为了锁，每个买家再多两个", "就算锁是空闲的，也要 {free.each} 个：创建节点，列出队列，"
                .. "删除节点。谁都不用等，一共也要 {free.all} 个。等待者还要监视排在它前面的节点。" },
        },
        {
            value = "more",
            en = { "Many more than 44", "{lock.requests}: {lock.statements} to the database, and "
                .. "{lock.zookeeper} to ZooKeeper. Most requests are about the lock, not about "
                .. "buns." },
            zh = { "远远多于 44 个", "{lock.requests} 个：数据库 {lock.statements} 个，ZooKeeper "
                .. "{lock.zookeeper} 个。大多数请求是为了锁，而不是为了包子。" },
        },
    },
    run = {
        en = [[
One buyer after the other, as it should be. The sale lasts {first.seconds}, in which {first.sold}
buns are sold: {lock.rate} a second.

Of the {lock.zookeeper} requests to ZooKeeper {lock.creates} create nodes and their folder,
{lock.lists} list the queue, {lock.gets} look at a node and watch it, and {lock.deletes} delete one.
The picture has no room for them; the report shows each as an arrow.]],
        zh = [[
买家一个接一个，本该如此。整场用了 {first.seconds}，卖出 {first.sold} 个包子，相当于每秒 {lock.rate} 个。

发给 ZooKeeper 的 {lock.zookeeper} 个请求里，{lock.creates} 个创建节点和它们的目录，{lock.lists} 个列出队列，
{lock.gets} 个查看并监视节点，{lock.deletes} 个删除节点。这幅图里画不下，报告里每个请求都是一个箭头。]],
    },
    cause = {
        en = [[
The row is locked twice: by ZooKeeper for as long as a buyer reads, writes and hands the lock on,
and by the database for the moment in which it writes. The second lock is there anyway. It would be
enough, if reading and writing were not two requests.]],
        zh = [[
这一行锁了两道：一道在 ZooKeeper，从买家读、写一直锁到交给下一个；一道在数据库，只锁写入那一刻。
后一道锁本来就有。只要读和写不是两个请求，有它就够了。]],
    },
    mend = {
        en = [[
Say it in one statement. The database locks the row, checks the condition, writes, and tells how
many rows it has changed: 1 means bought, 0 sold out. A statement that had to wait for the row
checks its condition again.

If your program has to decide between reading and writing, let it lock the row: `SELECT … FOR
UPDATE`, then `UPDATE`, then `COMMIT`. That lock ends with the transaction, and so also when the
connection is lost.]],
        zh = [[
用一条语句做完。数据库锁住那一行，检查条件，写入，并告诉你改了几行：1 表示买到，0 表示售罄。
因这一行被锁而等待的语句，轮到它时会重新检查条件。

如果读和写之间要由程序做判断，就让它锁住那一行：`SELECT … FOR UPDATE`，然后 `UPDATE`，再 `COMMIT`。
事务一结束，这把锁就释放；连接断了也一样。]],
    },
    code = [[
-- lock:acquire(); SELECT stock …; UPDATE …; lock:release()
UPDATE product SET stock = stock - 1 WHERE id = :id AND stock > 0     -- how many rows?]],
    same = {
        en = [[
The same sale with that statement, and without a lock. A bar is a purchase, from its beginning to
its end. Bars overlap and are not red: that does no harm here, for buyers wait for one another
inside the database. Again {second.sold} are sold, and {second.refused} buyers are told that it is
sold out: with {statement.requests} requests instead of {lock.requests}, and at {statement.rate}
buns a second instead of {lock.rate}. (A locked row, `way = "transaction"`, takes {row.requests}
requests, and sells {row.rate} a second.)

**When do you need a lock?** When one transaction of one database cannot do the work: it also writes
a file, or into a second database, or makes a payment, and one order must not be paid twice (this
lock is the order's, not [the stock's](many-waiters.html)). When the work is long, so that a
transaction would keep a connection and the row for minutes. When a job is to run on one machine of
many. Even then let the store have the last word: with a condition as above, or with [the
token](token.html).]],
        zh = [[
同一场秒杀，用这条语句，不用锁。一根横条是一次购买，从开始到结束；它们互相重叠，却没有标红：买家在数据库内部排队，
重叠在这里没有害处。照样卖出 {second.sold} 个，{second.refused} 个买家被告知售罄：请求从 {lock.requests} 个减到
{statement.requests} 个，速度从每秒 {lock.rate} 个提高到 {statement.rate} 个。
（锁住那一行的做法，`way = "transaction"`，要 {row.requests} 个请求，每秒卖出 {row.rate} 个。）

**什么时候需要锁？** 一个数据库的一个事务做不完的工作：还要写文件，写另一个数据库，或者要付款，而同一张订单只能付一次
（这把锁是订单的，[不是库存的](many-waiters.html)）。耗时很长的工作：事务会把连接和那一行占住几分钟。
许多机器中只应由一台来运行的任务。就算用了锁，最后也要由存储说了算：用上面那样的条件，或者用[令牌](token.html)。]],
    },
    try = {
        en = "With real servers: ZooKeeper's lock, a locked row, and a condition on a version, "
            .. "where a buyer whose write is refused tries again a few times:",
        zh = "用真实的服务器看三种做法：ZooKeeper 的锁、锁住一行、带版本条件的写入（被拒绝的买家会再试几次）：",
    },
    command = "make demo DEMO=\"--strategy zookeeper,sql-pessimistic,sql-optimistic --pause 0 "
        .. "--report sale.html\"",
    where = {
        {
            url = "https://www.postgresql.org/docs/current/transaction-iso.html",
            en = "PostgreSQL's manual: an `UPDATE` that waited for a row looks at its `WHERE` "
                .. "again.",
            zh = "PostgreSQL 手册：因一行被锁而等待的 `UPDATE`，轮到它时会重新检查 `WHERE`。",
        },
        {
            url = "https://docs.djangoproject.com/en/dev/ref/models/expressions/",
            en = "Django's manual: let the database count (`F(\"stock\") - 1`), and no update is "
                .. "lost.",
            zh = "Django 手册：让数据库来计算（`F(\"stock\") - 1`），就不会丢失更新。",
        },
        {
            url = "https://github.com/golang-app/ecommerce/pull/87",
            en = "A shop closed the gap between checking and selling with "
                .. "`UPDATE … WHERE stock >= qty`.",
            zh = "一个商店用 `UPDATE … WHERE stock >= qty` 堵上了检查与售出之间的空当。",
        },
    },
}
