--- In nginx, requests of one worker share a server in memory, and two workers do not.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"


describe("a server in memory, in nginx #nginx #zklock.memory", function()
    local host, query

    before_each(function() query = "hosts=memory:shop&path=" .. rig.path() end)
    after_each(function() nginx.stop_all(host) end)

    local function get(what) return host:get(what .. query).body end

    local function begin_ten_waits()
        get("/keep?")
        local begun = host:begin("10 /with?" .. query)
        rig.wait_for("the ten waits", function()
            return get("/session?"):find("claims=11", 1, true)
        end)
        return begun
    end

    it("requests that wait do not block the worker", function()
        host = nginx.start()
        local begun = begin_ten_waits()
        assert.equal("pong", host:get("/ping").body)
        assert.equal("timeout", get("/with?timeout=0.05&"):match("^%w+"))
        assert.equal("dropped", get("/drop?"))
        assert.same({ held = 10 }, nginx.bodies(nginx.finish(begun)))
    end)

    it("each worker has a server of its own, and excludes no other worker", function()
        host = nginx.start{ workers = 2 }
        local held = 0
        local function keep()
            local code = get("/keep?timeout=0&"):match("^%w+")
            if code ~= "busy" then held = held + 1 end
            return held
        end
        rig.wait_for("a request in each worker", function() return keep() == 2 end)
        for _ = 1, 10 do keep() end
        assert.equal(2, held)
    end)

    for _, signal in ipairs{ "HUP", "QUIT" } do
        it("a worker leaves on " .. signal, function()
            host = nginx.start()
            local begun = begin_ten_waits()
            local worker = host:workers()[1]
            host:signal(signal)
            for _, answer in ipairs(nginx.finish(begun)) do
                assert.equal("interrupted", answer.body:match("^%w+"))
            end
            assert(nginx.wait_until_gone(worker, 10), "the worker stays")
            if signal == "HUP" then assert.equal("held", get("/with?timeout=0&")) end
        end)
    end
end)
