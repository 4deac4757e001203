--- Lesson: a lock without a queue, where those that have waited long ask seldom.

local buyers = require "zklock.seckill.lessons.site.buyers"
local seckill = require "zklock.seckill"
local steps = require "zklock.seckill.lessons.site.steps"
local times = require "zklock.seckill.lessons.site.times"

local GAP, WORK = 0.09, 0.16 -- seconds: from one buyer to the next, and of a purchase
local SEEDS = 40

local function run(strategy)
    return {
        buyers = 8, servers = 8, products = { bun = 7 }, strategy = strategy,
        purchase = "zklock.seckill.lessons.comes_later", parameters = { gap = GAP }, pause = WORK,
        simulated = true, seed = 1,
    }
end


-- Those that asked later than a buyer and had the lock earlier.
local function overtakers(purchases, buyer)
    local list = {}
    for _, each in ipairs(purchases) do
        if each.asked > buyer.asked and each.granted < buyer.granted then list[#list + 1] = each end
    end
    return list
end


-- The one that was overtaken most often.
local function most_overtaken(sale)
    local found, by = nil, {}
    for _, each in ipairs(sale.rows) do
        local others = overtakers(sale.rows, each)
        if #others > #by then found, by = each, others end
    end
    return found, by
end


local function refused(sale)
    for _, each in ipairs(sale.purchases) do
        if each.outcome == "refused" then return each.buyer end
    end
end


-- The sleeps of a buyer, as it has noted them.
local function sleeps_of(sale, buyer)
    local list = {}
    for _, note in ipairs(sale.notes) do
        local seconds = tonumber(note.line:match "^asked in vain, sleeps (%S+) s$")
        if seconds and note.buyer == buyer then
            list[#list + 1] = { at = note.at, ended = note.at + seconds, seconds = seconds }
        end
    end
    return list
end


-- The sleeps of the one that was overtaken most often; a text where there is room.
local function spans(sale)
    local waiter, list = most_overtaken(sale), {}
    for i, each in ipairs(waiter and sleeps_of(sale, waiter.buyer) or {}) do
        local text = each.seconds < 0.2 and "" or ("%g"):format(each.seconds)
        list[i] = {
            server = waiter.server, at = each.at, ended = each.ended,
            text = { en = text, zh = text },
        }
    end
    return list
end


-- What happened while the one that was overtaken most often waited.
local function steps_of(sale)
    local waiter, by = most_overtaken(sale)
    if not waiter then return {} end
    local list = { { at = waiter.asked, what = "comes", purchase = waiter } }
    for _, each in ipairs(by) do
        list[#list + 1] = {
            at = each.granted, what = "overtakes", count = waiter.buyer, purchase = each,
        }
    end
    local sleeps = sleeps_of(sale, waiter.buyer)
    local last = sleeps[#sleeps]
    list[#list + 1] = { at = last.at, purchase = waiter, text = {
        en = ("asks in vain, and sleeps %g s"):format(last.seconds),
        zh = ("又没问到，睡 %g 秒"):format(last.seconds),
    } }
    list[#list + 1] = { at = waiter.granted, what = "comes_too_late", purchase = waiter }
    return steps.sorted(list)
end


-- In how many runs of other seeds the same buyer gets no bun.
local function same_with_other_seeds(buyer)
    local same, options = 0, run "zklock.seckill.lessons.polled_lock"
    for seed = 1, SEEDS do
        options.seed = seed
        if refused(assert(seckill.sale(options))) == buyer then same = same + 1 end
    end
    return same
end


-- For how long nobody had the lock until all were done, and the longest time between two holds.
local function pauses_of(sale)
    local holders, idle, longest = buyers.granted(sale.purchases), 0, 0
    for i = 2, #holders do
        local pause = holders[i].granted - holders[i - 1].released
        idle, longest = idle + pause, math.max(longest, pause)
    end
    return times.duration(idle), times.duration(longest)
end


return {
    title = { en = "First come, first served?", zh = "先来就先得吗" },
    ask = {
        en = "Eight buyers come one after the other for seven buns, and each asks for the lock "
            .. "until it has it. Who gets no bun?",
        zh = "八个买家先后来买七个包子，每个都反复请求锁，直到得到为止。谁买不到？",
    },
    runs = { first = run "zklock.seckill.lessons.polled_lock", second = run "zookeeper" },
    modules = { first = { "comes_later", "polled_lock" } },
    expect = {
        first = { verdict = "right", sold = 7, left = 0, refused = 1 },
        second = { verdict = "right", sold = 7, left = 0, refused = 1 },
    },
    predicted = function(facts) return facts.without.first end,
    facts = function(facts)
        local waiter, others = most_overtaken(facts.first)
        local sleeps, without = sleeps_of(facts.first, waiter.buyer), refused(facts.first)
        local idle = pauses_of(facts.first)
        local _, handover = pauses_of(facts.second)
        return {
            gap = GAP, work = WORK, idle = idle, handover = handover,
            without = { first = without, second = refused(facts.second) },
            overtakes = #others, vain = #sleeps, longest = sleeps[#sleeps].seconds,
            seeds = SEEDS, same = same_with_other_seeds(without),
        }
    end,
    spans = spans, steps = steps_of,
    column = {
        en = "overtaken by", zh = "被几人抢先",
        of = function(purchase, sale) return #overtakers(sale.purchases, purchase) end,
    },

    question = {
        en = [[
A purchase takes {work} s, and a buyer comes every {gap} s: buyer 1, then buyer 2, and so on to
buyer {first.buyers}. There are {first.stock} buns, so one buyer will read "sold out".

The lock is a key in Redis or a row in a table. It never has two holders, but it has no queue: a
buyer who does not get it sleeps and asks again. So that the server is not asked too often, each
sleep is twice as long as the one before it: 0.05 s, 0.1 s, 0.2 s, …

**Which buyer gets no bun?**]],
        zh = [[
买一次要 {work} 秒，而每 {gap} 秒就来一个买家：先是买家 1，再是买家 2，直到买家 {first.buyers}。
包子有 {first.stock} 个，所以总有一个买家会读到“售罄”。

锁是 Redis 里的一个键，或者表里的一行。
它绝不会同时有两个持有者，只是没有队列：没得到锁的买家睡一会儿再问。为了不把服务器问得太勤，
每次都睡得比上次长一倍：0.05 秒、0.1 秒、0.2 秒……

**哪个买家买不到？**]],
    },
    answers = {
        {
            value = 8,
            en = { "Buyer 8, who came last", "That would be fair. But nobody notes down who came "
                .. "first: the lock goes to whoever asks first after a release." },
            zh = { "买家 8：它来得最晚", "这样才公平。可是没有谁记下先来后到：释放之后，谁先问到，锁就是谁的。" },
        },
        {
            value = 2,
            en = { "Buyer 2, who came second", "It asked {vain} times in vain, each time "
                .. "while another buyer had the lock, and slept longer after each time. "
                .. "{overtakes} buyers who came later asked when the lock was free. When it had "
                .. "the lock at last the shelf was empty." },
            zh = { "买家 2：它是第二个来的", "它问了 {vain} 次，每次锁都在别人手里，而且每问一次睡得更久。"
                .. "后来的 {overtakes} 个买家问的时候，锁恰好空着。等它终于得到锁，架子已经空了。" },
        },
        {
            value = "chance",
            en = { "Any one: the lock is a lottery", "No two buyers ask at the same moment here, "
                .. "so nothing is left to chance: the buyer is the same in {same} of {seeds} runs "
                .. "with other seeds. A lottery would be fairer. Buyers who have just come ask "
                .. "often, and buyers who have waited long ask seldom." },
            zh = { "都有可能：这是抽签", "这里没有两个买家在同一刻去问，所以没有碰运气的余地：换 {seeds} 个种子，"
                .. "{same} 次都是同一个买家。抽签倒还公平些：在这里，刚来的问得勤，等得久的问得少。" },
        },
    },
    run = {
        en = [[
Each server has one buyer, and the buyers are in the order in which they came. Above buyer
{without.first} you see its sleeps, in seconds; it asks at the end of each. The column "overtaken
by" of the table counts the buyers who came later and had the lock earlier.]],
        zh = [[
每台服务器有一个买家，从上到下就是到来的顺序。买家 {without.first} 的上方是它每次睡的秒数，睡完就问一次。
表中“被几人抢先”一列，是来得更晚却更早得到锁的人数。]],
    },
    cause = {
        en = [[
A lock without a queue goes to the buyer who asks at the right moment. Newcomers ask at once, and
again soon. A buyer who has asked {vain} times in vain sleeps for {longest} s, while the lock
changes hands several times. If buyers kept coming, it could wait for ever: it would **starve**. Its
log would say "timeout", as if the lock had been held all the time.

Note also the gaps between the bars, {idle} in all: the lock is free, buyers wait, and all of them
sleep.]],
        zh = [[
没有队列的锁，归恰好问到的那一个。新来的马上就问，很快又问；白问了 {vain} 次的买家却要睡 {longest} 秒，
这期间锁已经换了好几次手。要是一直有人来，它可能永远等下去，这叫**饥饿**。日志里只会写“超时”，好像锁一直被占着。

再看横条之间的空隙，一共 {idle}：锁空着，有人在等，而等的人都在睡。]],
    },
    mend = {
        en = [[
Use a lock that has a queue: newcomers go to its end, and a release wakes the waiter at the front.
zklock's locks do that unless you ask for `order = "none"`; Redisson has `getFairLock`.

Order of arrival has a price. The lock goes to the waiter at the front. If that waiter is slow to
wake up, the lock is idle, although others could use it. Threads of one process lose so much time
like that that most mutexes inside a process are unfair on purpose. Between servers the next buyer
has to hear of the release first: here that takes {handover} at most. The command below compares a
queue with a lock without one in real processes.]],
        zh = [[
换一把有队列的锁：新来的排到队尾，释放时叫醒队首。zklock 的锁都是这样，除非你指定 `order = "none"`；
Redisson 有 `getFairLock`。

按先来后到是有代价的：锁一定交给队首，哪怕它醒得慢，这段时间锁就闲着，别人也不能用。在一个进程的线程之间，
这个代价很大，所以进程内的互斥锁多数有意做成不公平的。在服务器之间，下一个买家要先得知锁已释放：这里最多
{handover}。下面的命令用真实的进程，比较有队列和没有队列的锁。]],
    },
    code = [[
-- while not redis:set(key, me, "NX") do sleep(pause); pause = 2 * pause end
session:mutex("/lock/bun"):acquire(10)   -- waits in a queue, 10 s at most]],
    same = {
        en = [[
The same sale with a queue in ZooKeeper. Nobody is overtaken, and it is buyer {without.second} who
comes too late. The sale is over after {second.seconds} instead of {first.seconds}, since the next
buyer begins when the one before it is done.]],
        zh = [[
同一场秒杀，在 ZooKeeper 中排队。谁也没有被抢先，买不到的是买家 {without.second}。前一个做完，下一个马上开始，
所以一共只用了 {second.seconds}，而不是 {first.seconds}。]],
    },
    try = {
        en = "Take the strategy `zookeeper-none`, which is the herd of the lesson before, change "
            .. "`pause` and `gap`, and count again. With real processes, compare the grants per "
            .. "second and the longest waits:",
        zh = "把策略换成 `zookeeper-none`（上一课的羊群），改一改 `pause` 和 `gap`，再数一遍。"
            .. "再用真实的进程，比较每秒获取锁的次数和最长的等待：",
    },
    command = "make demo DEMO=\"--strategy zookeeper,zookeeper-none --servers 8 --buyers 200 "
        .. "--pause 0.002 --report sale.html\"",
    where = {
        {
            url = "https://github.com/golang/go/issues/13086",
            en = "Go's `sync.Mutex`: a goroutine that wants the lock for a moment hardly gets it "
                .. "while another one takes it again and again. Since Go 1.9 a waiter of more than "
                .. "a millisecond gets it first.",
            zh = "Go 的 `sync.Mutex`：一个 goroutine 反复占用锁，另一个只想用一下却很难得到。从 Go 1.9 起，"
                .. "等待超过一毫秒的优先得到。",
        },
        {
            url = "https://github.com/matrixorigin/matrixone/issues/10283",
            en = "MatrixOne: in a benchmark a transaction could lose a lock to others many times "
                .. "in a row; waiters came to have a queue.",
            zh = "MatrixOne：在基准测试中，一个事务可能一连多次抢不到锁；后来等待者有了队列。",
        },
        {
            url = "https://github.com/evrblk/grackle/issues/1",
            en = "A lock service whose waiters poll with growing pauses, and its author's plan to "
                .. "give it a queue.",
            zh = "一个锁服务，等待者以越来越长的间隔轮询；作者打算给它加上队列。",
        },
    },
}
