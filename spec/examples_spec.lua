--- [lua luajit] The programs of examples/ keep the promises of their comments, unchanged. (The shop
-- in nginx is started by spec/nginx/wait_spec.lua.)
local dkjson = require "dkjson"
local files = require "spec.files"
local rig = require "spec.rig"
local zklock = require "zklock"

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"

local server = rig.shared()


local function begin(name, ...)
    local words = { ("ZK_HOSTS=%s %s examples/%s.lua"):format(server.hosts, LUA, name), ... }
    return assert(io.popen(table.concat(words, " ") .. " 2>&1"))
end


local function run(name)
    local pipe = begin(name)
    local printed = pipe:read("*a")
    pipe:close()
    return printed
end


-- Returns a scenario of so many processes that run a program. check() gets their output.
local function scenario(text, processes, check)
    return function(world)
        local printed = {}
        local globals = setmetatable({
            print = function(...) printed[#printed + 1] = table.concat({ ... }, "\t") end,
            os = { getenv = function() return "memory:examples" end },
            arg = {},
        }, { __index = _G })
        for n = 1, processes do
            world:process("process " .. n, assert(load(text, "@example", "t", globals)))
        end
        world:finally(function() check(table.concat(printed, "\n")) end)
    end
end


describe("two processes with one program of examples/", function()
    local page = files.read "examples/README.md"

    for name, right in pairs{
        transfer = "both have\t100\n.*both have\t100\n.*not enough",
        pool = "at most [23] of 3 permits.*at most [23] of 3 permits",
        cache = "computed %d times.*computed %d times",
    } do
        it("all schedules with one preemption at most end right, and the page has their number: "
           .. name .. " #slow",
        function()
            local text = files.read("examples/" .. name .. ".lua")
            local found = assert(zklock.simulate(scenario(text, 2, function(printed)
                assert.matches(right, printed)
            end), { all = { preemptions = 1 } }))
            assert.equal(0, found.wrong, tostring(found))
            assert.is_true(found.complete)
            local number = found.schedules .. " of%s" .. name .. "%.lua"
            assert.is_truthy(page:find("%f[%d]" .. number), number)
        end)
    end
end)


describe("the programs of examples/", function()
    after_each(rig.close_sessions)

    it("the pool never has more than three permits in use", function()
        local printed = run "pool"
        local _, count = printed:gsub("exported ", "")
        assert.equal(6, count, printed)
        assert.is_truthy(printed:find("at most [123] of 3 permits were in use\n"), printed)
    end)

    it("the transfer loses nothing, and refuses unknown accounts", function()
        assert.equal("both have\t100\na thousand\tnot enough\n", run "transfer")
    end)

    local function spans_of(printed)
        local list = {}
        for line in printed:gmatch "[^\n]+" do
            local text = assert(dkjson.decode(line), line)
            list[#list + 1] = text.resourceSpans[1].scopeSpans[1].spans[1]
        end
        return list
    end

    it("spans has a span of each wait and each hold, in its request's trace", function()
        local spans = {}
        for _, span in ipairs(spans_of(run "spans")) do
            local lasts = span.endTimeUnixNano / 1e9 - span.startTimeUnixNano / 1e9
            assert.is_true(lasts >= 0 and os.time() - span.endTimeUnixNano / 1e9 < 600)
            assert.equal(16, #span.spanId)
            assert.equal("/examples/stock", span.attributes[1].value.stringValue)
            assert.matches("^%d+$", span.attributes[2].value.stringValue)
            spans[#spans + 1] = ("%s %s %s %s"):format(span.traceId, span.parentSpanId, span.name,
                span.name == "lock hold" and lasts >= 0.04 and "long" or "")
        end
        table.sort(spans)
        assert.same({
            "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 lock hold long",
            "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 lock wait ",
            "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 lock hold long",
            "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 lock wait ",
        }, spans)
    end)

    it("a request with another's header waits until that one has released the lock", function()
        local text = files.read("examples/spans.lua")
        local header, other = text:match 'request "([^"]+)".-(request "[^"]+")'
        local later = ('zklock.sleep(0.02) request "%s"'):format(header)
        text = text:gsub(other:gsub("%-", "%%-"), later) -- while the first request works
        local found = assert(zklock.simulate(scenario(text, 1, function(printed)
            local names, last_end = {}, 0
            for i, span in ipairs(spans_of(printed)) do
                assert.equal(header, ("00-%s-%s-01"):format(span.traceId, span.parentSpanId))
                names[i] = span.name
                if span.name == "lock hold" then
                    assert(tonumber(span.startTimeUnixNano) >= last_end, "two inside")
                    last_end = tonumber(span.endTimeUnixNano)
                end
            end
            assert.same({ "lock wait", "lock hold", "lock wait", "lock hold" }, names)
        end), { seeds = 20 }))
        assert.equal(0, found.wrong, tostring(found))
    end)

    it("the cache computes once for all its readers", function()
        assert.equal("five readers, computed 1 times\n", run "cache")
    end)

    it("the leader has a standby, which follows it #slow", function()
        local first = begin("leader", "host-a:80")
        assert.is_truthy(first:read("*l"):find("^host%-a:80 leads, by token %d+$"))
        local second = begin("leader", "host-b:80")
        assert.equal("host-a:80 gives way\n", first:read("*a"))
        local printed = second:read("*a")
        assert.is_truthy(printed:find("host%-b:80 leads, by token %d+\nhost%-b:80 gives way\n$"),
                         printed)
        first:close()
        second:close()
    end)

    it("the leader takes no message of a failure for a leader", function()
        local text = files.read("examples/leader.lua"):gsub("timeout = 4", "%0, reopen = false")
        text = "pcall(function() " .. text .. " end) require('zklock').sleep(1) -- for callbacks"
        local found = assert(zklock.simulate(scenario(text, 1, function(printed)
            assert.is_nil(printed:find("expired", 1, true), printed)
        end), { seeds = 50, faults = { expire = true } }))
        assert.equal(0, found.wrong, tostring(found))
        assert.is_true(found.tried.faults.expire > 10)
    end)

    describe("the nightly job", function()
        local folder

        before_each(function()
            folder = rig.shell("mktemp -d"):match "[^\n]+"
            files.write(folder .. "/zklock", ('#!/bin/sh\nexec %s bin/zklock "$@"\n'):format(LUA))
            rig.shell("chmod +x %s/zklock", folder)
        end)
        after_each(function() rig.shell("rm -rf %s", folder) end)

        -- A shell's line that starts the job; `keep` is in seconds.
        local function job(keep)
            return ("PATH=%s:$PATH ZK_HOSTS=%s NIGHTLY_KEEP=%d exec examples/nightly.sh %s/reports")
                :format(folder, server.hosts, keep, folder)
        end

        local function night() return rig.shell("(%s) 2>&1; echo $?", job(0)) end

        local function reports()
            return tonumber(rig.shell("cat %s/reports/reports 2>/dev/null | wc -l", folder))
        end

        it("the job does nothing while another machine holds the lock #slow", function()
            local lease = rig.hold(rig.session(server.hosts):mutex "/examples/nightly")
            assert.equal("0\n", night())
            assert.equal(0, reports())
            rig.release(lease)
            assert.equal("0\n", night())
            assert.equal(1, reports())
        end)

        it("the job asks for its own lock also under another one", function()
            local lease = rig.hold(rig.session(server.hosts):mutex "/examples/nightly")
            assert.equal("0\n", rig.shell("ZKLOCK_TOKEN=1 ZKLOCK_PATH=/other; "
                .. "export ZKLOCK_TOKEN ZKLOCK_PATH; (%s) 2>&1; echo $?", job(0)))
            assert.equal(0, reports())
            rig.release(lease)
        end)

        it("the job keeps the lock after its work, for a machine whose clock is late #slow",
           function()
            local first = assert(io.popen("echo $$; " .. job(600)))
            local pid = first:read("*l")
            rig.wait_for("the report", function() return reports() == 1 end)
            assert.equal("0\n", night())
            assert.equal(1, reports())
            rig.shell("kill %s", pid)
            first:close()
        end)

        it("the job throws its report away if a later run was quicker #slow", function()
            rig.shell("mkdir %s/reports; echo 9000000000000000 >%s/reports/token", folder, folder)
            local printed = night()
            assert.is_truthy(printed:find("this one is thrown away\n1\n$"), printed)
            assert.equal(0, reports())
        end)
    end)
end)
