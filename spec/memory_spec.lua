--- [lua luajit asan tsan] zklock.connect("memory:name"): a server inside the process, and faults
-- for testers.
local core = require "zklock.core"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local NAME = "faults"
local HOSTS = "memory:" .. NAME
local BUN = "/sale/bun"

local memory, one, two
local heard

before_each(function()
    local told = {}
    memory, heard = zklock.memory(NAME), told
    one = rig.session(HOSTS, { timeout = 4, on_state = function(s) told[#told + 1] = s end })
    two = rig.session(HOSTS)
end)
after_each(rig.close_sessions)


local function wait_for_line(count)
    rig.wait_for(count .. " in line", function()
        return #(memory:children(BUN) or {}) == count
    end)
end

local function states()
    one:dispatch()
    return table.concat(heard, " ")
end


describe("a server in memory #zklock.memory", function()
    it("sessions of one name share a server", function()
        assert.equal(4, one:timeout())
        local lease = rig.hold(one:mutex(BUN))
        assert.equal("busy", rig.code_of(two:mutex(BUN), 0))
        assert.same({ "sale" }, memory:children("/"))
        rig.release(lease)
        rig.hold(two:mutex(BUN))
    end)

    it("servers of two names share nothing", function()
        rig.hold(one:mutex(BUN))
        rig.hold(rig.session("memory:other"):mutex(BUN))
        assert.same({}, zklock.memory("neither"):children("/"))
    end)

    it("a server goes with its last session, and comes with the first", function()
        rig.hold(one:mutex(BUN))
        one:close()
        assert.same({ "sale" }, memory:children("/"))
        two:close()
        assert.same({}, memory:children("/"))
        assert.equal("no_node", (select(3, memory:children("/sale"))))
        one = rig.session(HOSTS)
        assert.same({}, memory:children("/"))
    end)

    it("a session with a chroot sees a part of the tree, if the part is there", function()
        local _, message, code = zklock.connect(HOSTS .. "/shop/a")
        assert.equal("no_node", code, message)
        local lease = rig.hold(one:mutex("/x"))
        assert(lease:guard{ { "create", "/shop", "" }, { "create", "/shop/a", "" } })
        -- The long timeout shows that events come, because a watch also looks once a timeout.
        local inside = rig.session(HOSTS .. "/shop/a", { timeout = 60 })
        local calls = 0
        local stop = assert(inside:watch("/stock", function() calls = calls + 1 end))
        rig.wait_for("the first call", function() return calls == 1 end)
        local syncs = inside:stats().syncs
        local held = rig.hold(inside:mutex("/sale"))
        assert.equal(syncs, inside:stats().syncs)
        assert(held:guard{ { "create", "/stock", "3" } })
        rig.wait_for("the change", function() return calls == 2 end)
        assert.same({ "sale", "stock" }, memory:children("/shop/a"))
        assert.equal("3", inside:get("/stock"))
        assert.equal(1, #inside:mutex("/sale"):queue())
        stop()
    end)

    it("invalid names are refused, and a host may be called memory", function()
        for _, hosts in ipairs{ "memory:", "memory:-x", "memory:a,b", "memory:a b" } do
            assert.error(function() zklock.connect(hosts) end)
        end
        assert.error(function() zklock.memory("") end)
        assert.error(function() zklock.memory(7) end)
        local _, _, code = zklock.connect("memory:1", { connect_timeout = 0.2 })
        assert.equal("connection", code)
    end)
end)


describe("a session that expires #zklock.memory", function()
    it("expire() ends the lease, and the session opens another", function()
        local lease, id = rig.hold(one:mutex(BUN)), one:id()
        assert.is_true(memory:expire(one))
        assert.equal("lost", lease:state())
        rig.hold(two:mutex(BUN))
        rig.becomes(one, "connected")
        assert.not_equal(id, one:id())
        assert.equal("connected expired connecting connected", states())
    end)

    it("a session with reopen = false stays expired", function()
        local three = rig.session(HOSTS, { reopen = false })
        assert.is_true(memory:expire(three))
        assert.equal("expired", three:state())
        assert.is_false(memory:expire(three))
    end)
end)


describe("a session that is cut off #zklock.memory", function()
    it("a session that is cut off is suspended at once, and connected again after heal()",
       function()
        local lease = rig.hold(one:mutex(BUN))
        assert.is_true(memory:cut(one))
        assert.equal("suspended", one:state())
        assert.equal("suspect", lease:state())
        assert.is_false(memory:cut(one))
        assert.is_true(memory:heal(one))
        assert.equal("connected", one:state())
        assert.is_true(lease:check(20))
        assert.is_false(memory:heal(one))
        assert.equal("connected suspended connected", states())
    end)

    it("a session that is cut off expires after its timeout, and hears that after heal() #slow",
       function()
        local lease = rig.hold(one:mutex(BUN))
        memory:cut(one)
        local seconds = rig.timed(function() rig.hold(two:mutex(BUN), 30) end)
        assert.is_true(seconds > 3.9)
        assert.equal("suspended", one:state())
        assert.equal("lost", lease:state())
        memory:heal(one)
        rig.becomes(one, "connected")
        assert.equal("connected suspended expired connecting connected", states())
    end)

    it("a session that is healed in time does not expire #slow", function()
        local id = one:id()
        memory:cut(one)
        memory:heal(one)
        zklock.sleep(one:timeout() + 0.2)
        rig.hold(one:mutex(BUN))
        assert.equal(id, one:id())
    end)

    it("a session that is cut off misses an answer, and finds its node", function()
        rig.release(rig.hold(one:mutex(BUN)))
        memory:delay(60)
        zklock.run(function()
            rig.hold(one:mutex(BUN), 20)
        end, function()
            wait_for_line(1)
            memory:cut(one)
            memory:delay(0)
            memory:heal(one)
        end)
        assert.equal(1, #memory:children(BUN))
    end)

    it("a write whose answer was missed is unknown", function()
        local lease, answer = rig.hold(one:mutex(BUN)), nil
        memory:delay(60)
        zklock.run(function()
            answer = { lease:guard{ { "create", "/stock", "1" }, timeout = 20 } }
        end, function()
            rig.wait_for("the write", function() return memory:children("/stock") end)
            memory:cut(one)
            memory:delay(0)
        end)
        assert.equal("unknown", answer[3])
        assert.equal("timeout", select(3, lease:guard{ { "set", "/stock", "2" }, timeout = 0 }))
        memory:heal(one)
        assert.is_true(lease:check(20))
        assert.equal("1", (one:get("/stock")))
    end)

    it("a session that is closed during the cut leaves its nodes for its timeout #slow", function()
        local three = rig.session(HOSTS, { timeout = 60 })
        rig.hold(three:mutex(BUN))
        memory:cut(three)
        three:close()
        one:close()
        two:close()
        assert.equal(1, #memory:children(BUN))
        memory:reset()
        assert.same({}, memory:children("/"))
    end)
end)


describe("delay #zklock.memory", function()
    it("delay is the time of each answer", function()
        memory:delay(0.2)
        local seconds = rig.timed(function() rig.hold(one:mutex(BUN)) end)
        assert.is_true(seconds >= 0.2)
        memory:delay(0)
    end)

    it("a delay may be set before the first session, and ends with the last", function()
        local name = "slow"
        zklock.memory(name):delay(0.3)
        local seconds, session = rig.timed(rig.session, "memory:" .. name)
        assert.is_true(seconds >= 0.3)
        session:close()
        zklock.memory(name):delay(0)
        session = rig.session("memory:" .. name)
        assert.equal("connected", session:state())
    end)

    it("a shorter delay keeps answers in order", function()
        local order = {}
        local function get(name, delay)
            return function()
                memory:delay(delay)
                one:get("/" .. name, 10)
                order[#order + 1] = name
            end
        end
        zklock.run(get("a", 0.3), get("b", 0))
        assert.same({ "a", "b" }, order)
    end)

    it("a delay that is no number of seconds raises", function()
        for _, wrong in ipairs{ -1, "1", 1 / 0, {} } do
            assert.error(function() memory:delay(wrong) end)
        end
    end)
end)


-- Opens sessions with a long timeout. A pause of a twelfth of it counts as a stop of the process,
-- after which no claim is granted for a while.
local function open_with_long_timeout()
    one = rig.session(HOSTS, { timeout = 60 })
    two = rig.session(HOSTS, { timeout = 60 })
end


describe("a session full of nodes", function()
    before_each(open_with_long_timeout)

    it("a claim that waits for its turn waits on until there is room for its node #slow", function()
        local LIMIT, path = 512 * 1024, "/" .. ("x"):rep(150 * 1024)
        local lock = one:mutex(path, { order = "turns" })
        local filler = rig.use(one:mutex("/" .. ("f"):rep(150 * 1024)))
        local first = rig.hold(lock, { timeout = 5, owner = "first" })
        local creates, codes, third = one:stats().creates, {}, nil
        memory:delay(1)
        zklock.run(function()
            codes.second = rig.code_of(lock, { timeout = 60, owner = "second" })
        end, function()
            rig.wait_for_waits(one, 1)
            assert(two:mutex(path):revoke()) -- ends the turn, so that the second makes a node
            rig.wait_for_stats(one, { creates = creates + 1 })
            third = rig.keep(lock:acquire{ timeout = 60, owner = "third" })
        end, function()
            rig.wait_for_waits(one, 2)
            codes.large = rig.code_of(one:mutex("/" .. ("y"):rep(250 * 1024)), 0)
            rig.hold(filler, { timeout = 60, owner = "filler" })
        end, function()
            rig.wait_for_stats(one, { creates = creates + 2 })
            assert.equal(1, one:interrupt("second"))
            assert.equal(creates + 2, one:stats().creates)
            memory:delay(0)
            first:release()
            rig.wait_for("the turn", function()
                assert.is_true(one:stats().path_bytes <= LIMIT)
                return third
            end)
        end)
        assert.same({ second = "interrupted", large = "too_many" }, codes)
        assert.equal("held", third:state())
    end)
end)


describe("a session full of watches", function()
    before_each(open_with_long_timeout)

    it("a session in a turn gives up the turn's watch to wait for another lock",
       function()
        local function path(letter) return "/" .. letter:rep(150 * 1024) end
        local taken, lease, code = rig.hold(two:mutex(path "b")), nil, nil
        local lock = one:mutex(path "a", { order = "turns", batch = 1 })
        local first = rig.hold(lock, { owner = "first" })
        local lists, bytes = one:stats().lists, one:stats().watch_bytes
        zklock.run(function()
            code = rig.code_of(lock, { timeout = 60, owner = "second" })
        end, function()
            rig.wait_for("the list", function() return one:stats().lists > lists end)
            assert.is_nil(one:get("/none", 20))
            assert.is_true(one:stats().watch_bytes >= bytes + 150 * 1024)
            lease = rig.hold(one:mutex(path "b"), 60)
        end, function()
            rig.wait_for("a waiter", function() return #memory:children(path "b") == 2 end)
            rig.release(taken)
        end, function()
            rig.wait_for("the lock", function() return lease end)
            assert.equal(1, one:interrupt("second"))
        end)
        assert.equal("interrupted", code)
        rig.wait_for("both held", function()
            return first:state() == "held" and lease:state() == "held"
        end)
    end)
end)


describe("reset #zklock.memory", function()
    it("reset ends every session and empties the tree, also during a wait", function()
        local lease = rig.hold(one:mutex(BUN))
        zklock.run(function()
            assert.equal("expired", rig.code_of(two:mutex(BUN), 30))
        end, function()
            wait_for_line(2)
            memory:delay(60)
            memory:reset()
            assert.same({}, memory:children("/"))
            assert.equal("lost", lease:state())
        end)
        rig.becomes(one, "connected")
        rig.hold(one:mutex(BUN))
    end)

    it("reset of an unknown server does nothing", function()
        zklock.memory("nobody"):reset()
    end)
end)


describe("a fault #zklock.memory", function()
    it("a fault for a session of another server raises", function()
        local other = rig.session("memory:other")
        assert.error(function() memory:cut(other) end)
        assert.error(function() memory:cut("shop") end)
        assert.error(function() memory.cut(one) end)
        assert.equal("connected", other:state())
    end)

    it("a fault of a closed session does nothing", function()
        one:close()
        assert.is_false(memory:expire(one))
        assert.is_false(memory:cut(one))
        assert.is_false(memory:heal(one))
    end)

    it("faults may come at any moment while sessions work", function()
        local sold, deadline = 0, core.now() + 0.5
        local function sell(session)
            return function()
                while core.now() < deadline do
                    local lease = session:mutex(BUN):acquire(20)
                    if lease then
                        sold = sold + 1
                        lease:release()
                    else
                        zklock.sleep(0.001)
                    end
                end
            end
        end
        zklock.run(sell(one), sell(two), function()
            local faults = { "cut", "heal", "expire" }
            for i = 1, 1000 do
                if core.now() > deadline then break end
                memory[faults[i % 3 + 1]](memory, i % 2 == 0 and one or two)
                zklock.sleep(0.002)
            end
            memory:heal(one)
            memory:heal(two)
        end)
        assert.is_true(sold > 0)
        rig.come_to_rest(one, two)
        rig.hold(one:mutex(BUN))
    end)
end)


describe("docs/testing-your-code.md", function()
    it("the page shows the example as it runs", function()
        local function read(path) return assert(files.read("docs/" .. path)) end
        local page = read("testing-your-code.md")
        local source = read("testing-your-code/simulated_spec.lua")
        local count = 0
        for block in page:match("(.-)\n### "):gmatch "```lua\n(.-)```" do
            assert.truthy(source:find(block, 1, true), block)
            count = count + 1
        end
        assert.equal(2, count)
        -- Simulates the page's shop that trusts its lock.
        local load_text = loadstring or load -- luacheck: globals loadstring
        local function simulate(options)
            local shown = source:gsub("\ndescribe%(.*", "\nreturn zklock.simulate("
                .. "shop(trusting), " .. options .. ")\n")
            return assert(load_text(shown, "@simulated_spec.lua"))()
        end
        local result = simulate "{ seeds = 1000, faults = FAULTS }"
        assert.equal(page:match "```\n(1000 schedules, .-)\n```", tostring(result))
        assert.truthy(page:find("{ seed = " .. result.first.seed .. ",", 1, true))
        result = simulate(page:match "print%(zklock.simulate%(shop%(trusting%), (%b{})%)%)")
        local text = page:match "```\n(all %d+ schedules .-)\n```"
        assert.equal(text, tostring(result):sub(1, #text))
        assert.truthy(page:find('schedule = "' .. result.first.schedule .. '"', 1, true))
    end)
end)
