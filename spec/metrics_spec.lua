--- [lua luajit asan tsan memory worlds] session:stats() with times, zklock.metrics() and on_event,
-- for operators.
local core = require "zklock.core"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local hold, wait_for = rig.hold, rig.wait_for

after_each(rig.close_sessions)


local function open_recorded(hosts)
    local events = {}
    local function record(event) events[#events + 1] = event end
    return rig.session(hosts or server.hosts, { on_event = record }), events
end


-- Returns the events of a path, or without a path the session's: "queued 2 granted released".
local function steps_of(events, path)
    local words = {}
    for _, event in ipairs(events) do
        if event.path == path then
            words[#words + 1] = event.event .. (event.position and " " .. event.position or "")
        end
    end
    return table.concat(words, " ")
end


local function sample(text, name)
    for line in text:gmatch("[^\n]+") do
        if line:sub(1, #name + 1) == name .. " " then return tonumber(line:sub(#name + 2)) end
    end
end


describe("stats() #session:stats", function()
    local session, path
    before_each(function()
        session, path = rig.session(server.hosts), rig.path()
    end)

    it("stats tell the times of waits, holds and requests", function()
        local lease = hold(session:mutex(path))
        zklock.sleep(0.05)
        rig.release(lease)
        local stats = session:stats()
        assert.equal(1, stats.wait.count)
        assert.equal(1, stats.hold.count)
        assert.is_true(stats.hold.max >= 0.05)
        assert.equal(stats.hold.max, stats.hold.sum)
        for _, field in ipairs{ "p50", "p90", "p99" } do
            local error = stats.hold[field] / stats.hold.max - 1
            assert.is_true(math.abs(error) <= 0.05, field)
        end
        assert.is_true(stats.round_trip.count >= 3)
        assert.is_true(stats.round_trip.p50 > 0)
        assert.equal(0, stats.hand_over.count)
    end)

    it("a histogram's counts grow with its buckets, up to all", function()
        rig.use(session:mutex(path))
        local last = { le = 0, count = 0 }
        for _, bucket in ipairs(session:stats().wait.buckets) do
            assert.is_true(bucket.le > last.le and bucket.count >= last.count)
            last = bucket
        end
        assert.equal(1, last.count)
        assert.is_true(last.le > 60)
    end)

    it("stats count acquires by outcome, and re-entries separately", function()
        local other = rig.session(server.hosts)
        local lock = session:mutex(path)
        lock:with(function()
            lock:with(function() end)
            assert.equal("conflict", rig.code_of(session:rwlock(path):read(), 1))
        end)
        local lease = hold(other:mutex(path))
        assert.equal("busy", rig.code_of(lock, 0))
        assert.equal("timeout", rig.code_of(lock, 0.05))
        lease:release()
        local stats = session:stats()
        assert.same({ granted = 1, reentered = 1, busy = 1, timeout = 1, conflict = 1 },
                    stats.outcomes)
        assert.same({ 1, 1, 1 }, { stats.wait.count, stats.grants, stats.timeouts })
    end)

    local function hand_over(holder, seconds)
        rig.run(2, function(n)
            if n == 2 then server:wait_for_nodes(path, 1) end
            local own = n == 1 and holder or session
            own:mutex(path):with(function()
                if n == 2 then return end
                rig.wait_for_stats(session, { waits = 1, in_flight = 0 })
                zklock.sleep(seconds)
            end)
        end)
        return session:stats()
    end

    it("a hand-over within a process is timed from the release", function()
        local stats = hand_over(session, 0.05)
        assert.equal(1, stats.hand_over.count)
        assert.is_true(stats.hand_over.max < stats.wait.max)
        assert.is_true(stats.wait.max > 0.05)
    end)

    it("a hand-over between processes is timed from the news that the node ahead is gone",
       function()
        local other = rig.session(server.hosts)
        assert.equal(1, hand_over(other, 0).hand_over.count)
        assert.equal(0, other:stats().hand_over.count)
    end)

    it("a wait in a condition ends a hold, and begins another", function()
        local lock = session:mutex(path)
        local condition = lock:condition("full")
        rig.run(2, function(n)
            if n == 2 then server:wait_for_nodes(path .. "-condition-full", 1) end
            lock:with(function(lease)
                if n == 1 then assert(condition:wait(lease, 20)) else condition:signal(lease) end
            end)
        end)
        assert.equal(3, session:stats().hold.count)
        assert.equal(2, session:stats().wait.count)
    end)

    it("a multi-lock counts once, and not for its parts' names, nor does a part's re-entry",
       function()
        local part = session:mutex(path .. "/1", { metrics = "part" })
        local both = session:multi{ part, session:mutex(path .. "/2", { metrics = "part" }) }
        both:with(function() part:with(function() end) end)
        local stats = session:stats()
        assert.same({ 1, 1 }, { stats.wait.count, stats.hold.count })
        assert.same({ granted = 1, reentered = 1 }, stats.outcomes)
        assert.same({ granted = 0, reentered = 0 }, stats.locks.part.outcomes)
    end)

    it("locks that share a name are counted together, and no other lock", function()
        session:mutex(path .. "/1", { metrics = "stock" }):with(function() end)
        session:rwlock(path .. "/2", { metrics = "stock" }):read():with(function() end)
        session:semaphore(path .. "/3", 2, { metrics = "gate" }):with(function() end)
        session:locked(path .. "/4-", 1, function() end, { metrics = "stock" })("key")
        session:mutex(path .. "/5"):with(function() end)
        local stats = session:stats()
        assert.equal(5, stats.wait.count)
        assert.equal(3, stats.locks.stock.wait.count)
        assert.equal(3, stats.locks.stock.hold.count)
        assert.same({ granted = 1, reentered = 0 }, stats.locks.gate.outcomes)
    end)
end)


-- promtool's tests by the trouble in their series: paths or watches near their limit, and in each
-- minute 6 of 100 waits that time out, with 900 busy tries.
local NEAR_LIMIT = [[
  - input_series: [ { series: 'zklock_%s{job="shop"}', values: '%g' } ]
    alert_rule_test:
      - eval_time: 0m
        alertname: LimitIsNear
        exp_alerts: [ { exp_labels: { job: shop } } ]
]]
local ALERTS = {
    ["paths that are near their limit"] = NEAR_LIMIT:format("path_bytes", 524288 * 0.8),
    ["watches that are near their limit"] = NEAR_LIMIT:format("watch_bytes", 262144 * 0.8),
    ["waits that time out, beside any number of busy tries"] = [[
  - interval: 1m
    input_series:
      - { series: 'zklock_acquires_total{outcome="granted"}', values: '0+94x10' }
      - { series: 'zklock_acquires_total{outcome="timeout"}', values: '0+6x10' }
      - { series: 'zklock_acquires_total{outcome="busy"}', values: '0+900x10' }
    alert_rule_test:
      - { eval_time: 10m, alertname: WaitsTimeOut, exp_alerts: [ {} ] }
]],
}


describe("metrics() #zklock.metrics", function()
    it("metrics() sums all sessions of the process, also closed sessions, as text", function()
        local one, two = rig.session(server.hosts), rig.session(server.hosts)
        local granted = 'zklock_acquires_total{outcome="granted"}'
        local before = sample(zklock.metrics(), granted)
        rig.use(one:mutex(rig.path()))
        rig.use(two:mutex(rig.path()))
        assert.equal(before + 2, sample(zklock.metrics(), granted))
        one:close()
        assert.equal(before + 2, sample(zklock.metrics(), granted))
        assert.is_true(sample(zklock.metrics(), 'zklock_sessions{state="connected"}') >= 1)
    end)

    it("metrics() has the given labels, escaped", function()
        local session = rig.session(server.hosts)
        local name = 'a "name" \\ of ' .. rig.path()
        rig.use(session:mutex(rig.path(), { metrics = name }))
        local text = zklock.metrics{ worker = 3, zone = "x" }
        local label = 'lock="' .. name:gsub('[\\"]', "\\%0") .. '"'
        local labels = '{worker="3",zone="x",' .. label
        assert.equal(1, sample(text, "zklock_lock_wait_seconds_count" .. labels .. "}"))
        assert.equal(1, sample(text, "zklock_lock_wait_seconds_bucket" .. labels .. ',le="+Inf"}'))
        assert.is_number(sample(text, 'zklock_losses_total{worker="3",zone="x"}'))
    end)

    it("metrics() writes points in numbers also under a locale with commas", function()
        local session = rig.session(server.hosts)
        rig.use(session:mutex(rig.path()))
        local format = string.format
        finally(function() string.format = format end) -- luacheck: ignore 122
        function string.format(form, ...) -- luacheck: ignore 122
            local text = format(form, ...)
            return form:find "%%%.%d+g$" and text:gsub("%.", ",") or text
        end
        local text = zklock.metrics{ zone = 0.5 }
        assert.is_number(sample(text, 'zklock_wait_seconds_bucket{zone="0.5",le="6.4e-05"}'))
        for line in text:gmatch "[^\n]+" do
            if not line:find "^#" then assert.matches("%} [%d.e+-]+$", line) end
        end
    end)

    it("labels that metrics() uses itself, and bad names and values, are refused", function()
        rig.blames("label", function() zklock.metrics{ lock = "x" } end)
        rig.blames("label", function() zklock.metrics{ ["a-b"] = "x" } end)
        rig.blames("label", function() zklock.metrics{ worker = true } end)
        rig.blames("labels of metrics", function() zklock.metrics("worker") end)
    end)

    it("promtool accepts the alerts, and the page explains each #promtool", function()
        local rules = "examples/prometheus/alerts.yml"
        assert.matches("SUCCESS: 8 rules", rig.shell("promtool check rules %s 2>&1", rules))
        local page, wrong = files.read "docs/monitoring.md", {}
        for name in files.read(rules):gmatch "alert: (%a+)" do
            local there = page:find("\n| `" .. name .. "` |", 1, true)
            if not there then wrong[#wrong + 1] = name end
        end
        assert.same({}, wrong)
    end)

    for trouble, test in pairs(ALERTS) do
        it("an alert is raised for " .. trouble .. " #promtool", function()
            local file, folder = os.tmpname(), rig.shell("pwd"):match "[^\n]+"
            local rules = ("rule_files: [ %s/examples/prometheus/alerts.yml ]\n"):format(folder)
            assert(files.write(file, rules .. "tests:\n" .. test))
            local said = rig.shell("promtool test rules %s 2>&1", file)
            os.remove(file)
            assert.matches("SUCCESS", said)
        end)
    end
end)


describe("on_event #events", function()
    local path
    before_each(function() path = rig.path() end)

    it("on_event tells each step of a lock, with its times", function()
        local session, events = open_recorded()
        local lock = session:mutex(path)
        local lease = hold(lock, 5)
        rig.wait_while(lock, { timeout = 20, owner = "second" }, function()
            zklock.sleep(0.05)
            lease:release()
        end):release()
        zklock.sleep(0)
        assert.equal("granted queued 2 released granted released", steps_of(events, path))
        local queued, released, granted = events[2], events[3], events[4]
        assert.equal('string "second"', queued.owner)
        assert.equal(lease.token, released.token)
        assert.is_true(released.held >= 0.05 - rig.ROUNDED)
        assert.is_true(granted.waited >= 0.05 - rig.ROUNDED and granted.token > released.token)
    end)

    it("on_event tells the date of a step #real", function()
        local session, events = open_recorded()
        hold(session:mutex(path), 5)
        zklock.sleep(0)
        assert.is_true(math.abs(events[1].time - os.time()) < 60)
    end)

    it("on_event tells the releases by release_all and by close", function()
        local session, events = open_recorded()
        hold(session:mutex(path))
        hold(session:mutex(path .. "-kept"))
        session:release_all()
        assert.equal("", steps_of(events, path .. "-other"))
        local last = session:mutex(path .. "-other"):acquire(5)
        session:close()
        session:dispatch()
        assert.equal("granted released", steps_of(events, path))
        assert.equal("granted released", steps_of(events, path .. "-other"))
        assert.equal("released", last:state())
    end)

    it("on_event tells an outage and a loss for the session and for the lease #real", function()
        local memory = zklock.memory("metrics")
        local session, events = open_recorded("memory:metrics")
        local lease = hold(session:mutex(path))
        local function wait_for_steps(of_lease, of_session)
            wait_for(of_lease .. "; " .. of_session, function()
                session:dispatch()
                return steps_of(events, path) == of_lease and steps_of(events, nil) == of_session
            end)
        end
        memory:cut(session)
        wait_for_steps("granted suspect", "")
        memory:heal(session)
        wait_for_steps("granted suspect held", "reconnected")
        memory:expire(session)
        wait_for_steps("granted suspect held lost", "reconnected expired")
        assert.equal("lost", lease:state())
        assert.is_nil(events[#events].owner and events[#events - 1].owner)
    end)

    it("on_event tells a holder's process that somebody asked for the lock", function()
        local session, events = open_recorded()
        local lease = hold(session:mutex(path))
        lease:on_revoke(function() end)
        wait_for("the holder's watch", function() return session:stats().in_flight == 0 end)
        assert.equal(1, rig.session(server.hosts):mutex(path):revoke(20))
        wait_for("the step", function()
            session:dispatch()
            return steps_of(events, path) == "granted revoked"
        end)
        lease:release()
    end)

    it("on_event tells once that tokens are mixed on a path", function()
        local session, events = open_recorded()
        rig.use(session:mutex(path))
        rig.use(session:mutex(path))
        for _ = 1, 2 do
            session:mutex(path, { keep = 0.01 }):with(function() end)
            wait_for("the end of the kept node", function()
                return session:stats().claims == 0
            end)
            rig.use(session:mutex(path))
        end
        session:dispatch()
        assert.equal(1, select(2, steps_of(events, path):gsub("mixed_tokens", "")))
        rig.use(session:mutex(path .. "-fifo"))
        rig.use(session:mutex(path .. "-fifo"))
        assert.is_nil(steps_of(events, path .. "-fifo"):match("mixed"))
    end)

    it("on_event tells that a part of a multi-lock mixes the tokens of its path", function()
        local session, events = open_recorded()
        session:mutex(path, { token = "turns" }):with(function() end)
        session:multi({ session:mutex(path), session:mutex(path .. "-2") }):with(function() end)
        session:dispatch()
        assert.matches("mixed_tokens", steps_of(events, path))
    end)

    for kind, make in pairs{
        ["a mutex"] = function(_, lock) return lock end,
        ["a multi-lock"] = function(session, lock)
            return session:multi{ session:mutex(path .. "-first", { token = "turns" }), lock }
        end,
    } do
        it("on_event tells of mixed tokens at the grant, not for a refused acquire, of " .. kind,
           function()
            local session, events = open_recorded()
            local counting = make(session, session:mutex(path, { token = "turns" }))
            local lease = hold(session:mutex(path))
            assert.equal("conflict", rig.code_of(counting, 20))
            rig.release(lease)
            session:dispatch()
            assert.equal("granted released", steps_of(events, path))
            rig.use(counting)
            session:dispatch()
            assert.equal(1, select(2, steps_of(events, path):gsub("mixed_tokens", "")))
        end)
    end

    it("an error in on_event breaks no lock, and is counted", function()
        local session = rig.session(server.hosts, { on_event = function() error("broken") end })
        local lock = session:mutex(path)
        assert.same({ true, 7 }, { lock:with(5, function() return 7 end) })
        session:dispatch()
        assert.is_true(session:stats().callback_errors >= 2)
        assert.matches("broken", session:stats().callback_error)
    end)

    it("events that nobody takes are counted, and only the newest are kept #real", function()
        local session, events = open_recorded()
        local lock = session:mutex(path, { keep = 60 })
        rig.use(lock)
        local due = core.now() + 60
        while session:stats().untold_events == 0 and core.now() < due do
            local request = session.handle:acquire(lock.acquire_options, "main", 5, nil, {})
            repeat until request:done() -- a renewal of the kept node takes its time
            request:drop()
        end
        session:dispatch()
        assert.is_true(#events >= 4096 and #events < 4200, #events)
    end)

    it("a session without on_event adds no event to another session's", function()
        local _, events = open_recorded()
        rig.use(rig.session(server.hosts):mutex(path))
        zklock.sleep(0.01)
        assert.equal("", steps_of(events, path))
    end)
end)


-- Last, because its names stay in this process.
describe("names of metrics #zklock.metrics", function()
    it("a session has at most 100 names, because locks are named, not keys", function()
        local session, path = rig.session(server.hosts), rig.path()
        for i = 1, 100 do session:mutex(path .. i, { metrics = "lock " .. i }) end
        session:mutex(path, { metrics = "lock 7" })
        rig.blames("a session has at most 100 names", function()
            session:mutex(path, { metrics = "one more" })
        end)
    end)

    it("metrics() has the names of all sessions, also more than 100, and of closed sessions",
       function()
        local path = rig.path()
        local function use_names(prefix, count)
            local session = rig.session(server.hosts)
            for i = 1, count do
                rig.use(session:mutex(path .. i, { metrics = prefix .. i }))
            end
            return session
        end
        local function check_names(prefix, count)
            local text = zklock.metrics()
            for i = 1, count do
                local sum = ('zklock_lock_wait_seconds_count{lock="%s%d"}'):format(prefix, i)
                assert.equal(1, sample(text, sum), sum)
            end
        end
        local early, late = use_names("early ", 60), use_names("late ", 60)
        check_names("early ", 60)
        check_names("late ", 60)
        early:close()
        late:close()
        use_names("last ", 1)
        check_names("late ", 60)
        check_names("last ", 1)
    end)
end)
