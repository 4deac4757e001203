--- Lesson: two servers with a lock each.

local function run(strategy)
    return {
        buyers = 6, servers = 2, products = { bun = 3 }, strategy = strategy,
        simulated = true, seed = 1,
    }
end

return {
    searched = true,
    runs = { first = run "local", second = run "zookeeper" },
    modules = {}, tokens = false,
    expect = {
        first = { verdict = "wrong", sold = 6, left = 0 },
        second = { verdict = "right", sold = 3, left = 0, refused = 3 },
    },
    predicted = function(facts) return facts.first.sold end,
    values = { 3, 4, 6 },
    code = [[
-- local lock = the_process.lock
local session = zklock.connect "zk1:2181,zk2:2181,zk3:2181"
local lock = session:mutex "/lock/bun"]],
    command = "make demo DEMO=\"--strategy local,zookeeper --servers 2 --buyers 6 "
        .. "--products bun=3 --report sale.html\"",
}
