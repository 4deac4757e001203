--- [lua luajit asan tsan] The examples of docs/throughput.md run, and the rules
-- of two ensembles are kept.

local locks = require "docs.throughput.locks"
local rig = require "spec.rig"
local zklock = require "zklock"

local ONE, TWO = "memory:ensemble-one", "memory:ensemble-two"
local BOTH, SWAPPED = { ONE, TWO }, { TWO, ONE }
local PATHS = 40
local unpack = table.unpack or unpack


-- Opens a session of each server, because a server in memory ends with its last.
local function open_servers()
    return { assert(zklock.connect(ONE)), assert(zklock.connect(TWO)) }
end


local function close(opened)
    for _, each in ipairs(opened) do each:close() end
end


-- Returns a path of each ensemble.
local function find_paths(client)
    local found = {}
    for n = 1, PATHS do
        local path = "/locks/sku-" .. n
        found[client:session(path) == client.sessions[1] and 1 or 2] = path
    end
    return found
end


describe("the recipe of two ensembles", function()
    local opened

    local function connect(ensembles)
        local client = assert(locks.connect(ensembles))
        opened[#opened + 1] = client
        return client
    end

    before_each(function()
        opened = open_servers()
        locks.mark(BOTH)
    end)

    after_each(function() close(opened) end)

    it("each path is in one ensemble, the same for each client, and both are used", function()
        local one, other, count = connect(BOTH), connect(BOTH), { 0, 0 }
        for n = 1, PATHS do
            local path = "/locks/sku-" .. n
            local lease = assert(one:mutex(path):acquire(5))
            local _, _, code = other:mutex(path):acquire(0)
            assert.equal("busy", code)
            for i, hosts in ipairs(BOTH) do
                local nodes = zklock.memory(hosts:match(":(.*)")):children(path)
                if nodes and nodes[1] then count[i] = count[i] + 1 end
            end
            lease:release{ wait = 5 }
        end
        assert.equal(PATHS, count[1] + count[2])
        assert.is_true(count[1] >= PATHS / 4 and count[2] >= PATHS / 4)
    end)

    for what, ensembles in pairs{ ["another order"] = SWAPPED, ["fewer"] = { ONE },
                                  ["more"] = { ONE, TWO, ONE } } do
        it("a client with another set is refused: " .. what, function()
            local client, problem = locks.connect(ensembles)
            assert.is_nil(client)
            assert.matches("not %d of " .. #ensembles, problem)
        end)
    end

    it("an ensemble that was not marked is refused", function()
        opened[2]:close()
        opened[2] = assert(zklock.connect(TWO))
        local client, problem = locks.connect(BOTH)
        assert.is_nil(client)
        assert.matches("no part, not 2 of 2", problem)
    end)

    it("another set is accepted when it is marked, and the old set no more", function()
        locks.mark(SWAPPED)
        assert.is_nil((locks.connect(BOTH)))
        assert.truthy(connect(SWAPPED))
    end)

    it("a retired ensemble is refused in each list, also alone", function()
        for _, list in ipairs{ { ONE }, { ONE, TWO } } do
            locks.mark(list)
            connect(list)
            locks.retire(ONE)
            local client, problem = locks.connect(list)
            assert.is_nil(client)
            assert.matches("is retired, not 1 of " .. #list, problem)
        end
    end)

    it("the paths of one ensemble go on while the other is away", function()
        local client = connect(BOTH)
        local paths = find_paths(client)
        zklock.memory("ensemble-one"):cut(client.sessions[1])
        assert(client:mutex(paths[2]):acquire(5)):release()
        assert.equal("suspended", client:session(paths[1]):state())
        zklock.memory("ensemble-one"):heal(client.sessions[1])
        assert(client:mutex(paths[1]):acquire(5)):release()
    end)
end)


describe("the recipe of two ensembles without an answer from the second #server", function()
    local PATIENCE = { connect_timeout = 2 }
    local server = rig.shared()
    local opened, proxy, both, paths

    before_each(function()
        local root = rig.path()
        server:foreign("create %s ''", root)
        proxy = rig.proxy_for_test(server.hosts)
        both = { ONE, proxy.hosts .. root }
        opened = { assert(zklock.connect(ONE)) }
        locks.mark(both)
        local client = assert(locks.connect(both))
        paths = find_paths(client)
        client:close()
        proxy:command("refuse")
    end)

    after_each(function() close(opened) end)

    it("a client starts with one ensemble, and gets locks of the other once that answers #slow",
       function()
        local client = assert(locks.connect(both, PATIENCE))
        opened[2] = client
        assert(client:mutex(paths[1]):acquire(5)):release()
        local lock, message, code = client:mutex(paths[2])
        rig.check_refused("connection", "no ZooKeeper server answered", lock, message, code)
        proxy:command("accept")
        assert(client:mutex(paths[2]):acquire(5)):release()
        assert.equal(client:session(paths[2]), client:session(paths[2]))
    end)

    it("another set, and a late ensemble that was retired, are refused #slow", function()
        assert.is_nil((locks.connect({ both[2], both[1] }, PATIENCE)))
        local client = assert(locks.connect(both, PATIENCE))
        opened[2] = client
        proxy:command("accept")
        locks.retire(both[2])
        rig.check_refused("conflict", "retired, not 2 of 2", client:mutex(paths[2]))
    end)

    it("a client does not start if no ensemble answers #slow", function()
        local client, problem = locks.connect({ both[2] }, PATIENCE)
        assert.is_nil(client)
        assert.matches("no ZooKeeper server answered", problem)
    end)

    it("a late ensemble is asked by one call at a time, and others do not wait #slow", function()
        local client, attempts, seconds = assert(locks.connect(both, PATIENCE)), 0, {}
        opened[2] = client
        local original = zklock.connect
        finally(function() zklock.connect = original end)
        function zklock.connect(...)
            attempts = attempts + 1
            return original(...)
        end
        local calls = {}
        for n = 1, 20 do
            calls[n] = function()
                local lock, message, code
                seconds[n], lock, message, code = rig.timed(client.mutex, client, paths[2])
                rig.check_refused("connection", "connect", lock, message, code)
            end
        end
        zklock.run(unpack(calls))
        assert.equal(1, attempts)
        table.sort(seconds)
        assert.is_true(seconds[19] < 1, seconds[19])
        proxy:command("accept")
        assert(client:mutex(paths[2]):acquire(5)):release()
        assert.equal(client:session(paths[2]), client:session(paths[2]))
        assert.equal(2, attempts)
    end)

    it("a call that is killed in its attempt does not hinder the next #slow", function()
        local client = assert(locks.connect(both, PATIENCE))
        opened[2] = client
        client.attempts[client:session(paths[1]) == client.sessions[1] and 2 or 1] = {}
        collectgarbage()
        proxy:command("accept")
        assert(client:mutex(paths[2]):acquire(5)):release()
    end)
end)


describe("docs/throughput.md", function()
    -- Returns the block of code that begins with this comment.
    local function example(name)
        local pages = rig.shell("cat docs/throughput.md")
        for source in pages:gmatch "```lua\n(.-)```" do
            if source:find("-- " .. name .. "\n", 1, true) == 1 then return source end
        end
    end

    it("the example of two ensembles runs, with other addresses", function()
        local opened = open_servers()
        local hosts, said = { ONE, TWO }, nil
        local source = example("two ensembles"):gsub('"zk[^"]*"', function()
            return ("%q"):format(table.remove(hosts, 1))
        end):gsub('require "locks"', 'require "docs.throughput.locks"')
        local run = assert(load("local print = ...\n" .. source))
        run(function(what) said = what end)
        assert.equal("sold", said)
        close(opened)
    end)

    describe("the cache of docs/throughput.md", function()
        local opened, store, sell

        before_each(function()
            opened = { assert(zklock.connect(ONE)), assert(zklock.connect(ONE)) }
            store = { stock = 10, reads = 0 }
            function store:read()
                self.reads = self.reads + 1
                return self.stock
            end
            function store:write(stock)
                if self.broken then error("refused", 0) end
                self.stock = stock
            end
            local run = assert(load("local session, store = ...\n" .. example "a cache"
                .. "\nreturn sell"))
            sell = run(opened[1], store)
        end)

        after_each(function() close(opened) end)

        it("the cache reads once while the process keeps the lock", function()
            for _ = 1, 3 do assert(sell()) end
            assert.equal(7, store.stock)
            assert.equal(1, store.reads)
        end)

        it("the cache reads again when another process has held the lock", function()
            assert(sell())
            assert(opened[2]:mutex("/locks/sku-42"):with(5, function() store.stock = 3 end))
            assert(sell())
            assert.equal(2, store.stock)
            assert.equal(2, store.reads)
        end)

        it("the cache reads again after a write that failed", function()
            assert(sell())
            store.broken = true
            assert.has_error(sell, "refused")
            store.broken = false
            assert(sell())
            assert.equal(8, store.stock)
            assert.equal(2, store.reads)
        end)

        it("the cache is right when the answer to a holder that lost its lease comes late",
           function()
            local token, is_lost, is_writing, is_late = 0, false, false, false
            store.stock = 5
            function store:read()
                local stock = self.stock
                if not is_lost then
                    is_lost = true
                    zklock.memory("ensemble-one"):expire(opened[1])
                    rig.wait_for("a later holder's write", function() return is_writing end)
                end
                return stock
            end
            function store:write(stock, text)
                if tonumber(text) < token then
                    is_late = true
                    error("refused", 0)
                end
                token, self.stock = tonumber(text), stock
                if stock == 3 then
                    is_writing = true
                    rig.wait_for("the late answer", function() return is_late end)
                end
            end
            local count = 0
            zklock.run(function() assert.has_error(sell, "refused") end, function()
                rig.wait_for("the loss", function() return is_lost end)
                while count < 10 and select(2, assert(sell())) do count = count + 1 end
            end)
            assert.same({ 5, 0 }, { count, store.stock })
        end)
    end)
end)
