--- [lua luajit asan tsan] The statements of SECURITY.md about ZooKeeper.

local files = require "spec.files"
local rig = require "spec.rig"

local ZKCLI = "/usr/share/zookeeper/bin/zkCli.sh"
local REFUSED, NOT_EMPTY = "error -102\n", "error -111\n"

describe("a session's password #server", function()
    local server = rig.shared()

    after_each(rig.close_sessions)

    it("a reader of lock nodes' names can end the holder's session by its id, and the token holds",
       function()
        local path = rig.path()
        local lease = rig.hold(rig.session(server.hosts, { auth = "digest:shop:secret" })
            :mutex(path))
        local a, b, c = rig.foreign(server:host(), "children %s", path)
            :match("^ok _c_(%x+)%-(%x+)%-(%x+)")
        rig.wait_for("the lease lost", function() -- its client may take the session back in between
            rig.foreign(("%s@%s"):format(server:host(), a .. b .. c), "")
            return lease:state() == "lost"
        end)
        local stale = assert(tonumber(lease.token))
        assert.is_true(rig.hold(rig.session(server.hosts):mutex(path)).token > stale)
    end)

    it("a client that may not read those names cannot know the id", function()
        local path = rig.path()
        rig.hold(rig.session(server.hosts, { auth = "digest:shop:secret", acl = "creator" })
            :mutex(path))
        assert.equal(REFUSED, rig.foreign(server:host(), "children %s", path))
    end)
end)


describe("the paths that SECURITY.md makes in zkCli #server", function()
    local server = rig.shared()
    after_each(rig.close_sessions)

    it("only clients with the credentials can use or delete the paths #slow", function()
        local root = rig.path()
        server:foreign("create %s ''", root)
        local recipe = files.read "SECURITY.md":match "\n    (addauth .-)\n\n" .. "\n"
        local script = os.tmpname()
        files.write(script, (recipe:gsub("\n +", "\n")))
        rig.shell("%s -server %s%s <%s >/dev/null 2>&1", ZKCLI, server:host(), root, script)
        os.remove(script)
        local nightly = root .. "/locks/nightly"
        rig.hold(rig.session(server.hosts, { auth = "digest:user:password", acl = "creator" })
            :mutex(nightly)):release{ wait = 20 }
        for _, command in ipairs{ "children %s", "create %s/x ''", "delete %s" } do
            assert.equal(REFUSED, rig.foreign(server:host(), command, nightly), command)
        end
        assert.equal(REFUSED, rig.foreign(server:host(), "create %s/locks/x ''", root))
        assert.equal(NOT_EMPTY, rig.foreign(server:host(), "delete %s/locks", root))
    end)
end)
