--- [lua luajit asan tsan] The programs of docs/members.md keep its promises, also under faults.
-- (The limit of hosts is in spec/nginx/members_spec.lua.)

package.path = "docs/members/?.lua;" .. package.path

local files = require "spec.files"
local jobs = require "jobs"
local join = require "join"
local once = require "once"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack
local SEEDS = 50
local FAULTS = { stop = true, kill = true, cut = true, expire = true, delay = 0.05 }
local CALM, OBSERVED = 200, 10 -- seconds; from CALM on no fault is left, and OBSERVED are counted


local function list_of(...)
    local list = {}
    for i, name in ipairs{ ... } do list[i] = { name = name } end
    return list
end

local function job_names(count)
    local all = {}
    for i = 1, count do all[i] = "job " .. i end
    return all
end

local function owners(list, all)
    local found = {}
    for _, job in ipairs(all) do found[job] = jobs.owner(list, job) end
    return found
end


-- --- in a world ---------------------------------------------------------------------------

-- Calls fn() until it returns a result, as it fails without a connection.
local function insist(fn, ...)
    while true do
        local result = fn(...)
        if result then return result end
        zklock.sleep(1)
    end
end

-- Returns a scenario of three processes that run body(session, name, note_run, goes_on, world), and
-- note their work by note_run(job, name). Then look() gets the counts of the calls in the calm, and
-- the list of all ticks.
local function scenario_of_three(body, look)
    return function(world)
        local calm, ticks = {}, {}
        local function note_run(what, name)
            local now = world:now()
            if what == "tick" then ticks[#ticks + 1] = { at = now, name = name } end
            if now < CALM or now >= CALM + OBSERVED then return end
            calm[what] = calm[what] or {}
            calm[what][name] = (calm[what][name] or 0) + 1
        end
        for n = 1, 3 do
            local name = "member " .. n
            world:process(name, function()
                local session = insist(zklock.connect, "memory:members", { timeout = 10 })
                body(session, name, note_run, function()
                    return world:now() < CALM + 2 * OBSERVED
                end, world)
            end)
        end
        world:finally(function() look(calm, ticks) end)
    end
end

local function simulate_three(body, look)
    local scenario = scenario_of_three(body, look)
    return assert(zklock.simulate(scenario, { seeds = SEEDS, faults = FAULTS }))
end

-- Returns the only member that did a job, and how often.
local function only_runner(done)
    local name = next(done or {})
    assert(name, "nobody does it")
    assert(not next(done, name), "two do it")
    return name, done[name]
end


-- Ends the session while it is away, and lets another session, which is returned, join by the name
-- "a" meanwhile.
local function take_name_while_away(session, folder)
    local memory = zklock.memory "members-page"
    memory:cut(session)
    memory:expire(session)
    local other = rig.session "memory:members-page"
    assert(other:join(folder, { name = "a" }))
    memory:heal(session)
    return other
end


after_each(rig.close_sessions)


-- Returns the page's block of code that begins so, with the session and more as parameters.
local function example(name, parameters)
    local page = assert(files.read "docs/members.md")
    local code = page:match("```lua\n(local " .. name .. " = .-)```")
    return assert(load("local session, " .. parameters .. " = ...\n" .. code))
end


describe("docs/members.md", function()
    it("the page names the programs", function()
        local page = assert(files.read "docs/members.md")
        for _, name in ipairs{ "limit.lua", "jobs.lua", "once.lua", "join.lua" } do
            assert.truthy(page:find("(members/" .. name .. ")", 1, true), name)
        end
    end)
end)


describe("a join that waits for its name #session:join", function()
    it("a join waits until another session's node of its name is gone", function()
        local folder, hosts = rig.path(), rig.shared().hosts
        local before, session = rig.session(hosts), rig.session(hosts)
        assert(before:join(folder, { name = "a" }))
        local member
        zklock.run(function() member = assert(join(session, folder, "a")) end, function()
            rig.check_refused("conflict", folder, session:join(folder, { name = "a" }))
            assert.is_nil(member)
            before:close()
        end)
        assert.equal("joined", member:state())
    end)

    for who, is_own in pairs{ ["another session"] = false, ["its own session"] = true } do
        it("a join gives up after two session timeouts if the name stays that of " .. who,
           function()
            local found = assert(zklock.simulate(function(world)
                world:process("process", function()
                    local session = assert(zklock.connect("memory:members", { timeout = 10 }))
                    local holder = is_own and session
                        or assert(zklock.connect("memory:members", { timeout = 10 }))
                    assert(holder:join("/members", { name = "a" }))
                    local begun = world:now()
                    rig.check_refused("conflict", "/members/a", join(session, "/members", "a"))
                    local lasted = world:now() - begun
                    assert(lasted > 15 and lasted < 30, lasted) -- a tick is at most half a timeout
                end)
            end, { seeds = 5 }))
            assert.equal(0, found.wrong, tostring(found))
        end)
    end

    it("a join gives up if its session is closed", function()
        local session = rig.session(rig.shared().hosts)
        session:close()
        rig.check_refused("closed", nil, join(session, rig.path(), "a"))
    end)
end)


describe("jobs that members share #session:members", function()
    local MEMBERS = { "10.0.0.7:8080", "10.0.0.8:8080", "10.0.0.9:8080", "10.0.1.7:8080" }

    it("jobs are shared evenly", function()
        local counts = {}
        for _, owner in pairs(owners(list_of(unpack(MEMBERS)), job_names(4000))) do
            counts[owner] = (counts[owner] or 0) + 1
        end
        for _, name in ipairs(MEMBERS) do
            assert.is_true(counts[name] > 900 and counts[name] < 1100, name)
        end
    end)

    it("jobs move only when their member goes, and come back with it", function()
        local all = job_names(1000)
        local before = owners(list_of(unpack(MEMBERS)), all)
        local after = owners(list_of(MEMBERS[1], MEMBERS[2], MEMBERS[4]), all)
        for _, job in ipairs(all) do
            if before[job] ~= MEMBERS[3] then assert.equal(before[job], after[job]) end
            assert.not_equal(MEMBERS[3], after[job])
        end
        assert.is_nil(jobs.owner({}, "job 1"))
    end)

    it("each job is one member's, also after a member has left", function()
        local folder, hosts = rig.path(), rig.shared().hosts
        local sessions, shares = {}, {}
        for i = 1, 3 do
            sessions[i] = rig.session(hosts)
            shares[i] = assert(jobs.join(sessions[i], folder, "member " .. i))
        end
        local function each_has_one_owner()
            for _, job in ipairs(job_names(30)) do
                local count = 0
                for _, share in ipairs(shares) do count = count + (share:mine(job) and 1 or 0) end
                if count ~= 1 then return false end
            end
            return true
        end
        rig.wait_for("shares of three", each_has_one_owner)
        sessions[3]:close()
        for _, job in ipairs(job_names(30)) do assert.is_false(shares[3]:mine(job)) end
        rig.wait_for("shares of two", each_has_one_owner)
    end)

    it("a member that has left has no job, even before the list tells that", function()
        local share = assert(jobs.join(rig.session(rig.shared().hosts), rig.path(), "member"))
        rig.wait_for("the share", function() return share:mine "job" end)
        share.member:leave()
        assert.equal("member", jobs.owner(share.list, "job"))
        assert.is_false(share:mine "job")
    end)

    it("a member whose name another took while it was away has no job, and joins again later",
       function()
        local session = rig.session "memory:members-page"
        local share = assert(jobs.join(session, "/jobs", "a"))
        assert.is_true(share:stay())
        rig.wait_for("the share", function() return share:mine "job" end)
        local other = take_name_while_away(session, "/jobs")
        rig.wait_for("the conflict", function() return share.member:state() == "conflict" end)
        for _ = 1, 2 do
            rig.check_refused("conflict", "/jobs/a", share:stay())
            assert.falsy(share:mine "job")
        end
        other:close()
        rig.wait_for("the next share", function() return share:stay() and share:mine "job" end)
    end)

    it("the page's loop does the other jobs after a job that fails", function()
        local run = example("jobs", "zklock, customers, send_news, log")
        local done, log, rounds = {}, {}, 0
        local only = { sleep = function()
            rounds = rounds + 1
            zklock.sleep(0.01)
            return rounds < 500 and not done.c
        end }
        run(rig.session(rig.shared().hosts), only, { "a", "b", "c" }, function(customer)
            if customer == "b" then error("no address", 0) end
            done[customer] = true
        end, function(why) log[why] = true end)
        assert.same({ { a = true, c = true }, { ["no address"] = true } }, { done, log })
    end)

    local all = job_names(20)

    local function work(session, name, note_run, goes_on)
        local share = insist(jobs.join, session, "/members/mailer", name)
        while goes_on() do
            share:stay()
            for _, job in ipairs(all) do
                if share:mine(job) then note_run(job, name) end
            end
            zklock.sleep(1)
        end
    end

    it("each job is done by one member in the calm after any faults", function()
        local result = simulate_three(work, function(calm)
            for _, job in ipairs(all) do only_runner(calm[job]) end
        end)
        assert.equal(0, result.wrong, tostring(result))
    end)
end)


describe("a timer of the cluster #session:members", function()
    local PERIOD = 1

    local function ignore() end

    -- Returns a body of scenario_of_three in which the timer's function fails for so many seconds.
    local function failing_for(seconds)
        return function(session, name, note_run, goes_on, world)
            zklock.run(function()
                insist(once, session, "/members/rota", name, PERIOD, function()
                    if world:now() < seconds then error("no database", 0) end
                    note_run("tick", name)
                end, ignore)
            end, function()
                while goes_on() do
                    note_run("life", name)
                    zklock.sleep(1)
                end
                session:close()
            end)
        end
    end

    local tick = failing_for(0)

    for what, body in pairs{ ["any faults"] = tick, ["errors of all"] = failing_for(100) } do
        it("the first member alone runs the timer in the calm after " .. what, function()
            local result = simulate_three(body, function(calm)
                local name, times = only_runner(calm.tick)
                for other in pairs(calm.life) do assert(name <= other, "not the first") end
                assert(times >= OBSERVED / PERIOD - 1 and times <= OBSERVED / PERIOD + 1, times)
            end)
            assert.equal(0, result.wrong, tostring(result))
        end)
    end

    it("two members, or none, may run the timer during a change, as on the page", function()
        local two = simulate_three(tick, function(_, ticks)
            for i = 2, #ticks do
                local before, run = ticks[i - 1], ticks[i]
                assert(run.name == before.name or run.at - before.at >= PERIOD, "two")
            end
        end)
        local none = simulate_three(tick, function(_, ticks)
            for i = 2, #ticks do assert(ticks[i].at - ticks[i - 1].at < 2 * PERIOD + 1, "none") end
        end)
        assert.matches("two", two.first.problem)
        assert.matches("none", none.first.problem)
    end)

    it("a member without a connection, or that has left, does not run the timer", function()
        local memory = zklock.memory "members-page"
        for _, fault in ipairs{ "cut", "leave" } do
            local session, ran = rig.session "memory:members-page", 0
            local original_join, member = session.join, nil
            function session:join(...)
                member = assert(original_join(self, ...))
                return member
            end
            zklock.run(function()
                local function run() ran = ran + 1 end
                assert(once(session, "/" .. fault, "a", 0.001, run, ignore))
            end, function()
                rig.wait_for("a run", function() return ran > 0 end)
                if fault == "cut" then memory:cut(session) else member:leave() end
                ran = 0
                for _ = 1, 10 do zklock.sleep(0.002) end
                assert.equal(0, ran)
                session:close()
            end)
        end
    end)

    it("the next member runs the timer when the function of the first raises, until the first " ..
       "joins again", function()
        local folder, hosts = rig.path(), rig.shared().hosts
        local first, second = rig.session(hosts), rig.session(hosts)
        local fails, log, ran = true, {}, {}
        local function both_are_members() return #rig.shared():nodes(folder) == 2 end
        zklock.run(function()
            assert(once(first, folder, "a", 0.01, function()
                ran.a = true
                if not fails then return end
                rig.wait_for("the second member", both_are_members)
                error("no database", 0)
            end, function(why) log[#log + 1] = why end))
        end, function()
            rig.wait_for("the first member's run", function() return ran.a end)
            assert(once(second, folder, "b", 0.01, function() ran.b = true end, ignore))
        end, function()
            rig.wait_for("the second member's run", function() return ran.b end)
            assert.equal("no database", log[1])
            fails, ran.a = false, nil
            rig.wait_for("the first member's next run", function() return ran.a end)
            first:close()
            second:close()
        end)
    end)

    it("a member whose name another took while it was away says so, and joins again later",
       function()
        local session, log, ran = rig.session "memory:members-page", {}, false
        zklock.run(function()
            assert(once(session, "/taken", "a", 0.01, function() ran = true end,
                        function(why) log[#log + 1] = why end))
        end, function()
            rig.wait_for("a run", function() return ran end)
            local other = take_name_while_away(session, "/taken")
            rig.wait_for("the report", function() return log[1] end)
            assert.matches("^conflict: /taken/a", log[1])
            ran = false
            other:close()
            rig.wait_for("another run", function() return ran end)
            session:close()
        end)
    end)

    it("the page's call raises when the join fails", function()
        local session = rig.session(rig.shared().hosts)
        session:close()
        assert.has_error(function() example("once", "remove_old_carts, log")(session) end)
    end)
end)
