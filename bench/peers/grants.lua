--- Rows of grants: sessions whose waiters are served in order, once or again and again.

local rounds = require "bench.contended.rounds"
local serve = require "bench.contended.serve"

local grants = {}


function grants.warm(world, row)
    for _, contender in ipairs(world:able("line")) do serve(world, contender, row, 0) end
end


function grants.measure(world, row)
    local list = world:able("line")
    local figures = rounds.run(world.options, list, function(contender)
        return serve(world, contender, row, row.delay)
    end)
    return world:result(row, "grants", list, figures)
end


return grants
