--- Lesson: the stock is one row of one database, and needs no other lock.

local seckill = require "zklock.seckill"


local function run(strategy, way)
    return {
        buyers = 12, servers = 4, products = { bun = 8 }, strategy = strategy,
        store = "docs.lessons.one_row", purchase = "docs.lessons.ways_to_buy",
        parameters = { way = way }, pause = 0, fenced = false, simulated = true, seed = 1,
    }
end


-- Requests to ZooKeeper, and to the database. A server's last note has all of its own.
local function requests(sale)
    local by_server, zookeeper, database = {}, 0, 0
    for _, note in ipairs(sale.notes) do
        local last = by_server[note.server]
        if not last or last.at < note.at then by_server[note.server] = note end
    end
    for _, note in pairs(by_server) do
        local one, other = note.line:match "^requests (%d+) (%d+)$"
        zookeeper, database = zookeeper + one, database + other
    end
    return zookeeper, database
end


-- What it cost: requests, and how many pieces were sold in a second.
local function cost(sale)
    local zookeeper, database = requests(sale)
    local last = 0
    for _, purchase in ipairs(sale.purchases) do last = math.max(last, purchase.told) end
    return {
        zookeeper = ("%.0f"):format(zookeeper), database = ("%d"):format(database),
        requests = ("%.0f"):format(zookeeper + database),
        rate = ("%.0f"):format(sale.sold / last),
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
        first = run("zookeeper", "lock"), second = run("docs.lessons.together", "statement"),
    },
    modules = { first = { "one_row", "ways_to_buy" }, second = { "together" } },
    expect = {
        first = { verdict = "right", sold = 8, left = 0, refused = 4 },
        second = { verdict = "right", sold = 8, left = 0, refused = 4 },
    },
    predicted = function(facts)
        local count = tonumber(facts.lock.requests)
        return count > 44 and "more" or count
    end,
    steps = none,
    facts = function(facts)
        local row = assert(seckill.sale(run("docs.lessons.together", "transaction")))
        assert(row.verdict == "right", row.finding)
        return { lock = cost(facts.first), row = cost(row), statement = cost(facts.second) }
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
            en = { "44: and two more from each buyer, for the lock", "That would be enough if "
                .. "nobody had to wait. A waiter also asks who is in front, watches that node, and "
                .. "makes sure when it is first." },
            zh = { "44 个：为了锁，每个买家再多两个", "谁都不用等的话就够了。等待者还要问前面有谁，"
                .. "监视那个节点，轮到自己时再确认一遍。" },
        },
        {
            value = "more",
            en = { "Many more than 44", "{lock.requests}: {lock.database} to the database, and "
                .. "{lock.zookeeper} to ZooKeeper. Most requests are about the lock, not about "
                .. "buns." },
            zh = { "远远多于 44 个", "{lock.requests} 个：数据库 {lock.database} 个，ZooKeeper "
                .. "{lock.zookeeper} 个。大多数请求是为了锁，而不是为了包子。" },
        },
    },
    run = {
        en = [[
One buyer after the other, as it should be. The sale lasts {first.seconds}, in which {first.sold}
buns are sold: {lock.rate} a second.]],
        zh = [[
买家一个接一个，本该如此。整场用了 {first.seconds}，卖出 {first.sold} 个包子，相当于每秒 {lock.rate} 个。]],
    },
    cause = {
        en = [[
The row is locked twice: by ZooKeeper for as long as a buyer reads, writes and hands the lock on,
and by the database for the moment in which it writes. The second lock is there anyway. It would be
enough, if reading and writing were not two requests.]],
        zh = [[
这一行被锁了两次：一次是 ZooKeeper，从买家读、写直到把锁交给下一个；一次是数据库，只在写入的那一刻。
后一把锁本来就有。只要读和写不是两个请求，有它就够了。]],
    },
    mend = {
        en = [[
Say it in one statement. The database locks the row, checks the condition, writes, and tells how
many rows it has changed: 1 means bought, 0 sold out. A statement that had to wait for the row
checks its condition again.

If your program has to decide between reading and writing, let it lock the row:
`SELECT … FOR UPDATE`, then `UPDATE`, then `COMMIT`. That lock ends with its connection.]],
        zh = [[
用一条语句说完。数据库锁住那一行，检查条件，写入，并告诉你改了几行：1 表示买到，0 表示售罄。
等过这一行的语句，会重新检查一遍条件。

如果读与写之间必须由程序来决定，就让它锁住那一行：`SELECT … FOR UPDATE`，然后 `UPDATE`，再 `COMMIT`。
这把锁随连接结束。]],
    },
    code = [[
-- lock:acquire(); SELECT stock …; UPDATE …; lock:release()
UPDATE product SET stock = stock - 1 WHERE id = :id AND stock > 0     -- how many rows?]],
    same = {
        en = [[
The same sale with that statement, and without a lock. A bar is a purchase, from its beginning to
its end. They overlap, since buyers wait inside the database only. Again {second.sold} are sold, and
{second.refused} buyers are told that it is sold out: with {statement.requests} requests instead of
{lock.requests}, and at {statement.rate} buns a second instead of {lock.rate}. (A locked row,
`way = "transaction"`, takes {row.requests} requests, and sells {row.rate} a second.)

**When do you need a lock?** When one transaction of one database cannot do the work: a payment, a
file, a second database. When the work is long, so that a transaction would keep a connection and
the row for minutes. When a job is to run on one machine of many. Even then let the store have the
last word: with a condition as above, or with [the token](token.html).]],
        zh = [[
同一场秒杀，用这条语句，不用锁。一根横条是一次购买，从开始到结束；它们互相重叠，因为买家只在数据库里面等。
照样卖出 {second.sold} 个，{second.refused} 个买家被告知售罄：请求从 {lock.requests} 个减到
{statement.requests} 个，速度从每秒 {lock.rate} 个提高到 {statement.rate} 个。
（锁住那一行的做法，`way = "transaction"`，要 {row.requests} 个请求，每秒卖出 {row.rate} 个。）

**什么时候需要锁？** 一个数据库的一个事务做不完的工作：付款、文件、另一个数据库。
耗时很长的工作：事务会把连接和那一行占住几分钟。许多机器中只应由一台来运行的任务。
即使用了锁，最后也要由存储说了算：用上面那样的条件，或者用[令牌](token.html)。]],
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
            zh = "PostgreSQL 手册：等过一行的 `UPDATE` 会重新检查它的 `WHERE`。",
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
            zh = "一个商店用 `UPDATE … WHERE stock >= qty` 填上了检查与售出之间的空隙。",
        },
    },
}
