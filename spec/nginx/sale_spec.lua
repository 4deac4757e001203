--- The flash sale over HTTP with real servers and requests. With ZKLOCK_STORE=mysql on a throwaway
-- MariaDB (make test-http-mysql).

local client = require "zklock.seckill.http.client"
local database = require "zklock.seckill.database"
local dkjson = require "dkjson"
local reapers = require "zklock.system.reaper"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local run_demo = require "spec.seckill.demo"
local sale = require "zklock.seckill.http.sale"
local environment = require "zklock.seckill.http.environment"
local runs = require "zklock.seckill.http.run"
local seed = require "zklock.seckill.seed"
local shell = require "zklock.system.shell"

local PRODUCT = seed.PRODUCT
local LOCK = "/lock/" .. PRODUCT -- below the run's root
local PURCHASE = "/mall/commodity/purchase"

local function purchase_path(number)
    return ("%s?commodityId=%s&number=%d"):format(PURCHASE, PRODUCT, number)
end

local ONE = purchase_path(1)

local reaper, store, server


local function demo(arguments, scenarios)
    local words = { "--ports", ("%d,%d"):format(nginx.two_ports()), "--store", store }
    for _, word in ipairs(arguments) do words[#words + 1] = word end
    return run_demo(words, scenarios or sale.scenarios, environment)
end


describe("the sale over HTTP #nginx", function()
    local run, number = nil, 0

    setup(function()
        server = rig.shared()
        reaper = reapers.open()
        store = "sqlite"
        if os.getenv("ZKLOCK_STORE") == "mysql" then store = mariadb.start(reaper) end
    end)
    teardown(function() reaper:close() end)
    before_each(function() run = nil end)
    after_each(function()
        if run then run:close() end
        rig.close_sessions()
    end)

    -- Starts servers: { servers = 1, strategy, stock, pause, timeout, session, reaper, start = true
    -- to return before they are ready }.
    local function open(options)
        number = number + 1
        run = runs.open("spec" .. number, {
            ports = { nginx.two_ports() }, store = store, pause = 0,
            session = options.session or 20, zookeeper = options.zookeeper or server.hosts,
        }, options.reaper or reaper)
        options.strategy = options.strategy or "zookeeper"
        run[options.start and "start" or "serve"](run, options.servers or 1, options)
        return run.servers[1]
    end

    local function request(target, path, method)
        local status, body, head = client.once(target.port, method or "POST", path)
        return status, status and dkjson.decode(body) or body, head
    end

    local function left() return run.store:stock(PRODUCT) end
    local function ordered() return run.store:ordered(PRODUCT) end

    local function hold_the_lock()
        return rig.hold(rig.session(server.hosts):mutex(run.root .. LOCK))
    end

    local function reload(servers)
        local old = {}
        for _, each in ipairs(servers) do
            for _, pid in ipairs(each.pids) do old[pid] = true end
            os.execute(("kill -HUP $(cat %s/pid)"):format(each.folder))
        end
        return function(each)
            local status, body = client.request(each.port, "GET", "/mall/state")
            local pids = status == 200 and dkjson.decode(body).pids or {}
            for _, pid in ipairs(pids) do
                if old[pid] then return false end
            end
            if #pids == 2 then each.pids = pids end
            return #pids == 2
        end
    end

    it("the servers answer 200 or 409, nothing else, during five reloads #slow", function()
        open{ servers = 2, stock = 1000000, timeout = 15 }
        local statuses, is_over, tasks = {}, false, {}
        for i = 1, 200 do
            tasks[i] = function()
                repeat
                    local status, body = run:buy(i)
                    status = status or body
                    statuses[status] = (statuses[status] or 0) + 1
                until is_over
            end
        end
        tasks[201] = function()
            for _ = 1, 5 do
                local is_new = reload(run.servers)
                for _, each in ipairs(run.servers) do
                    repeat until is_new(each)
                end
            end
            is_over = true
        end
        client.run(tasks)
        local answers = (statuses[200] or 0) + (statuses[409] or 0)
        statuses[200], statuses[409] = nil, nil
        assert.same({}, statuses)
        assert.is_true(answers >= 200)
        run:wait_until_quiet()
        assert.equal(1000000 - ordered(), left())
    end)

    describe("the answer to a purchase", function()
        for _, strategy in ipairs{ "none", "shared", "zookeeper", "combined" } do
            it("a sale returns the stock and writes an order: " .. strategy, function()
                local one = open{ strategy = strategy }
                local status, answer, head = request(one, purchase_path(3))
                assert.equal(200, status)
                assert.is_true(answer.sold)
                assert.equal(97, answer.left)
                assert.matches("application/json", head)
                assert.same({ 97, 3 }, { left(), ordered() })
                assert.equal(strategy == "zookeeper" or strategy == "combined",
                    answer.token ~= nil)
            end)
        end

        it("the folder of the servers may have any name", function()
            local folder = reaper.folder .. "/a b;\"${#.x"
            rig.shell("mkdir %s", shell.quote(folder))
            local elsewhere = setmetatable({ folder = folder }, { __index = reaper })
            assert.equal(200, (request(open{ reaper = elsewhere }, ONE)))
        end)

        it("a purchase is answered with 409 when less is left than wanted", function()
            local one = open{ stock = 2 }
            local status, answer = request(one, purchase_path(3))
            assert.same({ 409, "not_enough", "3 wanted, 2 left" },
                { status, answer.error, answer.message })
            assert.equal(200, (request(one, purchase_path(2))))
            status, answer = request(one, ONE)
            assert.same({ 409, "sold_out", false }, { status, answer.error, answer.sold })
            assert.same({ 0, 2 }, { left(), ordered() })
        end)

        it("an unknown product is answered with 404, without a request for a lock", function()
            local one = open{}
            local status, answer = request(one, PURCHASE .. "?commodityId=nonsense&number=1")
            assert.same({ 404, "unknown_commodity" }, { status, answer.error })
            assert.is_nil((rig.session(server.hosts):get(run.root .. "/lock/nonsense")))
            assert.equal(200, (request(one, ONE)))
            assert.truthy(rig.session(server.hosts):get(run.root .. LOCK))
        end)

        it("a malformed purchase is answered with 400 and the reason", function()
            local one = open{}
            local wrong = {
                [""] = "commodityId is missing",
                ["?number=1"] = "commodityId is missing",
                ["?commodityId&number=1"] = "commodityId must be up to 32 letters",
                ["?commodityId=../x&number=1"] = "commodityId must be",
                ["?commodityId=a%27%20OR%201=1&number=1"] = "commodityId must be",
                ["?commodityId=" .. ("a"):rep(33) .. "&number=1"] = "commodityId must be",
                ["?commodityId=a&commodityId=b&number=1"] = "commodityId is given more than once",
                ["?commodityId=" .. PRODUCT] = "number is missing",
            }
            for _, value in ipairs{ "0", "00", "-1", "1.5", "1e3", "0x1", "one", "", "1%00",
                "1000000", "1;DROP" } do
                wrong[("?commodityId=%s&number=%s"):format(PRODUCT, value)] =
                    "number must be a whole number from 1 to 999999, not"
            end
            for _, value in ipairs{ "0", "-1", "x", "1234567890" } do
                wrong[("?commodityId=%s&number=1&buyer=%s"):format(PRODUCT, value)] =
                    "buyer must be a whole number from 1 to 999999999, not"
            end
            for query, message in pairs(wrong) do
                local status, answer = request(one, PURCHASE .. query)
                assert.same({ 400, "bad_request" }, { status, answer.error }, query)
                assert.matches(message, answer.message)
            end
            assert.same({ 100, 0 }, { left(), ordered() })
        end)

        it("another method is answered with 405, another page with 404", function()
            local one = open{}
            for _, method in ipairs{ "GET", "PUT", "DELETE" } do
                local status, answer, head = request(one, ONE, method)
                assert.same({ 405, "method_not_allowed" }, { status, answer.error })
                assert.matches("[Aa]llow: POST", head)
            end
            assert.equal(404, (request(one, "/mall")))
            assert.same({ 100, 0 }, { left(), ordered() })
        end)

        it("a purchase without the lock in time is answered with 503, and sold later", function()
            local one = open{ timeout = 0.3 }
            local lease = hold_the_lock()
            local status, answer = request(one, ONE)
            assert.same({ 503, "timeout" }, { status, answer.error })
            assert.same({ 100, 0 }, { left(), ordered() })
            lease:release()
            assert.equal(200, (request(one, ONE)))
        end)

        it("a taken purchase whose time is over is answered with 504, and may be sold #slow",
           function()
            local one = open{ strategy = "combined", timeout = 0.5, pause = 1.5 }
            local status, answer = request(one, ONE)
            assert.same({ 504, "unknown", nil }, { status, answer.error, answer.sold })
            rig.wait_for("the purchase", function() return left() == 99 end)
            assert.equal(1, ordered())
        end)

        it("waiting purchases are sold in one hold, in the order of their arrival", function()
            local one = open{ strategy = "combined", stock = 5 }
            local lease, buys, statuses = hold_the_lock(), {}, {}
            for i = 1, 8 do
                buys[i] = function()
                    local status = client.request(one.port, "POST", ONE)
                    statuses[status] = (statuses[status] or 0) + 1
                end
            end
            buys[9] = function()
                repeat
                    local _, state = client.request(one.port, "GET", "/mall/state")
                until dkjson.decode(state).inside == 8
                lease:release()
            end
            client.run(buys)
            assert.same({ [200] = 5, [409] = 3 }, statuses)
            assert.same({ 0, 5 }, { left(), ordered() })
            local holds = run.store:number "SELECT count(DISTINCT token) FROM tb_order"
            assert.is_true(holds <= 2)
        end)

        it("a purchase without ZooKeeper is answered with 503 #slow", function()
            local one = open{ zookeeper = "127.0.0.1:1", start = true }
            local answer
            rig.wait_for("an answer", function()
                local status
                status, answer = request(one, ONE)
                return status == 503
            end)
            assert.equal("starting", answer.error)
            assert.equal(100, left())
        end)
    end)

    describe("a fault that loses nothing", function()
        local function signal(target, name)
            rig.shell("kill -%s %s %s", name, target.process.pid, table.concat(target.pids, " "))
        end

        -- Buys at a server, and calls fn() during the hold. Returns the answer.
        local function buy_meanwhile(target, fn)
            local status, body
            client.run{
                function() status, body = client.request(target.port, "POST", ONE) end,
                function()
                    repeat
                        local _, state = client.request(target.port, "GET", "/mall/state")
                    until dkjson.decode(state).holding > 0
                    fn()
                end,
            }
            return status, body
        end

        for _, strategy in ipairs{ "zookeeper", "combined" } do
            it(("a killed server's lock becomes free, and nothing is sold: %s #slow"):format(
                strategy), function()
                local one = open{ strategy = strategy, pause = 30, session = 3 }
                local status, problem = buy_meanwhile(one, function() one:kill() end)
                assert.same({ nil, "lost" }, { status, problem })
                server:wait_for_nodes(run.root .. LOCK, 0)
                assert.same({ 100, 0 }, { left(), ordered() })
            end)
        end

        it("a combined sale survives the kill of a ZooKeeper server #slow", function()
            local ensemble = rig.server{ n = 3 }
            local leader = rig.wait_for("a leader", function() return ensemble:leader() end)
            open{ strategy = "combined", servers = 2, pause = 0.005, session = 8,
                  zookeeper = ensemble.hosts }
            local told = { sold = 0, lost = 0 }
            local shoppers = {}
            local function shop(i)
                repeat
                    local status, body = run:buy(i)
                    if status == 200 then told.sold = told.sold + 1
                    elseif status ~= 409 then
                        -- Busy or unknown. The next try goes to the other server.
                        assert(status == 503 or status == 504, body)
                        if status == 504 then told.lost = told.lost + 1 end
                    end
                    if told.sold >= 30 and leader then
                        ensemble:kill(leader)
                        leader = nil
                    end
                    i = i + 1
                until status == 409
            end
            for i = 1, 20 do shoppers[i] = function() shop(i) end end
            client.run(shoppers)
            run:wait_until_quiet()
            assert.is_nil(leader)
            local outcome = sale.judge(run.store, 100, told, true)
            assert.is_true(outcome.right, outcome.finding)
            assert.equal(0, left())
            run:close()
            run = nil
            ensemble:stop()
        end)

        -- The ways to lose the lock. `zklock break` deletes the node, too.
        local taken = {
            ["its session expires"] = function() end,
            ["its node is deleted"] = function()
                server:foreign("delete '%s'", server:nodes(run.root .. LOCK)[1])
            end,
        }

        -- Stops the holder after its read. The next holder reads before the stopped holder goes on,
        -- and writes after that (Q-01).
        for _, row in ipairs{
            { "zookeeper", "its session expires", 503 },
            { "zookeeper", "its node is deleted", 503 },
            { "combined", "its node is deleted", 504 },
        } do
            it(("a stopped holder's late write is refused when %s: %s " ..
                "#slow"):format(row[2], row[1]),
               function()
                local one = open{ strategy = row[1], pause = 5, session = 3, timeout = 30 }
                local token, read
                local status, body = buy_meanwhile(one, function()
                    signal(one, "STOP")
                    taken[row[2]]()
                    token = hold_the_lock():token_string()
                    read = run.store:stock(PRODUCT, token)
                    signal(one, "CONT")
                end)
                assert.same({ row[3], "lost" }, { status, dkjson.decode(body).error })
                assert.is_true(run.store:sell{
                    product = PRODUCT, quantity = 1, left = read - 1, server = "elsewhere",
                    token = token,
                })
                assert.same({ 99, 1 }, { left(), ordered() })
            end)
        end
    end)

    describe("the verdict of a sale", function()
        for _, row in ipairs{
            { "a sale without a lock is wrong",
                "HTTP-01", "10 sold and 9%d left of 100 +wrong, as expected" },
            { "a sale with a local lock on one server is right",
                "HTTP-02", "10 sold, 90 left +right" },
            { "a sale with a local lock on two servers is wrong (PIT-11)",
                "HTTP-03", "10 sold and 9%d left of 100 +wrong, as expected" },
            { "a sale with zklock on two servers is right",
                "HTTP-04", "10 sold, 90 left +right" },
            { "a sale with a server killed in the middle is right #slow",
                "HTTP-05", "100 sold, 0 left, %d+ answers lost +right" },
            { "a sale to 200 connections without a lock is wrong",
                "HTTP-06", "%d+ sold and %-?%d+ left of 400 +wrong, as expected" },
            { "a sale to 200 connections with a local lock is wrong #slow",
                "HTTP-07", "%d+ sold and %-?%d+ left of 400 +wrong, as expected" },
            { "a sale to 200 connections with zklock is right",
                "HTTP-08", "%d+ sold, %d+ left +right" },
            { "a sale to 200 connections with zklock in turns is right #slow",
                "HTTP-09", "%d+ sold, %d+ left +right" },
            { "a combined sale to 200 connections is right #slow",
                "HTTP-10", "%d+ sold, %d+ left +right" },
            { "a combined sale with a server killed in the middle is right #slow",
                "HTTP-11", "100 sold, 0 left, %d+ answers lost +right" },
        } do
            it(row[1], function()
                local status, out = demo{ "--only", row[2] }
                out = out:gsub(" %(try %d%)", "") -- a slow machine may need a second try
                local id = row[2]:gsub("%-", "%%-") .. "\n"
                assert.matches("\n[^\n]* " .. row[3] .. " +" .. id, out)
                assert.equal(0, status)
                assert.matches("\n[^\n]*  +%d+%.%d +%d+%.%d +" .. id, out)
            end)
        end

        it("the demo fails when a sale that must be right is wrong", function()
            local wrong = {}
            for key, value in pairs(sale.scenarios[1]) do wrong[key] = value end
            wrong.id, wrong.expect = "NONE", "right"
            local status, out = demo({ "--pause", "0.5" }, { wrong })
            assert.matches("\n[^\n]* WRONG, must be right +NONE\n", out)
            assert.equal(1, status)
        end)
    end)

    describe("an error before the sale", function()
        it("a taken port is named", function()
            local one = open{ strategy = "none" }
            local status, out, err = demo({ "--only", "HTTP-02", "--ports", one.port .. ",1" })
            assert.same({ 3, "" }, { status, out })
            assert.equal(("port %d is taken: choose two others with --ports A,B\n")
                :format(one.port), err)
        end)

        it("bad ports and stores are refused with the allowed ones", function()
            for _, ports in ipairs{ "8080", "8080,8080", "a,b", "0,1", "1,65536", "1,2,3" } do
                local status, _, err = demo{ "--ports", ports }
                assert.equal(2, status)
                assert.matches("are not two ports, as in 8080,8081", err)
            end
            local status, _, err = demo{ "--store", "oracle" }
            assert.equal(2, status)
            assert.matches('"oracle" is no store: sqlite, mysql, or mysql://', err)
        end)
    end)

    describe("the end of the demo", function()
        -- Starts the demo as a process, and waits until it is in the middle of a sale. Returns its
        -- pid, ports and folder.
        local function begin(variables)
            local first, second = nginx.two_ports()
            local folder = rig.shell("mktemp -d"):match("[^\n]+")
            local pid = rig.shell(("TMPDIR=%s %s ${ZKLOCK_LUA:-lua5.4} "
                .. "lua/zklock/seckill/http/demo.lua --only HTTP-05 --pause 1 --ports %d,%d "
                .. "--store '%s' >%s.out 2>&1 & echo $!"):format(folder, variables or "", first,
                second, store, folder)):match("%d+")
            for _, port in ipairs{ first, second } do
                rig.wait_for("the sale", function()
                    local status, body = client.once(port, "GET", "/mall/state")
                    return status == 200 and dkjson.decode(body).inside > 0
                end)
            end
            return pid, { first, second }, folder
        end

        local function wait_for_end(ports, folder)
            for _, port in ipairs(ports) do
                rig.wait_for("the end of nginx", function()
                    return select(2, client.once(port, "GET", "/mall/state")) == "refused"
                end)
            end
            rig.wait_for("an empty folder", function()
                return rig.shell("ls -A %s", folder) == ""
            end)
            rig.shell("rm -r %s %s.out", folder, folder)
        end

        -- The MariaDB outlives the demo, which must drop the sale's database.
        local function wait_for_drop()
            if store == "sqlite" then return end
            local admin = database.open(store)
            rig.wait_for("an end of the sale's database", function()
                return #admin:rows "SHOW DATABASES LIKE 'zklock\\_%'" == 0
            end)
            admin:close()
        end

        it("the variable NGINX does not reach nginx, which would look for sockets there",
           function()
            local pid, ports, folder = begin "NGINX=nginx"
            local output = rig.shell("find %s -name output -exec cat {} +", folder)
            rig.shell("kill -INT %s", pid)
            wait_for_end(ports, folder)
            wait_for_drop()
            assert.equal("", output)
        end)

        for _, name in ipairs{ "INT", "KILL" } do
            it("SIG" .. name .. " in the middle of a sale leaves nothing behind", function()
                local pid, ports, folder = begin()
                rig.shell("kill -%s %s", name, pid)
                wait_for_end(ports, folder)
                wait_for_drop()
            end)
        end
    end)
end)
