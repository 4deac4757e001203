--- Lesson: two locks, taken in different orders.

local steps = require "docs.lessons.site.steps"


local function run(sorted)
    return {
        buyers = 2, servers = 2, products = { bun = 10 }, strategy = "zookeeper",
        purchase = "docs.lessons.two_locks", parameters = sorted, pause = 0.2,
        timeout = 2, simulated = true, seed = 1,
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


-- A row for each lock of each buyer.
local function rows(sale)
    local list = {}
    for _, purchase in ipairs(sale.purchases) do
        local by_lock = {}
        for _, note in ipairs(notes_of(sale, purchase.buyer)) do
            local what, lock = note.line:match "^(%a+) (%a+)$"
            if what == "has" or what == "asks" then
                by_lock[lock] = by_lock[lock] or {
                    buyer = purchase.buyer, server = purchase.server, lock = lock,
                    label = lock,
                    asked = what == "asks" and note.at or purchase.asked,
                    released = purchase.released, outcome = purchase.outcome,
                    token = what == "has" and purchase.token or nil,
                }
                if by_lock[lock].told == nil then list[#list + 1] = by_lock[lock] end
                by_lock[lock].told = purchase.told
                if what == "has" then by_lock[lock].granted = note.at end
            end
        end
        for _, row in pairs(by_lock) do
            if not row.granted then row.released = nil end
        end
    end
    return list
end


-- What the buyers noted, at the rows of their locks.
local function steps_of(sale)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local what, lock = note.line:match "^(%a+) (%a+)$"
        for _, row in ipairs(sale.rows) do
            local is_its = row.buyer == note.buyer
            if is_its and row.lock == lock and (what == "has" or what == "asks") then
                list[#list + 1] = { at = note.at, what = what, count = lock, purchase = row }
            elseif is_its and note.line == "gives up" and not row.granted then
                list[#list + 1] = { at = note.at, what = "gives_up", purchase = row }
            end
        end
    end
    return steps.sorted(list)
end


return {
    title = { en = "Deadlock by order", zh = "顺序不同造成的死锁" },
    ask = {
        en = "Two buyers need the same two locks, and take them in different orders. How many buy?",
        zh = "两个买家需要同样的两把锁，获取的顺序不同。有几个买到？",
    },
    runs = { first = run(nil), second = run{ sorted = true } },
    modules = { first = { "two_locks" } },
    expect = {
        first = { verdict = "right", sold = 1, left = 9, failed = 1 },
        second = { verdict = "right", sold = 2, left = 8, failed = 0 },
    },
    predicted = function(facts) return facts.first.sold end,
    rows = rows, steps = steps_of,

    question = {
        en = [[
To buy a bun one needs two locks now: that of the stock, and that of the buyer's account. Buyer 1
runs code that takes the stock first, buyer 2 code that takes the account first. There are ten buns.
A buyer waits for a lock for 2 s at most.

**How many of the two buy?**]],
        zh = [[
现在买一个包子需要两把锁：库存的锁和账户的锁。买家 1 的代码先获取库存的锁，买家 2 的代码先获取账户的锁。
有十个包子。每个买家等一把锁最多等 2 秒。

**两个买家中有几个买到？**]],
    },
    answers = {
        {
            value = 2,
            en = { "2: one after the other", "Each has one lock, and wants the one that the other "
                .. "has. Neither gives back what it has, so neither goes on." },
            zh = { "2 个：一前一后", "每个人都有一把锁，又想要对方的那一把。谁也不放手，谁也走不下去。" },
        },
        {
            value = 1,
            en = { "1: one gives up, and then the other can go on", "After 2 s buyer 1 gives up, "
                .. "and releases what it has. Buyer 2 was about to give up as well: it had asked a "
                .. "moment later." },
            zh = { "1 个：一个放弃，另一个才能继续", "2 秒之后买家 1 放弃，释放了它的锁。"
                .. "买家 2 本来也快要放弃了：它只晚问了一点点。" },
        },
        {
            value = 0,
            en = { "0: both wait for ever", "Without a time limit they would. That is why each "
                .. "wait should have one: here it saves one of the two." },
            zh = { "0 个：两个都永远等下去", "要是没有时限，就会这样。所以每次等待都应当有时限："
                .. "在这里，它救了其中一个。" },
        },
    },
    run = {
        en = [[
A row is a lock of a buyer. For nearly two seconds both hold one lock and wait for the other one.
Nothing false was sold, which is all that "right" means; and one buyer went home without a bun
although there were {first.left}.]],
        zh = [[
每一行是一个买家的一把锁。有将近两秒，两个人各持有一把，又在等另一把。没有卖错什么（“正确”只是这个意思），可是有一个买家空手而归，
尽管还剩 {first.left} 个包子。]],
    },
    cause = {
        en = [[
Each waits for the other: a circle. A circle needs two that take the same locks in different
orders.]],
        zh = [[
你等我，我等你，成了一个圈。要成圈，必须有两个人以不同的顺序获取同样的几把锁。]],
    },
    mend = {
        en = [[
Give all locks one order, such as that of their names, and take them in it everywhere. Or ask for
all of them at once, and get all or none: zklock's `session:multi` creates the nodes of all locks in
one request.]],
        zh = [[
给所有的锁定一个统一的顺序，例如按名称，处处都照这个顺序获取。或者一次请求全部，要么全得到，要么一把也不得：
zklock 的 `session:multi` 用一个请求创建所有锁的节点。]],
    },
    code = [[
table.sort(names)                               -- new, or:
local both = session:multi{ session:mutex "/account/7", session:mutex "/stock/bun" }]],
    same = {
        en = [[
The same sale in the order of names. Both buy, and all is over after {second.seconds} instead of
{first.seconds}.]],
        zh = [[
同一场秒杀，按名称的顺序。两个都买到了，一共用了 {second.seconds}，而不是 {first.seconds}。]],
    },
    try = {
        en = "With real processes and a real ZooKeeper: take `simulated` and `seed` out of the "
            .. "call. There both may give up at the same moment, and nobody buys.",
        zh = "用真实的进程和 ZooKeeper：从调用中去掉 `simulated` 和 `seed`。那里两个人可能同时放弃，谁也买不到。",
    },
    where = {
        {
            url = "https://github.com/datahub-project/datahub/pull/18401",
            en = "DataHub: keys went through a set, which lost their order, and transactions that "
                .. "lock the same rows came to deadlock in MySQL.",
            zh = "DataHub：键经过一个集合，失去了顺序，锁住同样几行的事务于是在 MySQL 中死锁。",
        },
        {
            url = "https://github.com/vectorize-io/hindsight/issues/3396",
            en = "Two code paths that each sorted what they lock, by different keys: a few "
                .. "deadlocks a day.",
            zh = "两处代码都把要锁的东西排了序，但用的键不同：每天仍有几次死锁。",
        },
        {
            url = "https://github.com/matomo-org/matomo/pull/7348",
            en = "Matomo's importers locked the rows of visits in any order; sorting them made it "
                .. "rarer, though not all was cured.",
            zh = "Matomo 的导入程序以任意顺序锁住访问记录的行；排序之后死锁少了，但没有完全消失。",
        },
    },
}
