-- Elections: who leads, how often, and who hears of it.

local rig = require "spec.rig"
local zklock = require "zklock"

local server, path, a, b
local wait_for = rig.wait_for
local unpack = table.unpack or unpack

before_each(function()
    server, path = rig.shared(), rig.path()
    a = rig.session(server.hosts, { identity = "a" })
    b = rig.session(server.hosts, { identity = "b" })
end)

after_each(rig.close_sessions)


-- Both sessions on a server in memory, which can end them.
local function in_memory()
    local memory = zklock.memory("election")
    memory:reset()
    a = rig.session("memory:election", { identity = "a" })
    b = rig.session("memory:election", { identity = "b" })
    return memory, function(count)
        wait_for(count .. " candidates", function()
            return #(memory:children(path) or {}) == count
        end)
    end
end


-- Leads until it is told to end, in a coroutine of the run.
local function candidate(session, data)
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

local function leads(who)
    wait_for("a leader", function() return who.leads end)
end

local function ended(who)
    who.ends = true
    wait_for("the end of " .. who.session.hosts, function() return who.result end)
    assert.same({ true }, who.result)
end

-- What on_change tells, as a list of "identity data".
local function news_of(session)
    local news = {}
    local stop = assert(session:election(path):on_change(function(identity, data, token)
        news[#news + 1] = identity and identity .. " " .. tostring(data) or tostring(token)
    end))
    return news, stop
end


describe("an election", function()
    it("has one leader, and the next when that is done", function()
        zklock.run(function()
            local one = candidate(a)
            leads(one)
            local two = candidate(b)
            server:wait_for_nodes(path, 2)
            assert.is_false(two.leads)
            ended(one)
            leads(two)
            ended(two)
            assert.equal(1, one.terms)
        end)
        server:wait_for_nodes(path, 0)
    end)

    it("has a leader that returns nothing stand at the end of the line", function()
        zklock.run(function()
            local one = candidate(a)
            leads(one)
            local two = candidate(b)
            server:wait_for_nodes(path, 2)
            one.yields = true
            leads(two)
            assert.is_false(one.leads)
            two.yields = true
            wait_for("the second term", function() return one.terms == 2 end)
            ended(one)
            ended(two)
        end)
    end)

    it("gives the lead up and passes an error on unchanged", function()
        local problem = {}
        local ok, raised = pcall(function()
            a:election(path):lead(function() error(problem, 0) end)
        end)
        assert.is_false(ok)
        assert.equal(problem, raised)
        server:wait_for_nodes(path, 0)
    end)

    it("contends again after a lead that was lost, and says so of the last one", function()
        local terms = 0
        local function lose(lease)
            server:foreign("delete %s", server:nodes(path)[1])
            wait_for("lost", function() return select(3, lease:check(20)) == "lost" end)
        end
        local done = { a:election(path):lead(function(lease)
            terms = terms + 1
            if terms ~= 2 then lose(lease) end
            if terms == 3 then return true end
        end) }
        assert.equal(3, terms)
        rig.is_refused("lost", path, unpack(done, 1, 3))
        server:wait_for_nodes(path, 0)
    end)

    it("contends again after an expiry, also of one that waits", function()
        local memory, wait_for_candidates = in_memory()
        zklock.run(function()
            local one = candidate(a)
            leads(one)
            local two = candidate(b)
            wait_for_candidates(2)
            memory:expire(b)
            wait_for("b anew", function() return b:stats().expiries == 1 end)
            wait_for_candidates(2)
            memory:expire(a)
            leads(two)
            wait_for_candidates(2)
            two.yields = true
            wait_for("a second term", function() return one.terms == 2 end)
            ended(one)
            ended(two)
        end)
    end)

    it("ends with a session that is closed, and with one that does not reopen", function()
        local memory, wait_for_candidates = in_memory()
        zklock.run(function()
            local leader = candidate(a)
            leads(leader)
            local last = rig.session("memory:election", { reopen = false })
            local waits, ends = candidate(b), candidate(last)
            wait_for_candidates(3)
            b:close()
            wait_for("the end", function() return waits.result end)
            assert.equal("closed", waits.result[3])
            memory:expire(last)
            wait_for("the end", function() return ends.result end)
            assert.equal("expired", ends.result[3])
            ended(leader)
        end)
    end)

    it("says who leads", function()
        local election = b:election(path)
        local identity, message, code = election:leader()
        assert.is_nil(identity)
        assert.matches("nobody leads", message)
        assert.equal("no_node", code)
        assert.is_true(a:election(path, { data = "host:1" }):lead(function(lease)
            local who, data, token = election:leader(20)
            assert.same({ "a", "host:1" }, { who, data })
            assert.equal(lease.token, token)
            return true
        end))
    end)

    it("refuses a candidate that leads already", function()
        local election = a:election(path)
        election:lead(function()
            assert.equal("would_deadlock", (select(3, election:lead(print))))
            return true
        end)
    end)

    it("is a mutex to others, and says whom it waits for", function()
        zklock.run(function()
            local lease = rig.hold(b:mutex(path, { data = "by hand" }))
            local one = candidate(a)
            server:wait_for_nodes(path, 2)
            local who, data = a:election(path):leader(20)
            assert.same({ "b", "by hand" }, { who, data })
            assert(lease:release())
            leads(one)
            ended(one)
        end)
    end)
end)


describe("on_change", function()
    it("tells who leads at first, and after each change #slow", function()
        zklock.run(function()
            local news, stop = news_of(b)
            wait_for("the first news", function() return #news == 1 end)
            assert.equal("nil", news[1])
            local one = candidate(a, "one")
            wait_for("a leader", function() return #news == 2 end)
            assert.equal("a one", news[2])
            local two = candidate(b, "two")
            server:wait_for_nodes(path, 2)
            ended(one)
            wait_for("the next leader", function() return #news == 3 end)
            assert.equal("b two", news[3])
            ended(two)
            wait_for("that nobody leads", function() return #news == 4 end)
            assert.equal("nil", news[4])
            stop()
            ended(candidate(a))
            zklock.sleep(0.7) -- longer than it asks again
            assert.equal(4, #news)
        end)
    end)

    it("goes on over an expiry, and counts errors", function()
        local memory = in_memory()
        zklock.run(function()
            local one = candidate(a, "one")
            leads(one)
            local heard = 0
            assert(b:election(path):on_change(function()
                heard = heard + 1
                error("of the user's")
            end))
            wait_for("the leader", function() return heard == 1 end)
            memory:expire(b)
            ended(one)
            wait_for("that nobody leads", function() return heard == 2 end)
            assert.equal(2, b:stats().callback_errors)
        end)
    end)

    it("may be stopped by its own function, and ends with the session", function()
        zklock.run(function()
            local count, stop = 0, nil
            stop = assert(a:election(path):on_change(function()
                count = count + 1
                stop()
            end))
            local news = news_of(b)
            wait_for("the news", function() return count == 1 and #news == 1 end)
            b:close()
            ended(candidate(a))
            assert.equal(1, count)
            assert.is_nil(next(a.followers))
            assert.equal("closed", (select(3, b:election(path):on_change(print))))
        end)
    end)

    it("ends with an expiry of a session that does not reopen, and begins no more", function()
        local memory = in_memory()
        zklock.run(function()
            b = rig.session("memory:election", { identity = "b", reopen = false })
            local news = news_of(b)
            wait_for("the first news", function() return #news == 1 end)
            memory:expire(b)
            wait_for("its end", function() return not next(b.followers) end)
            assert.same({ "nil" }, news)
            assert.equal("expired", (select(3, b:election(path):on_change(print))))
        end)
    end)
end)
