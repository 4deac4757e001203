--- What SECURITY.md says about ZooKeeper, tried out.

local rig = require "spec.rig"

describe("a session's password #server", function()
    local server = rig.shared()

    after_each(rig.close_sessions)

    it("follows from its id: who reads the names of lock nodes can end the holder's session, " ..
       "and the token holds", function()
        local path = rig.path()
        local lease = rig.hold(rig.session(server.hosts, { auth = "digest:shop:secret" })
            :mutex(path))
        local a, b, c = rig.foreign(server:host(), "children %s", path)
            :match("^ok _c_(%x+)%-(%x+)%-(%x+)")
        rig.wait_for("the lease lost", function() -- its client may come between, and take it back
            rig.foreign(("%s@%s"):format(server:host(), a .. b .. c), "")
            return lease:state() == "lost"
        end)
        local stale = assert(tonumber(lease.token))
        assert.is_true(rig.hold(rig.session(server.hosts):mutex(path)).token > stale)
    end)

    it("is out of reach for whoever may not read those names", function()
        local path = rig.path()
        rig.hold(rig.session(server.hosts, { auth = "digest:shop:secret", acl = "creator" })
            :mutex(path))
        assert.equal("error -102\n", rig.foreign(server:host(), "children %s", path))
    end)
end)
