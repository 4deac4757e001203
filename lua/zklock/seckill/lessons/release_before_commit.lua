--- Lesson: the lock is inside the transaction, and is released before the commit.

local function run(purchase)
    return {
        buyers = 4, servers = 2, products = { bun = 10 }, strategy = "zookeeper",
        purchase = purchase, fenced = false, simulated = true, seed = 1,
    }
end

return {
    searched = true,
    runs = { first = run "release_then_commit", second = run "commit_then_release" },
    commits = true,
    modules = {}, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 4 },
        second = { verdict = "right", sold = 4, left = 6 },
    },
    predicted = function(facts) return facts.first.overlap == 0 and facts.first.verdict end,
    values = { "right", "wrong", "conflict" },
    code = [[
lock:acquire()
begin()                        -- was before the lock
local stock = read_stock()
write_stock(stock - 1)
commit()                       -- was after the release
lock:release()]],
    command = "make demo DEMO=\"--only DEMO-06\"",
}
