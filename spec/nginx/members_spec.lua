--- Members in nginx. Two hosts share a rate limit (docs/members.md), and are killed, started and
-- reloaded.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local FOLDER, TOTAL = "/members/gateway", 1000

local server


describe("a rate limit of two hosts #nginx #session:members", function()
    local counts

    local function count_hosts(list)
        local seen, number = {}, 0
        for _, each in ipairs(list) do
            local host = each.name:match "^(.*)%-%d+$"
            number = number + (seen[host] and 0 or 1)
            seen[host] = true
        end
        return number
    end

    local function start(name, options)
        options = options or {}
        return nginx.start{
            workers = 2,
            http = ([[
                lua_shared_dict limit 1m;
                lua_shared_dict let_go 100k;
                init_worker_by_lua_block {
                    local zklock = require "zklock"
                    local connect = zklock.connect
                    function zklock.connect(zookeeper)
                        return connect(zookeeper, { drain = %g })
                    end
                    require("docs.members.limit").start(os.getenv "ZK_HOSTS", "%s", %d)
                }]]):format(options.drain or 0.5, name, options.total or TOTAL),
            server = [[
                location = /share {
                    content_by_lua_block {
                        local limit = require "docs.members.limit"
                        ngx.say(limit.total / limit.hosts)
                    }
                }
                location = /limited {
                    access_by_lua_block { require("docs.members.limit").check() }
                    content_by_lua_block { ngx.say(math.floor(ngx.now())) }
                }]],
        }
    end

    local function wait_for_share(host, share)
        rig.wait_for(share .. " of " .. TOTAL, function()
            local bodies = nginx.bodies(nginx.finish(host:begin("20 /share")))
            return bodies[tostring(share)] == 20
        end, 60)
    end

    local function wait_for_nodes(number)
        rig.wait_for(number .. " members", function()
            return #server:nodes(FOLDER) == number
        end, 60)
    end

    local function start_two_hosts(options)
        local first, second = start("one:80", options), start "two:80"
        wait_for_share(first, TOTAL / 2)
        wait_for_share(second, TOTAL / 2)
        wait_for_nodes(4)
        return first, second
    end

    local function count_new_members(name, old)
        local number = 0
        for _, node in ipairs(server:nodes(FOLDER)) do
            local host, pid = node:match "^.*/(.*)%-(%d+)$"
            local is_old = pid == tostring(old[1]) or pid == tostring(old[2])
            number = number + (host == name and not is_old and 1 or 0)
        end
        return number
    end

    setup(function() server = rig.shared() end)
    before_each(function()
        counts = {}
        wait_for_nodes(0)
        assert(rig.session(server.hosts):members(FOLDER, function(list)
            counts[#counts + 1] = count_hosts(list)
        end))
    end)
    after_each(function() nginx.stop_all() end)

    it("the limit is halved, is whole while one host is down, and is halved after its restart " ..
       "#slow", function()
        local first, second = start_two_hosts()
        second:kill()
        wait_for_share(first, TOTAL)
        wait_for_nodes(2)
        second:start_again()
        wait_for_share(first, TOTAL / 2)
        wait_for_share(second, TOTAL / 2)
        wait_for_nodes(4)
        assert.same({}, first:troubles())
    end)

    it("the limit stays halved when a host starts again before its session has expired #slow",
       function()
        local first, second = start_two_hosts()
        second:kill()
        second:start_again()
        wait_for_share(second, TOTAL / 2)
        wait_for_nodes(4)
        wait_for_share(first, TOTAL / 2)
        for _, number in ipairs(counts) do assert.is_true(number <= 2) end
    end)

    -- Returns how many requests the host lets through in each second until it refuses one.
    local function count_through(host)
        local through, refused = {}, false
        rig.wait_for("a refused request", function()
            for _, each in ipairs(nginx.finish(host:begin("20 /limited"))) do
                local is_let = each.status == 200
                refused = refused or each.status == 429
                if is_let then through[each.body] = (through[each.body] or 0) + 1 end
            end
            return refused
        end)
        return through
    end

    it("a host lets its share through, and no more", function()
        local through = count_through(start("one:80", { total = 2 }))
        assert.is_truthy(next(through))
        for _, count in pairs(through) do assert.is_true(count <= 2) end
    end)

    it("a host lets one request a second through if there are more hosts than the limit", function()
        local others = rig.session(server.hosts)
        for n = 2, 4 do assert(others:join(FOLDER, { name = ("host-%d:80-1"):format(n) })) end
        local host = start("host-1:80", { total = 2 })
        wait_for_share(host, 2 / 4)
        local through = count_through(host)
        assert.is_truthy(next(through))
        for _, count in pairs(through) do assert.equal(1, count) end
    end)

    it("each host counts once over reloads, also while an old worker serves a request", function()
        local first, second = start_two_hosts{ drain = 5 } -- new workers have joined by then
        rig.wait_for("two counted hosts", function() return counts[#counts] == 2 end)
        local known = #counts
        local begun = first:begin("10 /stay?path=it")
        rig.wait_for("open requests", function()
            return first:get("/news").body:find "stays" and second:get("/ping").status == 200
        end)
        local old = first:workers()
        first:signal("HUP")
        rig.wait_for("the new workers", function() return count_new_members("one:80", old) == 2 end)
        wait_for_share(second, TOTAL / 2)
        first:get("/let_go?path=it")
        for _, each in ipairs(nginx.finish(begun)) do assert.equal("stayed", each.body) end
        for _, pid in ipairs(old) do assert(nginx.wait_until_gone(pid), "the worker stays") end
        wait_for_nodes(4)
        wait_for_share(first, TOTAL / 2)
        wait_for_share(second, TOTAL / 2)
        for i = known, #counts do assert.equal(2, counts[i]) end
        assert.same({}, first:troubles())
    end)
end)


describe("a member in nginx #nginx #session:join", function()
    local host, path

    setup(function() server = rig.shared() end)
    before_each(function()
        path = rig.path()
        host = nginx.start{ http = "lua_shared_dict let_go 100k;" }
    end)
    after_each(function() nginx.stop_all() end)

    -- Joins in the worker, or in the new worker after a reload.
    local function join()
        host:get("/join?name=a&path=" .. path)
        rig.wait_for("the member", function()
            return host:get("/member?name=a").body == "joined"
        end, 60)
    end

    -- Tells the worker to exit while a request is open, so that the member leaves. Returns the
    -- worker, and a function that ends the request, and with it the worker.
    local function tell_to_exit()
        local begun, worker = host:begin("/stay?path=" .. path), host:workers()[1]
        rig.wait_for("the request", function() return host:get("/news").body:find "stays" end)
        host:signal "HUP"
        server:wait_for_nodes(path, 0)
        return worker, function()
            host:get("/let_go?path=" .. path)
            nginx.finish(begun)
            assert(nginx.wait_until_gone(worker), "the worker stays")
        end
    end

    it("a member leaves by itself when its worker is told to exit, though a request is open",
       function()
        join()
        local _, finish = tell_to_exit()
        join()
        finish()
        assert.same({ path .. "/a" }, server:nodes(path))
    end)

    it("a member leaves by a timer of the worker that is told to exit, though a request is open",
       function()
        join()
        host:get "/leave_when_told?name=a"
        local worker, finish = tell_to_exit()
        assert.is_true(nginx.lives(worker))
        finish()
    end)
end)
