--- [lua luajit asan tsan] zklock members on a real server.

local commands = require "spec.commands"
local rig = require "spec.rig"

local start, ends, expect = commands.start, commands.ends, commands.expect

describe("zklock members #server", function()
    local server, folder, session

    before_each(function() server, folder, session = rig.begin(1) end)
    after_each(commands.end_all)

    it("members lists names, data, sessions and ages", function()
        rig.join(session, folder, "b", "weight=3")
        rig.join(session, folder, "a", ("x"):rep(100))
        server:foreign("create %s/lasting y", folder)
        local rows = commands.rows(ends(0, "members %s", folder))
        assert.matches("^NAME +DATA +SESSION +SINCE$", rows[1])
        assert.matches("^a +x+… +" .. session:id() .. " +%d+ s$", rows[2])
        assert.matches("^b +weight=3 +" .. session:id() .. " +%d+ s$", rows[3])
        assert.matches("^lasting +y +%- +%d+ s$", rows[4])
        assert.equal(4, #rows)
    end)

    it('members says "no members" of an empty or missing folder', function()
        assert.equal("no members", ends(0, "members %s", folder))
        rig.join(session, folder, "a"):leave()
        rig.wait_for("no members", function()
            return ends(0, "members %s", folder) == "no members"
        end)
        assert.equal("[]", ends(0, "members --json %s", folder))
    end)

    it("members shows only the name of a node that may not be read", function()
        server:foreign("create %s '' create %s/a x hide %s/a", folder, folder, folder)
        assert.matches("\na +%- +%- +%-$", ends(0, "members %s", folder))
        assert.equal('[{"name":"a"}]', ends(0, "members --json %s", folder))
    end)

    it("members --json prints one line of JSON", function()
        rig.join(session, folder, "a", 'x "y"\\')
        assert.matches('^%[{"data":"x \\u0022y\\u0022\\u005c","name":"a","session":"'
            .. session:id() .. '","since":%d+%.?%d*}%]$', ends(0, "members --json %s", folder))
    end)

    it("members prints nothing that a terminal would obey", function()
        rig.join(session, folder, "\226\128\174x", "a\27[2Jb\194\155c\226\128\174d\ne\255")
        assert.matches("\n%?x +a%?%[2Jb%?c%?d e\239\191\189 ", ends(0, "members %s", folder))
        expect(ends(0, "members --json %s", folder), '"name":"\\u202ex"',
            '"a\\u001b[2Jb\\u009bc\\u202ed\\u000ae\239\191\189"')
    end)

    it("members --watch shows the list after each change, until an interrupt #slow", function()
        local process = start("members --watch %s", folder)
        process:find("no members")
        local member = rig.join(session, folder, "a", "x")
        process:find("a    ")
        member:leave()
        process:find("no members")
        process:ends(0, "INT")
    end)

    it("members --watch ends with 69 when the server is gone #slow", function()
        local proxy = rig.proxy_for_test(server.hosts)
        rig.join(session, folder, "a", "x")
        local process = start("--hosts %s --timeout 2 members --watch %s", proxy.hosts, folder)
        process:find("a    ")
        proxy:shut()
        expect(process:ends(69), "no ZooKeeper server answered")
    end)

    it("members ends with 69 if no server answers #slow", function()
        local proxy = rig.proxy_for_test(server.hosts)
        proxy:command("hold getChildren 1")
        local process = start("--hosts %s --timeout 6 members %s", proxy.hosts, folder)
        rig.wait_for("the connection", function() return proxy:counts().connect > 0 end)
        proxy:command("refuse")
        process:ends(69)
        ends(69, "--hosts 127.0.0.1:1 members %s", folder)
    end)

    it("members, also with --watch, ends with 77 if the server refuses #slow", function()
        local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
        rig.join(own, folder, "a")
        ends(77, "members %s", folder)
        ends(77, "members --watch %s", folder)
        ends(0, "members --auth digest:a:b %s", folder)
    end)

    it("members ends with 70 if there are too many members to watch #slow", function()
        local long = ("x"):rep(4000)
        for _, by in ipairs{ session, rig.session(server.hosts) } do
            for i = 1, 40 do rig.join(by, folder, long .. i .. by:id()) end
        end
        assert.matches("^zklock: too_many: ", ends(70, "members %s", folder))
    end)

    it("members ends with 64 for an invalid path", function()
        for line, text in pairs{ [""] = "missing argument 'PATH'", ["/a/"] = "must not end",
                                 ["a"] = "must start with /", ["/a /b"] = "too many" } do
            expect(ends(64, "members %s", line), text)
        end
    end)
end)
