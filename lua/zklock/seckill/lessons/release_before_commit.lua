--- Lesson: the lock is inside the transaction, and is released before the commit.

local function run(purchase)
    return {
        buyers = 4, servers = 2, products = { bun = 10 }, strategy = "zookeeper",
        purchase = purchase, fenced = false, simulated = true, seed = 1,
    }
end

return {
    title = { en = "Release before commit", zh = "先释放，后提交" },
    ask = {
        en = "All servers share a lock, and it is released a moment before the commit. Is that "
            .. "near enough?",
        zh = "所有服务器共用一把锁，只是在提交之前一点点就释放了。这样行吗？",
    },
    runs = { first = run "release_then_commit", second = run "commit_then_release" },
    commits = true,
    modules = {}, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 4 },
        second = { verdict = "right", sold = 4, left = 6 },
    },
    predicted = function(facts) return facts.first.overlap == 0 and facts.first.verdict end,

    question = {
        en = [[
Now all servers share a lock in ZooKeeper. The shop writes stock and order in a transaction, as it
should. The function that sells is wrapped: the framework begins a transaction before it, and
commits after it has returned. Inside, the function takes the lock, reads, writes, and releases the
lock.

**No two buyers ever hold the lock at once. Is the stock right at the end?**]],
        zh = [[
现在所有服务器共用 ZooKeeper 里的一把锁。商店按规矩在一个事务里写库存和订单。卖货的函数外面包着一层：
框架在它之前开始事务，等它返回之后才提交。函数里面先获取锁，读，写，再释放锁。

**任何时候都没有两个买家同时持有锁。最后库存对吗？**]],
    },
    answers = {
        {
            value = "right",
            en = { "Yes: the lock has one holder at a time", "It has. But what the next holder "
                .. "reads is what has been committed, and the commit comes after the release." },
            zh = { "对：锁同一时刻只有一个持有者", "确实只有一个。可是下一个持有者读到的是已经提交的内容，"
                .. "而提交在释放之后。" },
        },
        {
            value = "wrong",
            en = { "No", "{first.sold} were sold of {first.stock}, and {first.left} are left. "
                .. "Nothing in the picture is red: the lock was never held twice. It just did "
                .. "not protect the commit." },
            zh = { "不对", "{first.stock} 个卖出 {first.sold} 个，却还剩 {first.left} 个。图里没有一处是红的："
                .. "锁从来没有被同时持有过，只是没有护住提交。" },
        },
        {
            value = "conflict",
            en = { "The database makes the second transaction wait, so yes", "It makes its write "
                .. "wait. The second buyer had read before that, and writes what it worked out "
                .. "from the old stock." },
            zh = { "数据库会让第二个事务等待，所以对", "等待的是它的写入。第二个买家在那之前就读过了，"
                .. "写下的是从旧库存算出来的结果。" },
        },
    },
    run = {
        en = [[
Each bar is a hold of the lock, and no two of them overlap. The double line after it is the time
until the transaction commits, which is when the stock changes. The first bar is very short. The
others are longer because a row has one writer at a time: their write waits for the commit of the
transaction before. (The store of this run looks for that less and less often, and sees it late.)]],
        zh = [[
每根横条是一次持锁，互不重叠。后面的双线画到事务提交为止，库存到那时才变。第一根横条很短，
其余的较长，因为一行同时只能有一个写者：它们的写入要等前一个事务提交。
（这次运行的存储去看的间隔越来越长，所以看到得晚一些。）]],
    },
    cause = {
        en = [[
Until a transaction commits, others see the old stock. Between the release and the commit the next
buyer got the lock and read. Its write waited for the commit, and then undid the other's.]],
        zh = [[
事务提交之前，别人看到的是旧库存。在释放与提交之间，下一个买家得到了锁，并且读了库存。
它的写入等到那次提交之后，盖掉了刚提交的结果。]],
    },
    mend = {
        en = [[
The lock has to be around the transaction, not in it: release after the commit. In Spring the lock
belongs outside of the method that is `@Transactional`.

The transaction has to begin inside the lock, too. Under `REPEATABLE READ` its first read fixes what
it sees, and that must not be older than the lock.]],
        zh = [[
锁要包住事务，而不是放在事务里：提交之后再释放。在 Spring 中，锁要加在 `@Transactional` 方法的外面。

事务也要在得到锁之后才开始。在 `REPEATABLE READ` 级别下，事务的第一次读决定了它看到的快照，
快照不能比锁还早。]],
    },
    code = [[
lock:acquire()
begin()                        -- was before the lock
local stock = read_stock()
write_stock(stock - 1)
commit()                       -- was after the release
lock:release()]],
    same = {
        en = [[
The same sale, with the transaction inside the lock. Each bar ends with the commit, so the next
buyer reads the new stock, and no write waits for another: {second.left} are left. It costs no time
here: the longest wait for the lock was {first.longest}, and is {second.longest}.]],
        zh = [[
同一场秒杀，事务放在锁里面。横条到提交为止，下一个买家读到的是新库存，写入也不必再等别的写入：
剩下 {second.left} 个。这里并没有多花时间：等锁最久的原来是 {first.longest}，现在是 {second.longest}。]],
    },
    try = {
        en = [[
`fenced = false` turns off [tokens](token.html), which would hide this mistake: to show a token is a
write, so it waits for the commit of the transaction before. With real processes:]],
        zh = [[
`fenced = false` 关掉了[令牌](token.html)，因为它会掩盖这个错误：出示令牌也是一次写入，
要等前一个事务提交。用真实的进程：]],
    },
    command = "make demo DEMO=\"--only DEMO-06\"",
    where = {
        {
            url = "https://github.com/redisson/redisson/issues/2183",
            en = "A user of Redisson shows by log lines that most tutorials unlock inside a "
                .. "`@Transactional` method, before the commit.",
            zh = "一位 Redisson 用户用日志说明：多数教程都在 `@Transactional` 方法里解锁，也就是在提交之前。",
        },
        {
            url = "https://github.com/SandeepVashishtha/Eventra/issues/18520",
            en = "A ticket shop released its lock in `finally`, before the transaction around the "
                .. "method had committed.",
            zh = "一个售票系统在 `finally` 里释放锁，这时外层的事务还没有提交。",
        },
    },
}
