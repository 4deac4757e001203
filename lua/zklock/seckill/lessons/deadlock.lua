--- Lesson: two locks, taken in different orders.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"


local TIMEOUT = 2 -- seconds
local SEEDS = 100

local function run(parameters, seed)
    return {
        buyers = 2, servers = 2, products = { bun = 10 }, strategy = "zookeeper",
        purchase = "zklock.seckill.lessons.two_locks", parameters = parameters, pause = 0.2,
        timeout = TIMEOUT, simulated = true, seed = seed or 1,
    }
end


-- Notes of a buyer, in the order of time.
local function notes_of(sale, buyer)
    local list = {}
    for _, note in ipairs(sale.notes) do
        if note.buyer == buyer then list[#list + 1] = note end
    end
    table.sort(list, function(a, b) return a.at < b.at end)
    return list
end


-- Of a buyer's note: "has" or "asks", which lock, and the token if it has it.
local function parts_of(note)
    local what, lock, token = note.line:match "^(%a+) (%a+) ?(%d*)$"
    if what == "has" or what == "asks" then return what, lock, token end
end


-- A lock of a buyer, before it has it. (What is bought is read and written under both locks: the
-- stock's row has it.)
local function new_row(purchase, lock, asked)
    local row = {
        buyer = purchase.buyer, server = purchase.server, lock = lock, label = lock,
        asked = asked, told = purchase.told, outcome = purchase.outcome,
    }
    if lock == "stock" then
        row.read, row.left, row.written = purchase.read, purchase.left, purchase.written
    end
    return row
end


-- A row for each lock of each buyer.
local function rows(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        local by_lock = {}
        for _, note in ipairs(notes_of(sale, purchase.buyer)) do
            local what, lock, token = parts_of(note)
            if what and not by_lock[lock] then
                local asked = what == "asks" and note.at or purchase.asked
                by_lock[lock] = new_row(purchase, lock, asked)
                list[#list + 1] = by_lock[lock]
            end
            if what == "has" then
                local row = by_lock[lock]
                row.granted, row.token, row.released = note.at, token, purchase.released
            end
        end
    end
    return list
end


-- What the buyers noted, at the rows of their locks.
local function steps_of(sale)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local what, lock = parts_of(note)
        for _, row in ipairs(sale.rows) do
            local is_its = row.buyer == note.buyer
            if is_its and row.lock == lock then
                list[#list + 1] = { at = note.at, what = what, count = lock, purchase = row }
            elseif is_its and note.line == "gives up" and not row.granted then
                list[#list + 1] = { at = note.at, what = "gives_up", purchase = row }
            end
        end
    end
    return steps.sorted(list)
end


-- How much of its time limit the buyer had left who got its second lock after all.
local function time_left(sale)
    local least = TIMEOUT
    for _, row in ipairs(sale.rows) do
        if row.granted then least = math.min(least, TIMEOUT - buyers.waited(row)) end
    end
    return ("%.1f s"):format(least)
end


-- With how many of the seeds nobody buys, if both buyers come at the same moment.
local function count_of_none()
    local count = 0
    for seed = 1, SEEDS do
        local sale = assert(seckill.sale(run({ gap = 0 }, seed)))
        assert(sale.sold < 2, "both have bought")
        if sale.sold == 0 then count = count + 1 end
    end
    return count
end


return {
    title = { en = "Deadlock by order", zh = "顺序不同造成的死锁" },
    ask = {
        en = "Two buyers need the same two locks, and take them in different orders. How many buy?",
        zh = "两个买家需要同样的两把锁，获取的顺序不同。有几个买到？",
    },
    runs = { first = run{ gap = 0.1 }, second = run{ gap = 0.1, sorted = true } },
    modules = { first = { "two_locks" } },
    expect = {
        first = { verdict = "right", sold = 1, left = 9, failed = 1 },
        second = { verdict = "right", sold = 2, left = 8, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    rows = rows, steps = steps_of,
    facts = function(facts)
        return { spare = time_left(facts.first), seeds = SEEDS, none = count_of_none() }
    end,

    question = {
        en = [[
To buy a bun one needs two locks now: that of the stock, and that of the buyer's account. Buyer 1
runs code that takes the stock first, buyer 2 code that takes the account first. Each needs 0.2 s
between its first lock and its second. Buyer 2 comes 0.1 s after buyer 1. There are {first.stock}
buns. A buyer waits for a lock for 2 s at most, and then releases what it has.

**How many of the two buy?**]],
        zh = [[
现在买一个包子要两把锁：库存的锁（`stock`）和账户的锁（`account`）。买家 1 的代码先获取库存的锁，买家 2 的代码先获取账户的锁。
两人拿到第一把锁之后，都要过 0.2 秒才去获取第二把。买家 2 比买家 1 晚来 0.1 秒。包子有 {first.stock} 个。
一把锁最多等 2 秒，等不到就放弃，并释放手里的锁。

**两个买家中有几个买到？**]],
    },
    answers = {
        {
            value = 2,
            en = { "2: one after the other", "Each has one lock, and wants the one that the other "
                .. "has. Neither gives back what it has, so neither goes on." },
            zh = { "2 个：一前一后", "两人各拿着一把锁，又都想要对方的那一把。谁也不放手，谁也走不下去。" },
        },
        {
            value = 1,
            en = { "1: one gives up, and then the other can go on", "After 2 s buyer 1 gives up, "
                .. "and releases what it has. Buyer 2 gets that lock {spare} before it would have "
                .. "given up as well." },
            zh = { "1 个：一个放弃，另一个才能继续", "2 秒之后买家 1 放弃，释放了手里的锁。买家 2 拿到了这把锁："
                .. "再过 {spare}，它自己也要放弃了。" },
        },
        {
            value = 0,
            en = { "0: both give up after 2 s", "Their 2 s do not end together: buyer 2 has asked "
                .. "later. If both come at the same moment (`gap = 0`), the seed decides: with "
                .. "{none} of {seeds} seeds nobody buys." },
            zh = { "0 个：等满 2 秒，两个都放弃", "两人的 2 秒不是同时到的：买家 2 请求得晚一些。如果两人同时到来"
                .. "（`gap = 0`），结果就要看种子：{seeds} 个种子里有 {none} 个谁也没有买到。" },
        },
        {
            value = "never",
            en = { "0: both wait for ever", "Without a time limit they would. That is why each "
                .. "wait should have one: here it saves one of the two." },
            zh = { "0 个：两个都永远等下去", "要是没有时限，就会这样。所以每次等待都应当有时限："
                .. "在这里，时限救了其中一个。" },
        },
    },
    run = {
        en = [[
A row is a lock of a buyer. For nearly two seconds both hold one lock and wait for the other one.
The account is right, which is all that "right" means. But buyer 1 went home without a bun, while
all {first.stock} were on the shelf. (The figures below the picture count each wait for a lock. The
report and `print(sale)` count that for a buyer's first lock alone.)]],
        zh = [[
每一行是一个买家的一把锁。有将近两秒，两个人各拿着一把，又在等另一把。账没有错（“正确”仅指这一点），可是买家 1 空手而归，
而那时架上 {first.stock} 个包子一个也没少。
（图下的等锁时间统计每一次等锁；报告和 `print(sale)` 只统计每个买家等第一把锁的时间。）]],
    },
    cause = {
        en = [[
Each waits for the other: a circle. It takes buyers that do not keep to one order of the locks. The
simplest circle is this one: two buyers, two locks, opposite orders. Three buyers can make one, too:
the first takes A and then B, the second B and then C, the third C and then A.]],
        zh = [[
你等我，我等你，成了一个圈。成圈的前提是大家获取锁的顺序不统一。最简单的就是这里的情形：两个人、两把锁、顺序相反。
不过三个人也能成圈：一个先 A 后 B，一个先 B 后 C，一个先 C 后 A。]],
    },
    mend = {
        en = [[
Give all locks one order, such as that of their names, and take them in it everywhere.

Or ask for all of them at once, and get all or none: zklock's `session:multi` joins the queues of
all its locks in one request. So of two buyers the same one is in front in every queue, and no
circle can come about.]],
        zh = [[
给所有的锁定一个统一的顺序，例如按名称排序，所有代码都按这个顺序获取。

或者一次请求全部，要么全拿到，要么一把都拿不到：zklock 的 `session:multi` 用一个请求同时排进每一把锁的队列。
这样，任何两个买家在每个队列里的先后都一致，圈就形不成了。]],
    },
    code = [[
table.sort(names)                               -- new, or:
local both = session:multi{ session:mutex "/account/7", session:mutex "/stock/bun" }]],
    same = {
        en = [[
The same sale in the order of names. Both buy, and all is over after {second.seconds} instead of
{first.seconds}.]],
        zh = [[
同一场秒杀，两人都按名称的顺序获取。两个都买到了，一共用了 {second.seconds}，而不是 {first.seconds}。]],
    },
    try = {
        en = "Let both come at the same moment (`gap = 0`), and try some seeds: when does nobody "
            .. "buy? With real processes and a real ZooKeeper, take `simulated` and `seed` out of "
            .. "the call.",
        zh = "让两个人同时到来（`gap = 0`），换几个种子试试：什么时候谁也买不到？要用真实的进程和 ZooKeeper，"
            .. "就从调用中去掉 `simulated` 和 `seed`。",
    },
    where = {
        {
            url = "https://github.com/datahub-project/datahub/pull/18401",
            en = "DataHub: keys went through a set, which lost their order, and transactions that "
                .. "lock the same rows came to deadlock in MySQL.",
            zh = "DataHub：键放进 set 之后乱了顺序，锁住同样几行的事务于是在 MySQL 中死锁。",
        },
        {
            url = "https://github.com/vectorize-io/hindsight/issues/3396",
            en = "Two code paths that each sorted what they lock, by different keys: a few "
                .. "deadlocks a day.",
            zh = "两处代码都给要锁的东西排了序，但排序的依据不同：每天仍有几次死锁。",
        },
        {
            url = "https://github.com/matomo-org/matomo/pull/7348",
            en = "Matomo's importers locked the rows of visits in any order; sorting them made it "
                .. "rarer, though not all was cured.",
            zh = "Matomo 的导入程序以任意顺序锁住访问记录的行；排序之后死锁少了，但没有完全消失。",
        },
    },
}
