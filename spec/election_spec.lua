--- [lua luajit asan tsan worlds] Elections: leaders, their terms, and news of them.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, a, b
local wait_for, hears = rig.wait_for, rig.hears
local unpack = table.unpack or unpack

local function begin(given_server)
    server, path = given_server, rig.path()
    a = rig.session(server.hosts, { identity = "a" })
    b = rig.session(server.hosts, { identity = "b" })
end

before_each(function() begin(rig.shared()) end)
after_each(rig.close_sessions)


-- Begins again on a server in memory, which can end sessions. Returns it.
local function begin_in_memory()
    begin(rig.memory "election")
    return server.memory
end


local function start_candidate(session, data)
    local self = { terms = 0, leads = false, ends = false, session = session }
    coroutine.wrap(function()
        self.result = { session:election(path, { data = data }):lead(function(lease)
            self.terms, self.leads, self.lease = self.terms + 1, true, lease
            while not self.ends and not self.yields and lease:state() ~= "lost" do
                zklock.sleep(0.01)
            end
            self.leads, self.yields = false, false
            return self.ends
        end) }
    end)()
    return self
end

local function wait_until_leads(who)
    wait_for("a leader", function() return who.leads end)
end

local function start_leader()
    local one = start_candidate(a, "one")
    wait_until_leads(one)
    return one
end

local function start_leader_and_next()
    local one, two = start_leader(), start_candidate(b, "two")
    server:wait_for_nodes(path, 2)
    return one, two
end

local function end_leads(...)
    for _, who in ipairs{ ... } do
        who.ends = true
        wait_for("the end of " .. who.session.hosts, function() return who.result end)
        assert.same({ true }, who.result)
    end
end

-- Returns a growing list of on_change's news, each "identity data" or "nil", and stop().
local function follow_news(session)
    local news = {}
    local stop = assert(session:election(path):on_change(function(identity, data, token)
        news[#news + 1] = identity and identity .. " " .. tostring(data) or tostring(token)
    end))
    return news, stop
end


describe("an election #session:election #election:lead", function()
    it("an election has one leader at a time, and a leader that returns nothing queues again",
       function()
        zklock.run(function()
            local one, two = start_leader_and_next()
            assert.is_false(two.leads)
            one.yields = true
            wait_until_leads(two)
            assert.is_false(one.leads)
            two.yields = true
            wait_for("a second term", function() return one.terms == 2 end)
            end_leads(one)
            wait_until_leads(two)
            end_leads(two)
            assert.equal(2, one.terms)
        end)
        server:wait_for_nodes(path, 0)
    end)

    it("an error of the leader's function ends the lead, and lead() raises it unchanged", function()
        local problem = {}
        local ok, raised = pcall(function()
            a:election(path):lead(function() error(problem, 0) end)
        end)
        assert.is_false(ok)
        assert.equal(problem, raised)
        server:wait_for_nodes(path, 0)
    end)

    it("lead() contends again after a lost lead, and returns lost if its last lead was lost",
       function()
        local terms = 0
        local function lose(lease)
            rig.delete_node(server, path)
            wait_for("lost", function() return select(3, lease:check(20)) == "lost" end)
        end
        local done = { a:election(path):lead(function(lease)
            terms = terms + 1
            if terms ~= 2 then lose(lease) end
            if terms == 3 then return true end
        end) }
        assert.equal(3, terms)
        rig.check_refused("lost", path, unpack(done, 1, 3))
        server:wait_for_nodes(path, 0)
    end)

    it("a candidate contends again after a function that returns nil, message, code", function()
        local terms = 0
        assert.same({ true }, { a:election(path):lead(function(lease)
            terms = terms + 1
            if terms == 2 then return true end
            return lease:guard{ { "check", path .. "/none" } }
        end) })
        assert.equal(2, terms)
    end)

    it("candidates contend again after an expiry, leading or waiting", function()
        local memory = begin_in_memory()
        zklock.run(function()
            local one, two = start_leader_and_next()
            memory:expire(b)
            rig.wait_for_stats(b, { expiries = 1 })
            server:wait_for_nodes(path, 2)
            memory:expire(a)
            wait_until_leads(two)
            server:wait_for_nodes(path, 2)
            two.yields = true
            wait_for("a second term", function() return one.terms == 2 end)
            end_leads(one, two)
        end)
    end)

    it("a candidate ends when its session is closed, or expires without reopen", function()
        local memory = begin_in_memory()
        zklock.run(function()
            local last = rig.session(server.hosts, { reopen = false })
            local one, two = start_leader_and_next()
            local three = start_candidate(last)
            server:wait_for_nodes(path, 3)
            b:close()
            memory:expire(last)
            wait_for("both candidates' ends", function() return two.result and three.result end)
            assert.equal("closed", two.result[3])
            assert.equal("expired", three.result[3])
            end_leads(one)
        end)
    end)

    it("leader() tells the leader #election:leader", function()
        local election = b:election(path)
        rig.check_refused("no_node", "nobody leads", election:leader())
        assert.is_true(a:election(path, { data = "host:1" }):lead(function(lease)
            assert.same({ "a", "host:1", lease.token }, { election:leader(20) })
            return true
        end))
    end)

    it("max_hold, moved by lease:expire, ends the lead of a leader that hangs", function()
        zklock.run(function()
            local one, lost = { ends = false }, nil
            coroutine.wrap(function()
                local election = a:election(path, { max_hold = 60 })
                one.result = { election:lead(function(lease)
                    lost = rig.note_losses(lease)
                    assert(lease:expire(0.2))
                    wait_for("the late end", function() return one.ends end)
                    return true
                end) }
            end)()
            server:wait_for_nodes(path, 1)
            local two = start_candidate(b)
            wait_until_leads(two)
            assert.same({ "lost" }, lost)
            end_leads(two)
            one.ends = true
            wait_for("the end", function() return one.result end)
            rig.check_refused("lost", path, unpack(one.result, 1, 3))
            local led = { b:election(path, { max_hold = 0.1 }):lead(function(lease)
                wait_for("the loss", function() return lease:state() == "lost" end)
                return true
            end) }
            rig.check_refused("lost", path, unpack(led, 1, 3))
        end)
        rig.blames("max_hold", function() a:election(path, { max_hold = 0 }) end)
    end)

    it("lead() inside a lead is refused", function()
        local election = a:election(path)
        election:lead(function()
            rig.check_refused("would_deadlock", nil, election:lead(print))
            return true
        end)
    end)

    it("an election is a mutex to other contenders, and leader() tells its holder", function()
        zklock.run(function()
            local lease = rig.hold(b:mutex(path, { data = "by hand" }))
            local one = start_candidate(a)
            server:wait_for_nodes(path, 2)
            assert.same({ "b", "by hand", lease.token }, { a:election(path):leader(20) })
            assert(lease:release())
            wait_until_leads(one)
            end_leads(one)
        end)
    end)

    it("a mutex that is only kept counts as the leader #election:leader", function()
        rig.release(rig.hold(a:mutex(path, { keep = 60 })))
        assert.equal("a", (b:election(path):leader()))
    end)
end)


describe("on_change #election:on_change", function()
    it("on_change tells the first leader, and each change #slow", function()
        zklock.run(function()
            local news, stop = follow_news(b)
            hears(news, "nil")
            local one = start_candidate(a, "one")
            hears(news, "a one")
            local two = start_candidate(b, "two")
            server:wait_for_nodes(path, 2)
            end_leads(one)
            hears(news, "b two")
            end_leads(two)
            hears(news, "nil", 4)
            stop()
            end_leads(start_candidate(a))
            zklock.sleep(0.7) -- long enough for one more report
            assert.same({ "nil", "a one", "b two", "nil" }, news)
        end)
    end)

    it("on_change goes on after an expiry, and its errors are counted", function()
        local memory = begin_in_memory()
        zklock.run(function()
            local one, heard = start_leader(), 0
            assert(b:election(path):on_change(function()
                heard = heard + 1
                error("of the user's")
            end))
            wait_for("the leader", function() return heard == 1 end)
            memory:expire(b)
            end_leads(one)
            wait_for("that nobody leads", function() return heard == 2 end)
            assert.equal(2, b:stats().callback_errors)
        end)
    end)

    it("on_change may be stopped by its own function, and ends with the session", function()
        zklock.run(function()
            local count, stop = 0, nil
            stop = assert(a:election(path):on_change(function()
                count = count + 1
                stop()
            end))
            local news = follow_news(b)
            wait_for("the news", function() return count == 1 and #news == 1 end)
            b:close()
            end_leads(start_candidate(a))
            assert.equal(1, count)
            assert.is_nil(next(a.followers))
            rig.check_refused("closed", nil, b:election(path):on_change(print))
        end)
    end)

    local function check_end_by_expiry(led)
        local memory = begin_in_memory()
        zklock.run(function()
            b = rig.session(server.hosts, { reopen = false })
            local one, news = led and start_leader(), follow_news(b)
            hears(news, one and "a one" or "nil")
            memory:expire(b)
            wait_for("the end of on_change", function() return not next(b.followers) end)
            hears(news, "expired", 2)
            assert.equal(2, #news)
            rig.check_refused("expired", nil, b:election(path):on_change(print))
            if one then end_leads(one) end
        end)
    end

    it("on_change reports the expiry of a session without reopen last, and is then refused",
       function()
        for _, led in ipairs{ false, true } do check_end_by_expiry(led) end
    end)
end)
