--- Lesson: a lock ends at a time, and the clock of a machine jumps.

local buyers = require "zklock.seckill.lessons.site.buyers"
local steps = require "zklock.seckill.lessons.site.steps"

local LEASE, JUMP = 30, { server = 3, at = 0.2, by = 60 }


local function run(counted)
    return {
        buyers = 3, servers = 3, products = { bun = 10 },
        strategy = "zklock.seckill.lessons.dated_lock",
        parameters = { lease = LEASE, jump = JUMP, counted = counted }, pause = 0.5,
        simulated = true, seed = 1,
    }
end


local function spans()
    return {
        { server = JUMP.server, at = 0, ended = JUMP.at,
          text = { en = "clock right", zh = "时钟准确" } },
        { server = JUMP.server, at = JUMP.at,
          text = { en = ("clock %d s ahead"):format(JUMP.by),
                   zh = ("时钟快 %d 秒"):format(JUMP.by) } },
    }
end


-- The usual steps, with the clock's jump and the grant by the wrong clock.
local function steps_of(sale)
    local list, first = {
        { at = JUMP.at, server = JUMP.server, detail = JUMP.by,
          text = { en = "its clock jumps %d s ahead", zh = "时钟向前跳了 %d 秒" } },
    }, buyers.granted(sale.purchases)[1].granted
    for _, purchase in ipairs(sale.verdict == "wrong" and sale.purchases or {}) do
        if purchase.server == JUMP.server then
            local clock, ends = purchase.granted + JUMP.by, first + LEASE
            list[#list + 1] = { at = purchase.granted, purchase = purchase, text = {
                en = ("takes the lock: it ends at %.1f, and this clock says %.1f")
                    :format(ends, clock),
                zh = ("拿走锁：锁到 %.1f 到期，而这里的时钟显示 %.1f"):format(ends, clock),
            } }
        end
    end
    for _, step in ipairs(steps.of(sale)) do list[#list + 1] = step end
    return steps.sorted(list)
end


return {
    searched = true,
    runs = { first = run(), second = run(true) },
    modules = { first = { "dated_lock" } },
    expect = {
        first = { verdict = "wrong", sold = 3, left = 8 },
        second = { verdict = "right", sold = 3, left = 7 },
    },
    predicted = function(facts) return facts.first.left end,
    spans = spans, steps = steps_of,
    facts = function()
        return { lease = LEASE, by = JUMP.by, jumper = JUMP.server, longest = LEASE + JUMP.by }
    end,
    values = { 7, 8, 9, "error" },
    code = [[
-- INSERT INTO lock (name, owner, locked_until) VALUES ('bun', :me, :my_time + 30), or
-- UPDATE lock SET owner = :me, locked_until = :my_time + 30
--     WHERE name = 'bun' AND locked_until < :my_time
local session = zklock.connect("zk1,zk2,zk3", { timeout = 30 })    -- ZooKeeper counts the seconds
session:mutex("/lock/bun"):acquire()]],
    command = "make demo-engines DEMO=\"--only DEMO-20\"",
}
