--- PIT-18: the database that has the locks is a single point. It is killed while one buyer has the
--- lock and the others wait: nobody else is served, however often they ask. The stock is elsewhere,
--- so nothing false is sold. Of three ZooKeepers one is killed, and the sale goes on.

local evidence = require "zklock.seckill.scenario.evidence"


local BUYERS = 10
local LONG = 30     -- seconds for which buyers ask again if others can answer
local A_WHILE = 1   -- the same if nobody can
local SESSION = 60  -- longer than it takes to find another server, on a busy machine, too


local single_point = {}


local function sale_with(run, options, where, kill)
    options.buyers, options.timeout = BUYERS, 60
    options.purchase = "zklock.seckill.engines.scenario.purchase.asks_again"
    options.faults = { { at = 0, held = true, run = kill, what = "death", where = where } }
    return run:sale(options)
end


local function finding_of(sale)
    return ("%d of %d were served, %d left"):format(sale.sold, BUYERS, sale.left)
end


local function play_database(_, run)
    local url, server = run.throwaway:own_mysql()
    local sale = sale_with(run, {
        strategy = "sql-pessimistic", mysql = url, parameters = { again = A_WHILE },
    }, "MariaDB", function() server:kill() end)
    local failed = sale.failures.connection or 0
    if sale.verdict == "wrong" or sale.sold + failed ~= BUYERS then
        error("it is wrong, but not because nobody answers: " .. tostring(sale), 0)
    end
    local finding = finding_of(sale)
    if failed > 0 then
        evidence.convict(sale, ("%d asked in vain: the database was gone"):format(failed))
    end
    return {
        right = failed == 0, finding = finding, sales = { sale },
        log = evidence.story(sale, "server %d"),
    }
end


local function play_zookeeper(_, run)
    local servers = run.throwaway:zookeepers(3)
    local sale = sale_with(run, {
        strategy = "zookeeper", zookeeper = servers.hosts, session = SESSION,
        parameters = { again = LONG },
    }, "ZooKeeper 1", function() servers:kill(1) end)
    servers:close()
    return {
        right = sale.verdict == "right" and sale.sold == BUYERS and not sale.overlaps[1]
            and evidence.tokens_grow(sale),
        finding = finding_of(sale), sales = { sale }, log = evidence.story(sale, "server %d"),
    }
end


single_point.scenarios = {
    {
        id = "PIT-18a", title = "the database of the locks is killed",
        expect = "wrong", play = play_database,
        explanation = "The holder is done, but no other buyer is ever served, though there is "
            .. "stock.",
    },
    {
        id = "PIT-18b", title = "one of three ZooKeepers is killed",
        expect = "right", play = play_zookeeper,
        explanation = "Two of three are a majority: the lock stays where it is, and the sale goes "
            .. "on.",
    },
}


return single_point
