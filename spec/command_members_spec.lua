--- zklock members, on a real server.

local commands = require "spec.commands"
local rig = require "spec.rig"

local start, outcome = commands.start, commands.outcome

describe("zklock #server", function()
    local server, session, folder
    setup(function()
        server = rig.shared()
        commands.open()
    end)
    teardown(commands.close)
    before_each(function()
        folder, session = rig.path(), rig.session(server.hosts)
    end)
    after_each(function()
        commands.end_all()
        rig.close_sessions()
    end)

    local function joined(by, name, data)
        return assert(by:join(folder, { name = name, data = data, timeout = 20 }))
    end


    describe("members", function()
        local function members(text, ...)
            return outcome("--hosts %s members " .. text, server.hosts, ...)
        end

        it("lists names, data, sessions, and since when they are there", function()
            joined(session, "b", "weight=3")
            joined(session, "a", ("x"):rep(100))
            server:foreign("create %s/lasting y", folder)
            local status, text = members(folder)
            assert.equal(0, status)
            local rows = {}
            for row in text:gmatch("[^\n]+") do
                assert.is_true(#row:gsub("[\128-\191]", "") <= 80, row)
                rows[#rows + 1] = row
            end
            assert.matches("^NAME +DATA +SESSION +SINCE$", rows[1])
            assert.matches("^a +x+… +" .. session:id() .. " +%d+ s$", rows[2])
            assert.matches("^b +weight=3 +" .. session:id() .. " +%d+ s$", rows[3])
            assert.matches("^lasting +y +%- +%d+ s$", rows[4])
            assert.equal(4, #rows)
        end)

        it("says that there are none, also where there is no folder", function()
            assert.same({ 0, "no members" }, { members(folder) })
            joined(session, "a"):leave()
            rig.wait_for("no members", function()
                return select(2, members(folder)) == "no members"
            end)
            assert.same({ 0, "[]" }, { members("--json %s", folder) })
        end)

        it("has the name alone of one whose node may not be read", function()
            server:foreign("create %s '' create %s/a x hide %s/a", folder, folder, folder)
            assert.matches("\na +%- +%- +%-$", select(2, members(folder)))
            assert.same({ 0, '[{"name":"a"}]' }, { members("--json %s", folder) })
        end)

        it("says it in JSON, in a line", function()
            joined(session, "a", 'x "y"\\')
            local status, text = members("--json %s", folder)
            assert.equal(0, status)
            assert.matches('^%[{"data":"x \\u0022y\\u0022\\u005c","name":"a","session":"'
                .. session:id() .. '","since":%d+%.?%d*}%]$', text)
        end)

        it("prints nothing that a terminal would obey", function()
            joined(session, "\226\128\174x", "a\27[2Jb\194\155c\226\128\174d\ne\255")
            local _, text = members(folder)
            assert.matches("\n%?x +a%?%[2Jb%?c%?d e\239\191\189 ", text)
            _, text = members("--json %s", folder)
            assert.truthy(text:find('"a\\u001b[2Jb\\u009bc\\u202ed\\u000ae\239\191\189"', 1, true),
                          text)
            assert.truthy(text:find('"name":"\\u202ex"', 1, true), text)
        end)

        it("shows with --watch who comes and goes, until it is interrupted #slow", function()
            local process = start("--hosts %s members --watch %s", server.hosts, folder)
            process:find("no members")
            local member = joined(session, "a", "x")
            process:find("a    ")
            member:leave()
            process:find("no members")
            process:signal("INT")
            assert.equal(0, (process:finish()))
        end)

        it("ends with 69 when there is no server any more #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            joined(session, "a", "x")
            local process = start("--hosts %s --timeout 2 members --watch %s", proxy.hosts, folder)
            process:find("a    ")
            proxy:command("refuse")
            proxy:command("cut")
            local status, text = process:finish()
            assert.equal(69, status, text)
            assert.matches("no ZooKeeper server answered", text)
        end)

        it("ends with 69 if no server answers #slow", function()
            local proxy = rig.proxy_for_test(server.hosts)
            proxy:command("hold getChildren 1")
            local process = start("--hosts %s --timeout 6 members %s", proxy.hosts, folder)
            rig.wait_for("the connection", function() return proxy:counts().connect > 0 end)
            proxy:command("refuse")
            assert.equal(69, (process:finish()))
            assert.equal(69, (outcome("--hosts 127.0.0.1:1 members %s", folder)))
        end)

        it("ends with 77 if the server refuses, also one that is watched #slow", function()
            local own = rig.session(server.hosts, { auth = "digest:a:b", acl = "creator" })
            joined(own, "a")
            assert.equal(77, (members(folder)))
            assert.equal(77, (members("--watch %s", folder)))
            assert.equal(0, (members("--auth digest:a:b %s", folder)))
        end)

        it("ends with 70 if they are too many to watch #slow", function()
            local long = ("x"):rep(4000)
            for _, by in ipairs{ session, rig.session(server.hosts) } do
                for i = 1, 40 do joined(by, long .. i .. by:id()) end
            end
            local status, text = members(folder)
            assert.equal(70, status)
            assert.matches("^zklock: too_many: ", text)
        end)

        it("ends with 64 for a path that is none", function()
            for line, text in pairs{ [""] = "missing argument 'PATH'", ["/a/"] = "must not end",
                                     ["a"] = "must start with /", ["/a /b"] = "too many" } do
                local status, output = members(line)
                assert.equal(64, status, line)
                assert.truthy(output:find(text, 1, true), output)
            end
        end)
    end)
end)
