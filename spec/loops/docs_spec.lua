--- [lua luajit memory] The examples of docs/loops.md run as written, but for the address and the
-- path; so do examples of docs/members.md and docs/production.md.
package.path = "docs/members/?.lua;" .. package.path

local cqueues = require "cqueues"
local files = require "spec.files"
local program = require "spec.fault.program"
local rig = require "spec.rig"

local server = rig.shared()
local examples = {}
for source in assert(io.open("docs/loops.md")):read("*a"):gmatch("```lua\n(.-)```") do
    examples[source:match("^%-%- ([^\n]+)")] = source
end

local SOLD = { "sold\t1", "sold\t2", "sold\t3" }
local said = { cqueues = SOLD, luv = { "sold" }, ["another loop"] = SOLD }
if jit then said.copas = { "sold" } end -- luacheck: globals jit


describe("docs/loops.md", function()
    for name, lines in pairs(said) do
        it("each example of docs/loops.md runs: " .. name, function()
            local source, replaced = examples[name]:gsub("127%.0%.0%.1:2181", server.hosts)
            assert.equal(1, replaced)
            -- A killed example leaves its lock.
            source, replaced = source:gsub("/locks/sku%-42", rig.path())
            assert.equal(1, replaced)
            -- Coroutines that wait survive a collection.
            source = source:gsub("local function step%(%)", "%0 collectgarbage()")
            local child = program.start(server.hosts, "io.stdout:setvbuf('line')\n" .. source)
            local got = {}
            for n = 1, #lines do got[n] = child:line() end
            table.sort(got)
            assert.same(lines, got)
            if name == "copas" then child:signal("KILL") end -- its loop does not end
            local rest, errors, status = child:finish()
            assert.equal("", rest)
            assert.equal(name == "copas" and 128 + 9 or 0, status, errors)
        end)
    end
end)


describe("the timer of docs/members.md in an event loop #session:members", function()
    after_each(rig.close_sessions)

    it("another coroutine goes on between the ticks, and the list is delivered", function()
        local controller, session = cqueues.new(), rig.session(server.hosts)
        local turns, seen, log = 0, {}, {}
        local page = files.read "docs/members.md":match "## In an event loop.-```lua\n(.-)```"
        local source, replaced = page:gsub("/members/shop", rig.path()):gsub(", 60,", ", 0.05,")
        assert.equal(1, replaced)
        local run = assert((loadstring or load)(
            "local cqueues, controller, session, once, remove_old_carts, log = ...\n" .. source))
        run(cqueues, controller, session, require "once", function()
            seen[#seen + 1] = turns
            if #seen == 3 then session:close() end
        end, function(why) log[#log + 1] = why end)
        controller:wrap(function()
            while session:state() ~= "closed" do
                cqueues.sleep(0.001)
                turns = turns + 1
            end
        end)
        assert(controller:loop(60))
        assert.same({}, log)
        assert.is_true(seen[3] > seen[2] and seen[2] > seen[1], "the loop was blocked")
    end)
end)


describe("the signal handler of docs/production.md #session:close", function()
    it("a holder in luv ends its work before the session is closed", function()
        local page = files.read "docs/production.md"
        local handler = page:match "```lua\n(local signal = uv%.new_signal.-)```"
        local child = program.start(server.hosts, ([[
            local uv = require "luv"
            local session = assert(zklock.connect(HOSTS, { timeout = 8 }))
            %s
            local begin = uv.new_timer()
            begin:start(0, 0, function()
                begin:close()
                coroutine.wrap(function()
                    local lease = assert(session:mutex(%q):acquire(5))
                    uv.kill(uv.os_getpid(), "sigterm")
                    local other, code = session:mutex(%q), nil
                    repeat -- until the drain has begun
                        code = select(3, other:with(0, function() end))
                    until code
                    print(code, lease:state(), lease:release())
                end)()
            end)
            uv.run()
            print(session:state())
        ]]):format(handler, rig.path(), rig.path()))
        local printed, errors, status = child:finish()
        assert.equal("closed\theld\ttrue\nclosed\n", printed)
        assert.equal(0, status, errors)
    end)
end)
