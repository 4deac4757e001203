--- SIM-01: a small sale in virtual time, under a thousand schedules with faults: without a lock,
--- with a lock that is released before the commit, and with zklock. How many go wrong?

local seckill = require "zklock.seckill"


local SEEDS = 1000


local schedules = {}


-- How many of the schedules sell two pieces, or none, where there is one.
local function wrong(more)
    local options = { buyers = 2, servers = 2, products = { bun = 1 }, quiet = true }
    for name, value in pairs(more) do options[name] = value end
    return assert(seckill.explore(options, { seeds = SEEDS })).wrong
end


local function play()
    local none = wrong{ strategy = "none" }
    local early = wrong{ purchase = "release_then_commit", fenced = false }
    local zklock = wrong{ purchase = "commit_then_release" }
    return {
        right = none > 0 and early > 0 and zklock == 0,
        finding = ("no lock %d, early %d, zklock %d"):format(none, early, zklock),
    }
end


schedules.scenarios = {
    {
        id = "SIM-01", title = "how many of 1000 schedules go wrong",
        expect = "right", play = play,
        explanation = "A seed chooses who goes on, and who is stopped, killed or cut off: a lock "
            .. "that is released too early fails in some schedules.",
    },
}


return schedules
