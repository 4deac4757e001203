--- Lesson: half of the servers lock in one engine, and half already in another.

local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local FIRST, LAST = 0.25, 0.7 -- seconds: when server 1 hears of the switch, and server 2
local WORK = 0.2
local HEARS = { FIRST, LAST }


local function run(safe)
    return {
        buyers = 6, servers = #HEARS, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.switched_lock",
        parameters = { hears = HEARS, safe = safe },
        pause = WORK, simulated = true, seed = 32,
    }
end


-- "A", "B" or "A and B" in a language.
local function name_of(engines, language)
    return (engines:gsub(" ", language == "en" and " and " or " 和 "))
end


-- The engines that gave each buyer the lock.
local function engines_of(sale)
    local by_buyer = {}
    for _, note in ipairs(sale.notes) do
        by_buyer[note.buyer] = note.line:match "^engines (.*)$" or by_buyer[note.buyer]
    end
    return by_buyer
end


-- From when on B is enough: all have heard, and the last lock of A alone was released; by whom.
local function settled(sale)
    local at, by, engines = LAST, nil, engines_of(sale)
    for _, purchase in ipairs(sale.purchases) do
        if engines[purchase.buyer] == "A" and purchase.released >= at then
            at, by = purchase.released, purchase
        end
    end
    return at, by
end


-- The engines by which each server goes, one after the other.
local function spans(sale)
    local list = {}
    local function add(server, at, ended, engines)
        list[#list + 1] = { server = server, at = at, ended = ended, text = {
            en = name_of(engines, "en"), zh = name_of(engines, "zh"),
        } }
    end
    local begins = sale.verdict == "right" and settled(sale)
    for server, hears in ipairs(HEARS) do
        add(server, 0, hears, "A")
        if begins then add(server, hears, begins, "A B") end
        add(server, begins or hears, nil, "B")
    end
    return list
end


local HEARD = {
    wrong = { en = "hears of the switch: B instead of A", zh = "得知切换：用 B，不用 A" },
    right = { en = "hears of the switch: A and B", zh = "得知切换：A 和 B 都要" },
}

-- The two lost updates: what both of a pair have read, and what both write.
local function lost_updates(sale)
    local list, by_left = {}, {}
    for _, purchase in ipairs(sale.purchases) do
        local other = by_left[purchase.left]
        for _, each in ipairs(other and { other, purchase } or {}) do
            for at, what in pairs{ granted = "reads", written = "writes" } do
                list[#list + 1] = {
                    at = each[at], what = what, purchase = each,
                    count = what == "reads" and each.read or each.left,
                }
            end
        end
        by_left[purchase.left] = purchase
    end
    return list
end


-- When each server heard, among the steps that overlapped.
local function steps_of(sale)
    local list = lost_updates(sale)
    for server, hears in ipairs(HEARS) do
        list[#list + 1] = { at = hears, server = server, text = HEARD[sale.verdict] }
    end
    if sale.verdict == "right" then
        local at, by = settled(sale)
        list[#list + 1] = { at = at, server = by.server, text = {
            en = "its buyer releases the last lock of A alone: B is enough for all",
            zh = "最后一个只拿着 A 的锁的买家释放了锁：从此大家只需要 B",
        } }
    end
    return steps.sorted(list)
end


-- Who still has a lock of A when the last server has heard.
local function last_of_a(sale)
    local engines = engines_of(sale)
    for _, purchase in ipairs(sale.purchases) do
        if engines[purchase.buyer] == "A" and purchase.granted < LAST
            and purchase.released > LAST then
            return { buyer = purchase.buyer, till = times.duration(purchase.released) }
        end
    end
end


return {
    title = { en = "The switch of engines", zh = "切换锁引擎" },
    ask = {
        en = "The lock moves to another engine. One server hears of it a little earlier than the "
            .. "other one. Does that matter?",
        zh = "锁要换到另一个引擎。一台服务器比另一台早一点得知。有关系吗？",
    },
    runs = { first = run(), second = run(true) },
    modules = { first = { "switched_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 6, left = 6 },
        second = { verdict = "right", sold = 6, left = 4 },
    },
    predicted = function(facts) return facts.first.left end,
    spans = spans, steps = steps_of,
    lock_of = function(row, sale) return engines_of(sale)[row.buyer] end,
    facts = function(facts)
        return {
            early = FIRST .. "\194\160s", late = LAST .. "\194\160s", work = WORK,
            last = last_of_a(facts.first),
        }
    end,
    column = {
        en = "engine", zh = "引擎",
        of = function(row, sale) return (engines_of(sale)[row.buyer]:gsub(" ", " + ")) end,
    },

    question = {
        en = [[
The shop moves its lock from engine A to engine B, from Redis to ZooKeeper, say. Each of the two
gives the lock to one at a time, and makes no mistake. Which of them is in use is a setting, and
each server reads it for itself: server 1 has the new value after {early}, server 2 after
{late}.

All six buyers come at the same moment, three to each server, and the work takes {work} s. A server
waits until the lock is free in the engine that it uses.

**There were ten buns. How many are left?**]],
        zh = [[
商店要换锁引擎（保存锁的服务），从 A 换到 B，比如从 Redis 换到 ZooKeeper。两个引擎都保证同一时刻只有一个持有者，都不出错。
用哪一个是一项配置，每台服务器自己读取：服务器 1 在 {early} 时读到新值，服务器 2 在 {late} 时读到。

六个买家同时到来，每台服务器三个；工作要 {work} 秒。服务器等的是它所用的那个引擎里的锁。

**原来有十个包子，还剩几个？**]],
    },
    answers = {
        {
            value = 4,
            en = { "4: each engine has one holder at a time", "That is true of each engine. But "
                .. "from {early} to {late} there are two engines in use, so there are two "
                .. "holders." },
            zh = { "4 个：每个引擎同一时刻只有一个持有者", "单看每个引擎，这句话本身没错，可是从 {early} 到 {late} "
                .. "有两个引擎在用，也就有两个持有者。" },
        },
        {
            value = 6,
            en = { "6: two sales are lost", "From {early} on each server goes by an engine of its "
                .. "own, so the two do not exclude each other. Twice two buyers read the same "
                .. "stock." },
            zh = { "6 个：有两次没扣库存", "从 {early} 起，两台服务器各用各的引擎，互不排斥。"
                .. "有两次，两个买家读到了同一个库存。" },
        },
        {
            value = 5,
            en = { "5: one sale is lost, at the moment of the switch", "One is lost there: server "
                .. "1 overlooks the buyer who has A's lock. That happens even if both servers "
                .. "hear at the same moment. But it goes on until server 2 has heard." },
            zh = { "5 个：切换的那一刻，有一次没扣库存", "那一刻确实丢了一次：服务器 1 没有看到持有 A 的锁的买家。"
                .. "就算两台服务器同时得知，也会这样。可是在服务器 2 得知之前，这种事还会再发生。" },
        },
        {
            value = "error",
            en = { "B refuses the lock while A's is held", "B knows nothing of A. Only the "
                .. "servers know both." },
            zh = { "A 的锁还在时，B 会拒绝", "B 根本不知道有 A。知道两者的只有商店的服务器。" },
        },
    },
    run = {
        en = [[
Above the rows of each server you see the engine that it asks for a new lock. A buyer keeps a lock
that it has: buyer {last.buyer} has A's until {last.till}. In the table, "engine" is the one that
gave the lock to the buyer. (A server that waits asks every 10 ms; therefore up to 10 ms pass
between two holds.)]],
        zh = [[
每台服务器的上方，是它要新锁时去问的引擎。已经得到的锁不受影响：买家 {last.buyer} 持有 A 的锁，
直到 {last.till}。表中“引擎”一列，是把锁给这个买家的那一个。（等锁的服务器每 10 毫秒问一次，
所以两次持锁之间最多隔 10 毫秒。）]],
    },
    cause = {
        en = [[
This is [the lesson about a lock in one server](lock-in-one-server.html) again: two locks of one
name. The same happens whenever the name of the lock, its key or its server changes in a rolling
deploy.]],
        zh = [[
这正是第 2 课[只在一台服务器里的锁](lock-in-one-server.html)：两把锁，同一个名字。
滚动发布时改了锁的名称、键或服务器，也都会这样。]],
    },
    mend = {
        en = [[
Between A and B there has to be a time in which a lock needs **both**.

When a server hears of the switch, that time begins for it. From then on it needs B's lock and
still A's, so it waits for the holders of A. The time ends when **all** servers have heard, and
nobody holds a lock of A alone any more. No server may guess that: each records what it uses in one
place that all can see. (zklock's laboratory has such a switch, with the records in ZooKeeper: the
engine `cerberus` with `safe`, described in `docs/design/cerberus.md`.)

The other way is to stop: no server asks for a lock until all have been switched.]],
        zh = [[
从 A 换到 B，中间要有一段时间**两把锁都得拿到**。

对每台服务器来说，这段时间从它得知切换开始：除了 B 的锁，它仍然需要 A 的锁，所以 A 的持有者能挡住它。
等**所有**服务器都已得知，而且没有谁还只拿着 A 的锁，这段时间才结束。这一点不能靠猜：
每台服务器都在大家看得到的同一个地方写明自己用的是什么。
（zklock 的实验室里就有这样的切换，记录写在 ZooKeeper 里：引擎 `cerberus` 加上 `safe`，
见 `docs/design/cerberus.md`。）

另一种办法是停下来：所有服务器都切换完之前，谁也不请求锁。]],
    },
    code = [[
-- return heard and { B } or { A }
if not heard then return { A } end
return is_alone_in_use(A) and { A, B } or { B }]],
    same = {
        en = [[
The same sale with `safe = true`. While server 2 still goes by A, server 1 needs both locks, so the
two exclude each other: {second.left} buns are left. In the end both go by B alone.

The price: the sale takes {second.seconds}. Without `safe` it was over after {first.seconds}, as two
buyers were at work at once. And while both engines are needed, the lock fails if either of them
does.]],
        zh = [[
同一场秒杀，加上 `safe = true`。服务器 2 还在用 A 的时候，服务器 1 两把锁都要，两台于是互斥，
剩下 {second.left} 个。最后两台都只用 B。

代价是这场秒杀用了 {second.seconds}；没有 `safe` 时有两个买家同时做事，{first.seconds} 就结束了。
而且在两把锁都要的期间，任何一个引擎出事，锁就用不了。]],
    },
    try = {
        en = "With a real Redis, a real ZooKeeper, and a switch from one to the other in the "
            .. "middle of a sale; the same with `safe`:",
        zh = "用真实的 Redis 和 ZooKeeper，秒杀进行到一半时从一个切换到另一个，再看加上 `safe` 的同一场：",
    },
    command = "make demo-engines DEMO=\"--only DEMO-21\"",
    where = {
        {
            url = "https://github.com/scylladb/scylla-operator/pull/683",
            en = "Scylla Operator 1.4 had another name for its lock than 1.3, so during a rolling "
                .. "upgrade two controllers could lead.",
            zh = "Scylla Operator 1.4 的锁与 1.3 名称不同，滚动升级时可能有两个控制器同时成为领导者。",
        },
        {
            url = "https://github.com/kubernetes/kubernetes/issues/107454",
            en = "Kubernetes moved its leader lock to another kind of object in three versions; "
                .. "the one in the middle takes both locks.",
            zh = "Kubernetes 分三个版本把选主用的锁换成另一种对象，中间那个版本两把锁都要。",
        },
    },
}
