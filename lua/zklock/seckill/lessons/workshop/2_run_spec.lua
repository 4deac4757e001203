--- The check of exercise 2.
---
---     lua5.4 "$(command -v busted)" lua/zklock/seckill/lessons/workshop/2_run_spec.lua

local shop = require "zklock.seckill.lessons.workshop.shop"

local PLAIN = shop.purchase "plain"

describe("2_run.lua", function()
    local answers = dofile(shop.file "2_run")

    local function answer(name)
        return assert(answers[name], ("2_run.lua lacks an answer: `%s` is still nil"):format(name))
    end

    local found = shop.explore(PLAIN, shop.with(shop.ONE_BUN, { seeds = 100 }))
    local story = found.first.story

    it("says how many schedules are wrong", function()
        assert(answer "wrong" == found.wrong,
            "`wrong` is another number: it stands in the first line that schedules.lua prints")
    end)

    it("says which server wrote last", function()
        local last = tonumber(story:match ".*server (%d) +writes")
        assert(answer "last" == last,
            "`last` is the other server: look for the last line with \"writes\" in the story")
    end)

    it("has a seed whose schedule is right", function()
        local _, problem = shop.play(PLAIN, shop.with(shop.ONE_BUN, { seed = answer "right" }))
        assert(not problem, ("`right`: the schedule of seed %s is %s"):format(
            tostring(answers.right), tostring(problem)))
    end)

    it("says how long a server takes from its read to its write", function()
        assert(math.abs(answer "gap" - 0.51) < 0.001, "`gap` is another time: subtract the time "
            .. "of \"reads\" from that of \"writes\" of the same server")
    end)
end)
