--- Lesson: buyers of one server read and write the stock without a lock.

local times = require "zklock.seckill.lessons.site.times"

local function run(strategy)
    return {
        buyers = 6, servers = 1, products = { bun = 10 }, strategy = strategy,
        simulated = true, seed = 1,
    }
end

return {
    title = { en = "No lock", zh = "没有锁" },
    ask = {
        en = "Ten buns, six buyers, no lock: how many buns does the shop believe it has left?",
        zh = "十个包子，六个买家，没有锁：最后商店以为还剩几个？",
    },
    runs = { first = run "none", second = run "local" },
    modules = {},
    expect = {
        first = { verdict = "wrong", sold = 6, left = 9 },
        second = { verdict = "right", sold = 6, left = 4 },
    },
    predicted = function(facts) return facts.first.left end,
    facts = function(facts)
        local first = facts.first.purchases[1]
        return { work = times.milliseconds(first.written - first.granted) }
    end,

    question = {
        en = [[
A shop has {first.stock} buns. {first.buyers} buyers come at the same moment, and each buys one. To
sell a bun the shop reads the stock from its database, takes one off, and writes the result back,
which takes about {work}. It has no lock. All buyers are told that they have bought.

**How many buns are left in the database?**]],
        zh = [[
商店有 {first.stock} 个包子。{first.buyers} 个买家同时到来，每人买一个。每卖一个，商店先从数据库读出库存，
减一，再把结果写回去，前后大约 {work}。没有锁。所有买家都被告知买到了。

**数据库里还剩几个包子？**]],
    },
    answers = {
        {
            value = 4,
            en = { "4: ten less six", "That is what should be left. It would be, if each buyer "
                .. "read what the one before had written. Look at the run: they all read 10." },
            zh = { "4 个：十减六", "这是应当剩下的数目。要是每个买家读到的都是前一个写下的，就会是这样。"
                .. "看看实际运行：他们读到的都是 10。" },
        },
        {
            value = 10,
            en = { "10: the writes cancel each other out", "No write is refused or taken back: "
                .. "each one is carried out, and the last one stays." },
            zh = { "10 个：互相抵消了", "没有一次写入被拒绝或撤销：每次都写进去了，最后一次留了下来。" },
        },
        {
            value = 9,
            en = { "9: only one purchase can be seen", "All {first.buyers} read 10, and all "
                .. "wrote 9. {first.apart} of the purchases have left no trace in the stock. "
                .. "(Fewer are lost when some buyers come later: then another number is left.)" },
            zh = { "9 个：只看得出卖了一个", "{first.buyers} 个买家读到的都是 10，写下的都是 9。"
                .. "有 {first.apart} 次购买在库存里没有留下痕迹。（要是有的买家来得晚些，丢失的就少些，"
                .. "剩下的数目也就不同。）" },
        },
        {
            value = "error",
            en = { "The database reports a conflict", "It does not: to a database these are reads "
                .. "and writes like all others. Each statement is atomic; the three steps "
                .. "together are not, and nobody has told the database that they belong "
                .. "together." },
            zh = { "数据库会报告冲突", "它不会：在数据库看来，这些只是普通的读和写。每条语句是原子的，"
                .. "合在一起的三步却不是，也没有人告诉数据库它们是一体的。" },
        },
    },
    run = {
        en = [[
Each row is a buyer. Its bar goes from the reading of the stock to the writing, and the sign at its
end is what the buyer was told. Where the bar is red and hatched, several buyers were in the middle
of the three steps at once.]],
        zh = [[
每一行是一个买家，横条从读库存画到写库存，行末的符号是买家得到的答复。
红色斜线的地方，是几个买家同时处在这三步当中。]],
    },
    cause = {
        en = [[
Between the read and the write of one buyer another one read. So both worked with the same stock,
and the second write undid the first: this is a **lost update**. A shop that goes on like this will
sell buns that it does not have.]],
        zh = [[
在一个买家的读与写之间，另一个买家也读了。两人根据同一个库存计算，后一次写入覆盖了前一次，
这叫**丢失更新**。这样卖下去，商店迟早会卖出它没有的包子。]],
    },
    mend = {
        en = [[
Let the three steps of one buyer be over before those of the next begin. A lock around them does
that: whoever does not have it waits.

(If the stock is one row of one database, you do not need a lock at all:
`UPDATE product SET stock = stock - 1 WHERE id = ? AND stock > 0` does all three steps in one.)]],
        zh = [[
让一个买家的三步做完，下一个买家的三步才开始。在这三步外面加一把锁就行：没拿到锁的先等着。

（如果库存只是一个数据库里的一行，根本用不着锁：
`UPDATE product SET stock = stock - 1 WHERE id = ? AND stock > 0` 一条语句就做完三步。）]],
    },
    code = [[
lock:acquire()                 -- new
local stock = read_stock()
write_stock(stock - 1)
lock:release()                 -- new]],
    same = {
        en = [[
The same sale with a lock inside the server. (The rows are in the order in which buyers got the
lock.) Bars do not overlap any more, {second.left} buns are left, and there is a price: buyers wait,
the last one for {second.longest}.]],
        zh = [[
同一场秒杀，服务器内部加了一把锁（各行按得到锁的先后排列）。横条不再重叠，剩下 {second.left} 个。
代价是要等：最后一个买家等了 {second.longest}。]],
    },
    try = {
        en = "With real processes and a real database:",
        zh = "用真实的进程和真实的数据库：",
    },
    command = "make demo DEMO=\"--strategy none,local --servers 1 --buyers 6 --report sale.html\"",
    where = {
        {
            url = "https://www.businessinsider.com.au/flexcoin-robbery-2014-3",
            en = "2014: Flexcoin, a bitcoin bank, closed. An attacker had sent thousands of "
                .. "transfers between two accounts at once, and they went through before the "
                .. "balances were updated.",
            zh = "2014 年，比特币银行 Flexcoin 倒闭。攻击者同时发起几千笔两个账户之间的转账，赶在余额更新之前全都通过了。",
        },
        {
            url = "https://www.geekwire.com/2015/security-researcher-exploits-flaw-to-load-"
                .. "starbucks-gift-cards-with-free-money/",
            en = "2015: two transfers at the same moment moved the balance of one Starbucks gift "
                .. "card twice. The researcher who found it made 20 dollars out of 15.",
            zh = "2015 年，同时发出两次转账，就能把一张星巴克礼品卡的余额转走两次。"
                .. "发现它的研究者把 15 美元变成了 20 美元。",
        },
    },
}
