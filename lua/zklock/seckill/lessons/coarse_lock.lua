--- Lesson: one lock for all products, where each product could have its own.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"


local function run(lock)
    return {
        buyers = 9, servers = 3, products = { bun = 10, pie = 10, tea = 10 },
        strategy = "zookeeper", lock = lock, pause = 0.2, simulated = true, seed = 1,
    }
end


-- A row for each buyer, with its product in the bar.
local function rows(sale)
    local list = {}
    for i, purchase in ipairs(sale.purchases) do
        list[i] = setmetatable({ text = purchase.product }, { __index = purchase })
    end
    return list
end


local function longest_waiter(sale)
    local found = sale.rows[1]
    for _, row in ipairs(sale.rows) do
        if buyers.waited(row) > buyers.waited(found) then found = row end
    end
    return found
end


-- Those that had its lock before it, and wanted another product.
local function strangers_before(sale, waiter)
    local list = {}
    for _, row in ipairs(sale.rows) do
        local is_before = row.lock == waiter.lock and row.granted < waiter.granted
        if is_before and row.product ~= waiter.product then list[#list + 1] = row end
    end
    return list
end


-- For whom the one that waited longest waited without need.
local function steps_of(sale)
    local waiter = longest_waiter(sale)
    local strangers = strangers_before(sale, waiter)
    if not strangers[1] then return {} end
    local list = {
        { at = waiter.asked, what = "comes_for", count = waiter.product, purchase = waiter },
        { at = waiter.granted, what = "granted", purchase = waiter },
    }
    for _, row in ipairs(strangers) do
        list[#list + 1] = {
            at = row.granted, what = "buys_other", count = row.product, purchase = row,
        }
    end
    return steps.sorted(list)
end


return {
    title = { en = "One lock for all", zh = "一把锁管所有" },
    ask = {
        en = "Nine buyers want three products, and the shop has one lock. How long does the last "
            .. "one wait?",
        zh = "九个买家要三种商品，商店只有一把锁。最后一个等多久？",
    },
    runs = { first = run "one", second = run "product" },
    modules = {},
    expect = {
        first = { verdict = "right", sold = 9, left = 21 },
        second = { verdict = "right", sold = 9, left = 21 },
    },
    predicted = function(facts) -- in tenths of a second
        return math.floor(10 * buyers.waited(longest_waiter(facts.first)) + 0.5)
    end,
    facts = function(facts)
        local waiter = longest_waiter(facts.first)
        return { last = waiter, strangers = #strangers_before(facts.first, waiter) }
    end,
    rows = rows, steps = steps_of,
    column = {
        en = "wants", zh = "要买",
        of = function(row) return row.product end,
    },

    question = {
        en = [[
The shop sells buns, pies and tea, and has plenty of each. {first.buyers} buyers come at once, three
for each product. A purchase takes 0.2 s. When the shop had one product, it got one lock,
`/lock/all`, and everybody acquires it.

**How long does the last buyer wait for the lock?**]],
        zh = [[
商店卖包子（bun）、馅饼（pie）和茶（tea），样样充足。{first.buyers} 个买家同时到来，每种商品各有三个人要。
买一次要 0.2 秒。当初商店只有一种商品，所以只有一把锁 `/lock/all`，大家获取的都是这一把。

**最后一个买家等锁等多久？**]],
    },
    answers = {
        {
            value = 4,
            en = { "0.4 s: two others want the same product", "The lock does not know what they "
                .. "want. To it a buyer of tea and a buyer of pies ask for the same thing." },
            zh = { "0.4 秒：要同样商品的还有两个", "锁不知道他们要什么。在它看来，买茶的和买馅饼的要的是同一样东西。" },
        },
        {
            value = 16,
            en = { "1.6 s: eight others come first", "{strangers} of the eight wanted something "
                .. "else, and could not have done any harm." },
            zh = { "1.6 秒：前面有八个人", "这八个人里有 {strangers} 个要的是别的东西，一起买也不会有什么害处。" },
        },
        {
            value = "servers",
            en = { "0.4 s: three servers sell at once, so the third round begins then", "With a "
                .. "lock in each server, yes; and with [oversells](lock-in-one-server.html). This "
                .. "lock is for all servers." },
            zh = { "0.4 秒：三台服务器同时卖，那时轮到第三轮", "每台服务器各有一把锁才会这样，那样就会"
                .. "[超卖](lock-in-one-server.html)。这把锁是所有服务器共用的。" },
        },
    },
    run = {
        en = [[
The word in a bar is what the buyer wants. There is one bar at any moment: more servers would not
sell more per second.]],
        zh = [[
横条里的词是买家要的东西。任何时刻都只有一根横条：再添服务器，每秒也不会多卖出一个。]],
    },
    cause = {
        en = [[
Buyer {last.buyer} wants {last.product}. The first step below and the last one are its own; the
{strangers} between them are purchases of something else, for which it waits all the same. All that
one lock covers happens one after the other, whether it has to or not.

All of it also stands still together: while the holder is slow, or [is
stopped](paused-holder.html), or [is dead](killed-holder.html) and still has its session, nobody
buys anything.]],
        zh = [[
买家 {last.buyer} 要的是 {last.product}。下面的步骤中，第一步和最后一步是它自己的；中间的 {strangers} 步
是别人在买别的东西，它却也得等。一把锁管着的事，不论有没有必要，都只能一件一件来。

要停也一起停：只要持有者变慢、[卡住](paused-holder.html)，或者[进程已死](killed-holder.html)而会话还没过期，
谁都买不了任何东西。]],
    },
    mend = {
        en = [[
Name the lock after what must not change meanwhile: here the stock of one product. There may be a
million such locks: one that nobody wants costs next to nothing.

How fine? A lock has to cover all that one decision reads and writes. If a coupon may be used once
in the whole shop, the product's lock does not protect it: the coupon needs a lock of its own. Then
a buyer needs two locks at once, and can meet another one who takes them in the opposite order: see
[the lesson on deadlock](deadlock.html).]],
        zh = [[
持有锁期间不许别人改什么，就按什么来命名：在这里，是一种商品的库存。这样的锁有一百万把也没关系：没有人要的锁几乎不花代价。

要细到什么程度？一次决策要读写的所有东西，都得在同一把锁的保护之下。如果一张优惠券在整个商店只能用一次，商品的锁保护不了它：
它需要自己的锁。这样一来，一个买家要同时拿两把锁，就可能碰上按相反顺序拿锁的人：见讲[死锁](deadlock.html)的那一课。]],
    },
    code = [[
-- session:mutex "/lock/all"
session:mutex("/lock/" .. product)]],
    same = {
        en = [[
The same sale with a lock for each product. Three buyers buy at any moment, one of each product. The
longest wait is {second.longest} instead of {first.longest}, and all is over after {second.seconds}
instead of {first.seconds}.]],
        zh = [[
同一场秒杀，每种商品一把锁。任何时刻都有三个人在买，每样一个。最长的等待是 {second.longest}，而不是 {first.longest}；
一共用了 {second.seconds}，而不是 {first.seconds}。]],
    },
    try = {
        en = "Let all of them want the same product (`product = \"bun\"`): what does the finer "
            .. "lock gain then? The next lesson is about that.",
        zh = "让大家都要同一种商品（`product = \"bun\"`）：更细的锁这时还有什么用？下一课就讲这个。",
    },
    where = {
        {
            url = "https://github.com/interuss/dss/issues/1512",
            en = "A service in which drones announce their flights: a flight in Seattle waited "
                .. "for one in Miami, as one lock covered the whole country.",
            zh = "一个登记无人机飞行计划的服务：一把锁管着全国，西雅图的飞行要等迈阿密的。",
        },
        {
            url = "https://github.com/runatlantis/atlantis/pull/6086",
            en = "Atlantis: projects in one folder excluded each other until the name of the "
                .. "project became a part of the lock's.",
            zh = "Atlantis：同一目录下的项目会互斥，后来锁名里加上了项目名才好。",
        },
        {
            url = "https://kernelnewbies.org/Linux_2_6_37",
            en = "Linux 2.0 of 1996 had one lock for the whole kernel when it came to run on "
                .. "several processors. A kernel without it could be built in 2011.",
            zh = "1996 年的 Linux 2.0 开始支持多处理器，整个内核只有一把锁。直到 2011 年才能编译出不带这把锁的内核。",
        },
    },
}
