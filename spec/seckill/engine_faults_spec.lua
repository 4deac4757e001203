--- [lua luajit] The locks of engines and of zklock when a server dies or a clock jumps
--- (docs/engines.md). The first tests are about the servers to strike, later ones about the
--- scenarios.

local clocks = require "zklock.throwaway.clock"
local database = require "zklock.seckill.database"
local interpreter = require "zklock.system.interpreter"
local runs = require "zklock.seckill.run"
local redis = require "zklock.seckill.throwaway.redis"
local outages = require "zklock.seckill.scenario.s4_outages"
local relays = require "zklock.throwaway.relay"
local rig = require "spec.rig"
local runner = require "zklock.seckill.runner"
local shell = require "zklock.system.shell"
local throwaway = require "zklock.seckill.throwaway"
local zklock = require "zklock"


local HOUR = 3600

local servers, options

setup(function()
    servers = throwaway.open()
    options = {
        environment = { open_run = runs.open }, throwaway = servers, pause = 0.02, session = 2,
        zookeeper = os.getenv "ZK_HOSTS",
    }
end)
teardown(function() servers:close() end)


-- The lead of a clock over this process's clock, in whole hours.
local function hours(time) return math.floor((time - os.time()) / HOUR + 0.5) end


local function is_reached(address) return (pcall(redis.ask, address, "ping")) end


describe("a relay", function()
    local server, relay

    before_each(function()
        server = redis.start(servers.reaper)
        relay = relays.start(servers.reaper, server.address)
    end)
    after_each(function()
        server.process:kill()
        relay:close()
    end)

    it("a relay passes on a long message", function()
        local much = ("0123456789"):rep(200000)
        redis.ask(relay.address, "set", "much", much)
        assert.equal(much, redis.ask(relay.address, "get", "much"))
        assert.equal(#much, redis.ask(server.address, "strlen", "much"))
    end)

    it("a relay leads to another server, or to none, from then on", function()
        local other = redis.start(servers.reaper)
        redis.ask(other.address, "set", "name", "other")
        relay:lead_to(other.address)
        assert.equal("other", redis.ask(relay.address, "get", "name"))
        relay:cut()
        assert.is_false(is_reached(relay.address))
        relay:lead_to(server.address)
        assert.is_nil(redis.ask(relay.address, "get", "name"))
        other.process:kill()
        relay:lead_to(other.address)
        assert.is_false(is_reached(relay.address))
    end)
end)


describe("a wall clock that can jump", function()
    it("a clock jumps for a running program, and its monotonic clock goes on", function()
        local clock = clocks.new(servers.reaper)
        local file = servers.folder .. "/times"
        local pipe = assert(io.popen(("%s -e %s >%s"):format(
            shell.quote(clock:program(interpreter.own())), shell.quote(([[
                package.cpath = %q
                local core = require "zklock.core"
                io.stdout:setvbuf "line"
                for _ in io.lines() do print(os.time(), core.now()) end
            ]]):format(package.cpath)), shell.quote(file)), "w"))
        pipe:setvbuf "line"
        local asked = 0
        local function times()
            asked = asked + 1
            pipe:write "\n"
            return rig.wait_for("its times", function()
                local line = rig.shell("sed -n %dp %s", asked, shell.quote(file))
                return line ~= "" and line
            end):match "(%d+)%s+([%d.]+)"
        end
        local wall, monotonic = times()
        assert.equal(0, hours(wall))
        clock:jump(HOUR)
        local later_wall, later = times()
        assert.equal(1, hours(later_wall))
        assert.is_true(later - monotonic < HOUR / 2)
        clock:jump(-HOUR)
        assert.equal(-1, hours((times())))
        pipe:close()
    end)
end)


describe("an ensemble of ZooKeepers", function()
    it("the ensemble elects another leader and serves after its leader was killed #slow", function()
        local ensemble = servers:zookeepers(3)
        local session = assert(zklock.connect(ensemble.hosts, { timeout = 30 }))
        local killed, leader = ensemble:kill_leader()
        assert.are_not.equal(killed, leader)
        assert.is_nil(ensemble:ask(killed, "srvr"))
        assert(session:mutex("/lock"):acquire(30)):release()
        session:close()
        ensemble:close()
        assert.is_nil(ensemble:leader())
    end)
end)


describe("a MariaDB of its own", function()
    it("a MariaDB is killed, and the other serves", function()
        local url, process = servers:own_mysql()
        local other = servers:own_mysql()
        collectgarbage() -- nothing refers to the other server's process any more
        process:kill()
        assert.is_false((pcall(database.open, url)))
        database.open(other):close()
        database.drop((url:gsub("/%?", "/gone?"))) -- raises no error, though the server is dead
    end)
end)


describe("a script with servers that are there to be struck", function()
    local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"
    local SCRIPT = [[
        local shell = require "zklock.system.shell"
        local servers = require("zklock.seckill.throwaway").open()
        local pair, masters = servers:redis_pair(), servers:redis_masters(1)
        local ensemble, single = servers:zookeepers(3), servers:zookeeper_with_clock()
        local _, mariadb = servers:own_mysql()
        print(pair.master.process.pid, pair.replica.process.pid, pair.door.process.pid,
            pair.link.process.pid, masters[1].server.process.pid, masters[1].relay.process.pid,
            mariadb.pid)
        for _, zookeepers in ipairs{ ensemble, single } do
            for i in ipairs(zookeepers.addresses) do
                print(shell.first_line(("cat %s/%d/pid"):format(zookeepers.folder, i)))
            end
        end
        print "ready"
        io.stdout:flush()
        require("zklock").sleep(300)
    ]]

    it("a killed script leaves no server behind #slow", function()
        local folder = rig.shell("mktemp -d"):match "%S+"
        local pid = rig.shell("TMPDIR=%s setsid %s -e %s >%s/output 2>&1 </dev/null & echo $!",
            folder, LUA, shell.quote(SCRIPT), folder):match "%d+"
        local output = rig.wait_for("its servers", function()
            local text = rig.shell("cat %s/output", folder)
            return text:find "ready" and text
        end, 60)
        local pids = {}
        for each in output:gmatch "%d+" do pids[#pids + 1] = each end
        assert.equal(11, #pids)
        local shared = ("ls /dev/shm | grep -cxE '.*faketime_(shm|sem)_(%s)'"):format(
            table.concat(pids, "|"))
        assert.equal("4", rig.shell(shared):match "%d+") -- of a Redis and a ZooKeeper
        assert.is_true(shell.succeeds(("kill -0 %s"):format(table.concat(pids, " "))))
        rig.shell("kill -KILL %s", pid)
        for _, each in ipairs(pids) do
            rig.wait_for("the end of process " .. each, function()
                return shell.succeeds(("! grep -qs 'State:.[^Z]' /proc/%s/status"):format(each))
            end, 30)
        end
        rig.wait_for("nothing left behind", function()
            return rig.shell("ls %s; %s", folder, shared) == "output\n0\n"
        end, 30)
        rig.shell("rm -rf %s", folder)
    end)
end)


describe("an outage of an engine", function()
    local function finds(id, pattern)
        for _, scenario in ipairs(outages.of_engines) do
            if scenario.id == id then
                assert.is_true(#scenario.title <= 38, scenario.title)
                assert.is_true(#scenario.explanation <= 140, scenario.explanation)
                local result = runner.run_one(scenario, options, servers.reaper)
                assert.equal(scenario.expect, result.verdict, result.finding)
                assert.matches(pattern, result.finding)
                assert.equal(1, result.tries)
                return result
            end
        end
        error("no scenario " .. id)
    end

    local TWO, ONE = "^stock 99, should be 98; 2 at once$", "^2 sold, 98 left; one at a time$"

    it("the scenario of a Redis failover with SET NX PX finds two holders (DEMO-19, PIT-16)",
       function()
        local result = finds("DEMO-19a", TWO)
        local sale = result.sales[1]
        assert.same({ "failover", "Redis" }, { sale.faults[1].kind, sale.faults[1].target })
        assert.equal("goes on, and its hold is lost", sale.notes[#sale.notes].line)
    end)

    for _, row in ipairs{
        { "of a Redis failover with Redisson finds two holders (DEMO-19, PIT-16)",
            "DEMO-19b", TWO },
        { "of a ZooKeeper failover is right",
            "DEMO-19c", ONE },
        { "of a clock that jumps on one of five masters finds two holders (DEMO-20, PIT-17)",
            "DEMO-20a", TWO },
        { "of a clock that jumps on ZooKeeper is right",
            "DEMO-20b", ONE },
        { "of clients whose clocks jump finds two holders if locks depend on them (ALG-03)",
            "DEMO-20c", TWO },
        { "of clients whose clocks jump is right with zklock",
            "DEMO-20d", ONE },
        { "of a killed database finds that nobody else is served (PIT-18)",
            "PIT-18a", "^1 of 10 were served, 99 left$" },
        { "of a killed ZooKeeper among three is right (PIT-18)",
            "PIT-18b", "^10 of 10 were served" },
    } do
        it("the scenario " .. row[1] .. " #slow", function() finds(row[2], row[3]) end)
    end
end)


-- The sales of DEMO-19a and DEMO-20a are right without the cause of their failure.
describe("the sale of two buyers", function()
    local A_WHILE = 1

    local function is_right(sale_options, strike)
        local sale = outages.sale_with(runs.open("", options), sale_options,
            { what = "failover", where = "elsewhere", strike = strike, patience = A_WHILE })
        local played = outages.judge_one_holder(sale)
        assert.is_true(played.right, tostring(sale))
        assert.equal(1, #sale.faults)
        assert.is_true(sale.faults[1].ended - sale.faults[1].at >= A_WHILE)
        assert.is_true(outages.judge_two_holders(sale).right)
    end

    it("the sale is right if the lock reaches the replica before the master dies #slow", function()
        local pair = servers:redis_pair()
        is_right({ strategy = "redis-set", redis = pair.address,
            parameters = { engine = { lease = 60, answer = 10 } } }, function()
            assert.is_true(pair:replicated(30))
            pair:kill_master()
            pair:promote()
        end)
        pair:close()
    end)

    it("the sale is right if two masters were cut off, and no clock jumps #slow", function()
        local masters = servers:redis_masters(5)
        masters[4]:cut()
        masters[5]:cut()
        is_right({ strategy = "redlock", redis = masters.addresses,
            parameters = { engine = { lease = 60, fast_fail = 10 } } }, function()
            masters[4]:heal()
            masters[5]:heal()
        end)
        masters:close()
    end)

    it("a scenario raises an error if its sale is wrong for another reason", function()
        local sale = runs.open("", options):sale{ strategy = "none", pause = 0.1 }
        assert.equal("wrong", sale.verdict)
        assert.error_matches(function() outages.judge_two_holders(sale) end,
            "not because two had the lock")
    end)
end)
