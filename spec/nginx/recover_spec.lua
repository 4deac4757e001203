--- A worker that is killed, with `recover`: no session timeout passes, which is forty seconds here.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

describe("a worker of nginx that is killed under load #nginx", function()
    local server, host, folder

    setup(function() server = rig.server{ tick = 2000 } end)
    teardown(function() server:stop() end)
    after_each(function()
        rig.close_sessions()
        nginx.stop_all(host)
        rig.shell("rm -rf %s", folder)
    end)

    it("is succeeded at once where it has recover", function()
        folder = rig.shell("mktemp -d /dev/shm/zklock-XXXXXX"):match("%S+")
        local path = rig.path()
        local query = ("?hosts=%s&session_timeout=40&recover=%s&path=%s"):format(
            server.hosts, folder, path)
        host = nginx.start()
        local lease = rig.hold(rig.session(server.hosts):mutex(path))
        local begun = host:begin("200 /with" .. query)
        server:wait_for_nodes(path, 201)
        local worker = host:workers()[1]
        lease:release()
        host:signal("KILL", worker)
        nginx.finish(begun)
        local answer = host:get("/with" .. query)
        assert.equal("held", answer.body)
        assert.is_true(answer.seconds < 20, answer.seconds)
        assert.not_equal(worker, host:workers()[1])
        assert.equal(1, #host:troubles()) -- that it crashed
        if os.getenv("ZKLOCK_FIGURES") then print(("%.3f s"):format(answer.seconds)) end
        host = nil
    end)
end)
