--- apart(fn) runs fn() while nothing is dispatched to the caller. In a world of virtual time fn()
-- runs in a process of its own. The caller's process pauses meanwhile, and gets the news of that
-- time at its next wait. Outside a world, apart(fn) only calls fn().

local current = require "zklock.world.current"


local function go_on(world, process)
    local unheard = process.unheard
    for _, entry in ipairs(process.delayed) do world:add(entry) end
    process.delayed, process.unheard = {}, {}
    world:at(world:now(), function()
        for _, session in ipairs(unheard) do process:hear(session, world:now()) end
    end)
end


return function(fn)
    local world, process = current.world(), current.process()
    if not world then return fn() end
    local pause, ok, problem = world:new_pause(), nil, nil
    process.stopped = true
    world:process("apart " .. #world.processes, function() -- busted loads each file's modules anew
        ok, problem = pcall(fn)
        process.stopped = false
        world:wake(pause)
    end)
    pause:wait_and_close()
    go_on(world, process)
    if not ok then error(problem, 0) end
end
