--- The flash sale over HTTP when MariaDB does not answer a COMMIT.

local client = require "zklock.seckill.http.client"
local core = require "zklock.core"
local database = require "zklock.seckill.database"
local dkjson = require "dkjson"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local nginx = require "spec.nginx.nginx"
local reapers = require "zklock.system.reaper"
local rig = require "spec.rig"
local runs = require "zklock.seckill.http.run"
local seed = require "zklock.seckill.seed"
local waiting = require "spec.nginx.waiting"

local PATIENCE = 60


describe("a purchase over HTTP whose COMMIT is not answered #nginx", function()
    local reaper, store

    setup(function()
        reaper = reapers.open()
        store = mariadb.start(reaper)
    end)
    teardown(function() reaper:close() end)

    -- Waits until a statement with this beginning waits in the database. Returns its
    -- connection's id. The requests to a server let the test's other coroutine go on.
    local function await(db, statement, server)
        local due = core.now() + PATIENCE
        repeat
            client.request(server.port, "GET", "/mall/state")
            assert(core.now() < due, "no such statement waits: " .. statement)
            local row = waiting(db, statement)[1]
            if row then return row[1] end
        until false
    end

    -- Cuts the connection of a purchase while its COMMIT waits. Returns the answer's status, error
    -- and `sold`.
    local function cut_off_at_commit(run)
        local gate, other = database.open(run.place.url), database.open(run.place.url)
        gate:execute "LOCK TABLES tb_order READ"
        local status, body
        client.run{
            function()
                status, body = client.request(run.servers[1].port, "POST", runs.purchase_path())
            end,
            function()
                await(other, "INSERT INTO tb_order", run.servers[2])
                other:execute_all{ "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT" }
                gate:execute "UNLOCK TABLES"
                local id = await(gate, "COMMIT", run.servers[2])
                gate:execute("KILL " .. id)
                other:execute "BACKUP STAGE END"
                rig.wait_for("the end of the connection, and its COMMIT", function()
                    local rows = "SELECT id FROM information_schema.processlist WHERE id = "
                    return not gate:rows(rows .. id)[1]
                end)
            end,
        }
        gate:close()
        other:close()
        local answer = dkjson.decode(body)
        return { status, answer.error, answer.sold }
    end

    for _, strategy in ipairs{ "zookeeper", "combined" } do
        it("a purchase that may be sold is answered with 504: " .. strategy, function()
            local run = runs.open(strategy, {
                ports = { nginx.two_ports() }, store = store, pause = 0, session = 20,
                zookeeper = rig.shared().hosts,
            }, reaper)
            run:serve(2, { strategy = strategy })
            assert.same({ 504, "unknown", nil }, cut_off_at_commit(run))
            local left = run.store:stock(seed.PRODUCT)
            assert.equal(seed.STOCK, left + run.store:ordered(seed.PRODUCT))
            run:close()
        end)
    end
end)
