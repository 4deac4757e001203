--- SIM-01: a small sale in virtual time, under a thousand schedules with faults: without a lock,
--- with a lock that is released before the commit, and with zklock. How many go wrong?

local seckill = require "zklock.seckill"


local SEEDS = 1000


local schedules = {}


local function explore(more)
    local options = { buyers = 2, servers = 2, products = { bun = 1 }, quiet = true }
    for name, value in pairs(more) do options[name] = value end
    return assert(seckill.explore(options, { seeds = SEEDS }))
end


local function play()
    local none = explore{ strategy = "none" }
    local early = explore{ purchase = "release_then_commit", fenced = false }
    local zklock = explore{ purchase = "commit_then_release" }
    return {
        right = none.wrong > 0 and early.wrong > 0 and zklock.wrong == 0 and zklock.sold > 0,
        finding = ("no lock %d, early %d, zklock %d"):format(none.wrong, early.wrong,
            zklock.wrong),
    }
end


schedules.scenarios = {
    {
        id = "SIM-01", title = "how many of 1000 schedules go wrong",
        expect = "right", play = play,
        explanation = "A seed chooses which process goes on, is stopped, killed or cut off: a "
            .. "lock that is released too early fails in some schedules.",
    },
}


return schedules
