--- [lua luajit] Faults of the ZooKeeper that a sale starts for itself, docs/seckill.md.

local demo = require "spec.seckill.demo"
local evidence = require "zklock.seckill.scenario.evidence"
local files = require "spec.files"
local rig = require "spec.rig"
local seckill = require "zklock.seckill"
local shell = require "zklock.system.shell"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"
local LONG = 60 -- seconds, so that no session ends even on a slow machine


-- A sale with faults that strike while a buyer holds the lock.
local function sale(faults, options)
    local all = { buyers = 8, pause = 0.002, session = LONG, timeout = LONG, faults = {} }
    for name, value in pairs(options or {}) do all[name] = value end
    for i, fault in ipairs(faults) do
        all.faults[i] = { held = true }
        for name, value in pairs(fault) do all.faults[i][name] = value end
    end
    return seckill.sale(all)
end


describe("an outage of ZooKeeper in a sale", function()
    it("buyers wait during the outage, and buy afterwards", function()
        local it_is = sale{
            { pause = "zookeeper", length = 0.3 }, { cut = "zookeeper", length = 0.3 },
            { restart = "zookeeper" }, { stop = "zookeeper", length = 0.1 },
        }
        assert.same({ "right", 8 }, { it_is.verdict, it_is.sold }, it_is.finding)
        local kinds = {}
        for _, fault in ipairs(it_is.faults) do
            assert.equal("zookeeper", fault.target)
            kinds[fault.kind] = fault.ended - fault.at
        end
        assert.is_true(kinds.pause >= 0.3 and kinds.cut >= 0.3 and kinds.stop >= 0.1)
        assert.is_true(kinds.restart > 0)
    end)

    it("buyers that give up during the outage do not wait in vain #slow", function()
        local it_is = seckill.sale{ buyers = 12, arrivals = 4, session = LONG, timeout = 0.5,
            faults = { { pause = "zookeeper", length = 2 } } }
        assert.equal("right", it_is.verdict, it_is.finding)
        assert.is_true(it_is.failures.timeout > 0)
    end)

    it("an endless outage leaves the sold pieces and buyers that waited in vain #slow", function()
        local it_is = sale({ { kill = "zookeeper" } }, { session = 1, timeout = 3 })
        assert.same({ 1, { timeout = 7 } }, { it_is.sold, it_is.failures })
        assert.same({ "kill", "zookeeper" }, { it_is.faults[1].kind, it_is.faults[1].target })
    end)

    it("the record shows when a holder learned of the outage #slow", function()
        local it_is = sale({ { kill = "zookeeper" } },
            { session = 1, timeout = 1, buyers = 1, servers = 1, pause = 5 })
        local purchase = it_is.purchases[1]
        assert.equal("sold", purchase.outcome)
        assert.is_true(it_is.faults[1].at < purchase.suspect and purchase.suspect < purchase.lost)
        assert.is_true(purchase.lost < purchase.written)
    end)

    it("a store in ZooKeeper is read after the outage #slow", function()
        local it_is = sale({ { kill = "zookeeper" } },
            { store = "zookeeper", session = 1, timeout = 1, products = { bun = 9 } })
        assert.same({ 9, 0 }, { it_is.left, it_is.sold })
    end)

    -- DEMO-17, Q-01: the network of one server fails, and the server goes on.
    for _, simulated in ipairs{ false, true } do
        it("a server is cut off, and the sale goes on: " .. (simulated and "simulated" or "real"),
           function()
            local it_is = seckill.sale{
                buyers = 8, pause = 0.002, session = 1, timeout = LONG, simulated = simulated,
                faults = { { cut = "holder", length = 4 } },
            }
            assert.same({ "right", 4, { late = 1, expired = 3 } },
                { it_is.verdict, it_is.sold, it_is.failures }, it_is.finding)
            local fault, others = it_is.faults[1], {}
            assert.same({ "cut", true }, { fault.kind, fault.ended - fault.at >= 4 })
            for _, purchase in ipairs(it_is.purchases) do
                others[purchase.outcome] = "server " .. purchase.server ~= fault.target
            end
            assert.same({ sold = true, late = false, expired = false }, others)
            local note = evidence.match_notes(it_is, "^goes on, and its hold is (%l+)$")[1]
            assert.equal("lost", note[1])
        end)
    end

    -- True if a buyer was granted the lock between the times.
    local function is_granted(it_is, from, to)
        for _, purchase in ipairs(it_is.purchases) do
            local granted = purchase.granted
            if granted and from < granted and granted < to then return true end
        end
        return false
    end

    -- A sale whose last fault comes while the first lasts, for a second.
    local function sale_with_overlap(options)
        options.buyers, options.pause = 4, 0.3
        options.session, options.timeout = LONG, LONG
        return rig.wait_for("faults that overlap", function()
            local it_is = seckill.sale(options)
            local first, last = it_is.faults[1], it_is.faults[#options.faults]
            return last and last.at < first.at + 1 and it_is
        end, LONG)
    end

    for _, simulated in ipairs{ false, true } do
        for _, kind in ipairs{ "stop", "cut" } do
            it(("a server goes on after the last %s that overlaps: %s"):format(kind,
                simulated and "simulated" or "real"), function()
                local faults = {}
                for n, length in ipairs{ 1, 1.5, 0.1 } do
                    faults[n] = { at = n / 10, [kind] = "server 1", length = length }
                end
                local it_is = sale_with_overlap{
                    servers = 1, simulated = simulated, faults = faults,
                }
                assert.same({ "right", 4, 3 }, { it_is.verdict, it_is.sold, #it_is.faults })
                local first, second, third = it_is.faults[1], it_is.faults[2], it_is.faults[3]
                assert.same({ second.ended, second.ended }, { first.ended, third.ended })
                assert.is_true(second.ended - second.at >= 1.5 - 1e-9)
                assert.is_false(is_granted(it_is, third.at, second.ended))
            end)
        end
    end

    it("a stop without an end is the stop of a server that was killed meanwhile", function()
        local it_is = seckill.sale{ simulated = true, faults = {
            { at = 0.01, stop = "server 2", length = 5 }, { at = 0.02, kill = "server 2" },
        } }
        assert.same({ "stop", nil, "kill" },
            { it_is.faults[1].kind, it_is.faults[1].ended, it_is.faults[2].kind })
    end)

    it("ZooKeeper goes on after the last pause that overlaps", function()
        local it_is = sale_with_overlap{ faults = {
            { pause = "zookeeper", length = 1 },
            { at = 0.1, stop = "zookeeper", length = 0.1 },
        } }
        assert.same({ "right", 4, 2 }, { it_is.verdict, it_is.sold, #it_is.faults })
        assert.equal(it_is.faults[1].ended, it_is.faults[2].ended)
    end)

    it("an outage is a fault of the command line, too", function()
        local status, out = demo{ "--strategy", "zookeeper", "--buyers", "6", "--session", "20",
            "--fault", "pause zookeeper at 0 for 0.2" }
        assert.equal(0, status, out)
        status, out = demo{ "--fault", "cut server 2 at 0 for 0.1", "--session", "20",
            "--store", "zookeeper" }
        assert.equal(0, status, out)
        status = demo{ "--strategy", "zookeeper", "--fault", "pause zookeeper at 0" }
        assert.equal(2, status)
    end)

    -- Runs code with the throwaway servers `servers` and a TMPDIR of that name. Returns its output,
    -- and the names that are left in TMPDIR.
    local function run_in(name, code)
        local folder = rig.shell("mktemp -d"):match "[^\n]+"
        local temporary = shell.quote(folder .. "/" .. name)
        local script = "local servers = require('zklock.seckill.throwaway').open() " .. code
        rig.shell("mkdir %s", temporary)
        local output = rig.shell("TMPDIR=%s %s -e %s 2>&1", temporary, LUA, shell.quote(script))
        local left = rig.shell("ls %s; rm -r %s", temporary, folder)
        return output, left
    end

    it("a ZooKeeper in a folder of any ASCII name is killed, restarted and removed", function()
        local output, left = run_in("a b's", [[
            local zookeeper = servers:zookeepers(1)
            zookeeper:kill()
            local before = zookeeper:ask(1, "srvr")
            zookeeper:restart()
            print(before, zookeeper:ask(1, "srvr"))
            zookeeper:close()
            print(pcall(zookeeper.restart, zookeeper))
            servers:close()
        ]])
        assert.matches("nil\tZookeeper version.*false\tzookeeper.sh restart failed\n$", output)
        assert.equal("", left)
    end)

    -- Kills the owner, and waits until the watchdog has removed all, before the script goes on.
    local MKDIR = [[
        kill -KILL $OWNER
        while [ -n "$(ls "$TMPDIR")" ]; do sleep 0.01; done
        exec /bin/mkdir %s "$@"
    ]]

    for name, flag in pairs{ ["gone"] = "", ["there again"] = "-p" } do
        it("a ZooKeeper whose owner dies in its start leaves no folder, if that is " .. name,
           function()
            local folder = rig.shell("mktemp -d"):match "[^\n]+"
            rig.shell("mkdir %s/bin %s/tmp", folder, folder)
            files.write(folder .. "/bin/mkdir", "#!/bin/sh\n" .. MKDIR:format(flag))
            rig.shell("chmod +x %s/bin/mkdir; sleep 60 >/dev/null & export OWNER=$!; "
                .. "PATH=%s/bin:$PATH TMPDIR=%s/tmp rig/zookeeper start -w $OWNER 2>&1",
                folder, folder, folder)
            assert.equal("", rig.shell("ls %s/tmp; rm -r %s", folder, folder))
        end)
    end

    it("a ZooKeeper in a folder that Java cannot read is refused", function()
        for _, name in ipairs{ "t\195\188", "a\\b" } do
            local output, left = run_in(name, [[
                print(select(2, pcall(servers.zookeepers, servers, 1)))
                servers:close()
            ]])
            assert.matches("folder must be ASCII without backslashes", output)
            assert.equal("", left)
        end
    end)
end)
