--- Event loops of other libraries, for the specs. Each has a name, its library, and run(fn, ...),
-- which runs the functions as coroutines of the loop until all have ended. Inside run(),
-- sleep(seconds) uses the loop's own timer, and echo(rounds) talks over two sockets.

local core = require "zklock.core"

local Loop = {}
Loop.__index = Loop


-- Starts the functions by start(body), and the loop by go(). Raises the first error of a function.
local function run_all(start, go, ...)
    local problem
    local state = { live = select("#", ...) }
    for _, fn in ipairs{ ... } do
        start(function()
            local ok, why = xpcall(fn, function(why)
                return type(why) == "string" and debug.traceback(why, 2) or why
            end)
            if not ok then problem = problem or why end
            state.live = state.live - 1
        end)
    end
    go(state)
    if problem then error(problem, 0) end
    assert(state.live == 0, "the loop ended before its coroutines")
end


--- Waits inside the loop until condition() returns a true value, 60 s at most.
function Loop:wait_for(what, condition)
    local deadline = core.now() + 60
    while true do
        local result = condition()
        if result then return result end
        if core.now() > deadline then error("waited in vain: " .. what, 2) end
        self.sleep(0.01)
    end
end


--- Collects garbage, also the compiled code of LuaJIT, which refers to functions.
function Loop.collect()
    if jit then jit.flush() end -- luacheck: globals jit
    collectgarbage()
end


--- Returns how many sleeps of 10 ms end in a second while the functions run.
function Loop:ticks_while(...)
    local fns, ticks, live = { ... }, 0, select("#", ...)
    local began = core.now()
    for i, fn in ipairs(fns) do
        fns[i] = function()
            local ok, problem = pcall(fn)
            live = live - 1
            if not ok then error(problem, 0) end
        end
    end
    fns[#fns + 1] = function()
        while live > 0 do
            self.sleep(0.01)
            ticks = ticks + 1
        end
    end
    self.run((table.unpack or unpack)(fns))
    return ticks / (core.now() - began)
end


local loops = {}

function loops.cqueues(cqueues)
    local socket = require "cqueues.socket"
    local self = { sleep = cqueues.sleep }

    function self.run(...)
        local controller = cqueues.new()
        self.controller = controller
        run_all(function(body) controller:wrap(body) end,
                function() assert(controller:loop()) end, ...)
    end

    function self.echo(rounds)
        local here, there = socket.pair()
        cqueues.running():wrap(function()
            for line in there:lines() do there:write(line, "\n") end
        end)
        for n = 1, rounds do
            here:write(n, "\n")
            assert(tonumber(here:read("*l")) == n)
        end
        here:close()
    end

    return self
end


function loops.luv(uv)
    local self = {}

    -- Starts the functions inside the loop, because zklock knows the loop only while it runs.
    function self.run(...)
        local bodies, timer = {}, uv.new_timer()
        timer:start(0, 0, function()
            timer:close()
            for _, body in ipairs(bodies) do coroutine.wrap(body)() end
        end)
        run_all(function(body) bodies[#bodies + 1] = body end,
                function() uv.run() end, ...)
    end

    function self.sleep(seconds)
        local thread, timer = coroutine.running(), uv.new_timer()
        timer:start(math.ceil(seconds * 1000), 0, function()
            timer:close()
            assert(coroutine.resume(thread))
        end)
        coroutine.yield()
    end

    local function pipe(fd, on_read)
        local handle = uv.new_pipe(false)
        handle:open(fd)
        handle:read_start(function(_, data) on_read(handle, data) end)
        return handle
    end

    function self.echo(rounds)
        local fds, thread = uv.socketpair(), coroutine.running()
        pipe(fds[1], function(handle, data)
            if data then handle:write(data) else handle:close() end
        end)
        local here = pipe(fds[2], function(_, data) assert(coroutine.resume(thread, data)) end)
        for n = 1, rounds do
            here:write(("%d\n"):format(n))
            assert(coroutine.yield() == ("%d\n"):format(n))
        end
        here:close()
    end

    return self
end


-- Copas 1.2 has no timers. Its user calls copas.step(timeout), and runs due timers himself.
function loops.copas(copas)
    local socket = require "socket"
    local self, sleepers = {}, {}
    local waker = socket.udp()

    local function wake_sleepers()
        local next_due
        for udp, due in pairs(sleepers) do
            if due <= core.now() then
                waker:sendto("now", udp:getsockname())
                sleepers[udp] = nil
            else
                next_due = math.min(next_due or due, due)
            end
        end
        return next_due and math.max(next_due - core.now(), 0) or 0.5
    end

    function self.sleep(seconds)
        local udp = assert(socket.udp())
        udp:setsockname("127.0.0.1", 0)
        udp:settimeout(0)
        sleepers[udp] = core.now() + seconds
        copas.receivefrom(udp)
        udp:close()
    end

    function self.run(...)
        run_all(copas.addthread, function(state)
            while state.live > 0 do copas.step(wake_sleepers()) end
        end, ...)
    end

    function self.echo(rounds)
        local server = assert(socket.bind("127.0.0.1", 0))
        local host, port = server:getsockname()
        local here = assert(socket.connect(host, port))
        local there = server:accept()
        server:close()
        here:settimeout(0)
        there:settimeout(0)
        copas.addthread(function()
            for line in function() return (copas.receive(there)) end do
                copas.send(there, line .. "\n")
            end
            there:close()
        end)
        for n = 1, rounds do
            copas.send(here, n .. "\n")
            assert(tonumber((copas.receive(here))) == n)
        end
        here:close()
    end

    return self
end


return function(name)
    local library = require(name)
    local self = setmetatable(loops[name](library), Loop)
    self.name, self.library = name, library
    return self
end
