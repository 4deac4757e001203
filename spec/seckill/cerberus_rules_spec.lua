--- [lua luajit] The rules of cerberus' switch alone, in every order in which two processes join,
--- take engines, hold, release, are stopped, wake and die, while the switch is set and epochs
--- follow. The engine's own rules.lua chooses the next epoch; a minimal model does the rest
--- (PIT-21, Q-08). spec/seckill/cerberus_model_spec.lua tests the code that carries the rules out.

local rules = require "zklock.seckill.engine.cerberus.rules"

local ORDER = { "A", "B" }
local VALUES = { "A", "B", "" }
local WISHES = 3 -- most changes of the switch


-- A state has the epoch, the switch, and for each process its epoch, its engines, and whether it
-- holds the lock. A stopped process has no session; its registration and its locks stay until their
-- life has passed.
local function copy_of(state)
    local new = { epoch = state.epoch, wish = state.wish }
    for n, process in ipairs(state) do
        new[n] = {}
        for name, value in pairs(process) do new[n][name] = value end
    end
    return new
end


local function key_of(state)
    local epoch = state.epoch
    local parts = { rules.text(epoch), state.wish.text, state.wish.version }
    for _, process in ipairs(state) do
        parts[#parts + 1] = ("%s %s%s %s%s%s"):format(
            process.epoch and process.epoch.number or "none", process.A and "A" or "",
            process.B and "B" or "", process.has and "has" or "",
            process.stopped and "stopped" or "", process.lost and "lost" or "")
    end
    return table.concat(parts, "|")
end


local function is_free(state, engine)
    for _, process in ipairs(state) do
        if process[engine] then return false end
    end
    return true
end


-- The first engine of its epoch that the process lacks.
local function missing(process)
    for _, engine in ipairs(process.epoch.engines) do
        if not process[engine] then return engine end
    end
end


local function may_step(state, must_wait)
    if not must_wait then return true end
    for _, process in ipairs(state) do
        if process.epoch and process.epoch.number < state.epoch.number then return false end
    end
    return true
end


local function drop(process) process.A, process.B, process.has = nil, nil, nil end


-- Possible steps of a process, as functions that change a copy.
local function steps_of(state, process)
    local deeds = {}
    local function can(what, fn) deeds[what] = fn end
    local is_idle = not process.A and not process.B
    if process.stopped then
        if not is_idle then can("its locks end", drop) end
        if process.epoch and is_idle then
            can("is struck off", function(it) it.epoch = nil end)
        end
        can("wakes", function(it) it.stopped, it.lost = nil, it.epoch and true end)
        return deeds
    end
    can("is stopped", function(it) it.stopped = true end)
    local is_behind = process.epoch and (process.lost or process.epoch.number < state.epoch.number)
    if process.epoch and is_idle and is_behind then
        can("leaves", function(it) it.epoch, it.lost = nil, nil end)
    end
    if not process.epoch then can("joins", function(it) it.epoch = state.epoch end) end
    if not is_idle then can("releases", drop) end
    if not process.epoch or process.has then return deeds end
    local engine = missing(process)
    if engine and is_free(state, engine) then
        can("takes " .. engine, function(it) it[engine] = true end)
    elseif not engine and not process.lost and process.epoch.number == state.epoch.number then
        can("has the lock", function(it) it.has = true end)
    end
    return deeds
end


-- Returns all next states, each { what = the step, state, is_usual = it is neither a change of the
-- switch nor a stop }.
local function next_states(state)
    local list = {}
    local function add(what, change, is_usual)
        local new = copy_of(state)
        change(new)
        list[#list + 1] = { what = what, state = new, is_usual = is_usual }
    end
    if state.wish.version < WISHES then
        for _, value in ipairs(VALUES) do
            add("the switch says " .. value, function(new)
                new.wish = { text = value, version = state.wish.version + 1 }
            end)
        end
    end
    local following, must_wait = rules.following(state.epoch, ORDER, state.wish)
    if following and may_step(state, must_wait) then
        add("epoch " .. rules.text(following), function(new) new.epoch = following end, true)
    end
    for n, process in ipairs(state) do
        for what, deed in pairs(steps_of(state, process)) do
            add(n .. " " .. what, function(new) deed(new[n]) end, what ~= "is stopped")
        end
    end
    return list
end


local function start()
    return {
        epoch = { number = 1, engines = { "A" }, wish_version = 0 },
        wish = { text = "A", version = 0 },
        {}, {},
    }
end


local function steps_to(from, key)
    local lines = {}
    while from[key] do
        table.insert(lines, 1, from[key].what)
        key = from[key].key
    end
    return table.concat(lines, "; ")
end


local function problem_of(state)
    local first, second = state[1].has, state[2].has
    return first and second and "two have the lock"
end


local function is_settled(state)
    return rules.following(state.epoch, ORDER, state.wish) == nil
end


-- All reachable states; raises an error at a forbidden state.
local function explore()
    local begin = start()
    local states, from, before, open = { [key_of(begin)] = begin }, {}, {}, { key_of(begin) }
    local count = 0
    while count < #open do -- in breadth, for short stories
        count = count + 1
        local key = open[count]
        local state = states[key]
        local problem = problem_of(state)
        if problem then error(problem .. ": " .. steps_to(from, key), 0) end
        for _, each in ipairs(next_states(state)) do
            local next_key = key_of(each.state)
            if not states[next_key] then
                states[next_key], from[next_key] = each.state, { what = each.what, key = key }
                open[#open + 1] = next_key
            end
            if each.is_usual then
                before[next_key] = before[next_key] or {}
                table.insert(before[next_key], key)
            end
        end
    end
    return states, before, count
end


describe("the rules of the switch", function()
    local states, before, count
    setup(function() states, before, count = explore() end)

    it("the lock never has two holders, in any order of switch, hold, stop and crash", function()
        assert.is_true(count > 1000, count)
    end)

    it("every switch comes through if nothing more happens #slow", function()
        local reached, open = {}, {}
        for key, state in pairs(states) do
            if is_settled(state) then open[#open + 1] = key end
        end
        while open[1] do
            local key = table.remove(open)
            if not reached[key] then
                reached[key] = true
                for _, each in ipairs(before[key] or {}) do open[#open + 1] = each end
            end
        end
        for key in pairs(states) do assert.is_true(reached[key], key) end
    end)

    it("a switch passes through an epoch of both engines", function()
        local function after(epoch, text, version)
            return rules.following(epoch, { "A", "B", "C" }, { text = text, version = version })
        end
        local one = { number = 4, engines = { "A" }, wish_version = 1 }
        assert.is_nil(after(one, "A", 2))
        assert.same({ number = 5, engines = { "A", "B" }, wish_version = 2 }, (after(one, "B", 2)))
        assert.same({ "A", "B" }, after(one, "no engine", 2).engines) -- CFG-17
        assert.is_nil(after(one, "no engine", 1))                     -- looked at before
        local last = { number = 4, engines = { "C" }, wish_version = 1 }
        assert.same({ "C", "A" }, after(last, "", 2).engines)
        local both = { number = 5, engines = { "A", "B" }, wish_version = 2 }
        local following, must_wait = after(both, "B", 2)
        assert.same({ { "B" }, true }, { following.engines, must_wait })
        following, must_wait = after(both, "C", 3)
        assert.same({ { "A" }, false }, { following.engines, must_wait })
    end)

    it("an epoch is stored as a line of text", function()
        local epoch = { number = 5, engines = { "A", "B" }, wish_version = 2 }
        assert.same(epoch, rules.parse(rules.text(epoch)))
        assert.is_nil(rules.parse "")
        assert.is_nil(rules.parse "five 2 A")
    end)
end)
