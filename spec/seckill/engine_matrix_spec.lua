--- [lua luajit] The capability matrix of docs/design/engines.md (CMP-02). Each cell is tried with a
-- real server, and compared with engine.has. The tests that the matrix names must exist.

local dkjson = require "dkjson"
local engine = require "zklock.engine"
local engines = require "spec.seckill.engines"
local files = require "spec.files"
local markdown = require "spec.markdown"
local rig = require "spec.rig"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: std max

local HOSTS = os.getenv "ZK_HOSTS"
local SOON = 0.05   -- seconds to wait for nothing
local PATIENT = 20  -- seconds to wait for an event
local SHOWN = 1.5   -- seconds in which woken clients ask
local MANY = 3      -- waiting clients

local OWN_PATH = "spec/seckill/engine_matrix_spec.lua"

local YES = { yes = true, ["yes, nearly"] = true, ["if wished"] = true }
local NO_SENSE = "—"


-- --- the tables ------------------------------------------------------------------------------

-- The matrix as cells[column][engine], and the test of each column.
local function read_matrix()
    local cells, columns, tests = {}, {}, {}
    local part = rig.shell("sed -n '/^## What they have$/,/^## /p' docs/design/engines.md")
    for _, lines in ipairs(markdown.tables(part)) do
        local head = lines[1]
        for i = 2, #lines do
            local name = lines[i][1]:match "^`(.*)`$"
            if head[1] == "column" then tests[lines[i][1]] = lines[i][3] end
            for j = 2, name and #head or 0 do
                cells[head[j]] = cells[head[j]] or {}
                cells[head[j]][name] = lines[i][j]
            end
        end
        for j = 2, head[1] == "" and #head or 0 do columns[#columns + 1] = head[j] end
    end
    return cells, columns, tests
end


local cells, columns, tests = read_matrix()


-- --- the engines -------------------------------------------------------------------------------

local new_name, open, two = engines.new_name, engines.open, engines.two

setup(engines.start)
teardown(engines.stop)
after_each(engines.close_all)


-- --- the probes --------------------------------------------------------------------------------

-- True if a second client does not get the lock.
local function excludes(name)
    local mine, yours = two(name)
    assert(mine:acquire(PATIENT))
    return yours:acquire(0) == nil
end


-- False if the feature is "unsupported".
local function supported(result, _, code)
    if not result then assert.equal("unsupported", code) end
    return result and true or false
end


-- An acquire of a held lock returns at its deadline, "timeout" or soon after; a try returns "busy".
local function gives_up(name, seconds)
    local mine, yours = two(name)
    assert(mine:acquire(PATIENT))
    local took, lease, _, code = rig.timed(yours.acquire, yours, seconds)
    assert.same({ nil, seconds == 0 and "busy" or "timeout" }, { lease, code })
    return took >= seconds and took < seconds + PATIENT
end


local INTERRUPTED = [[
local options = require("dkjson").decode(%q)
local lock = assert(require("zklock.engine").open(%q, options)):mutex(%q)
say "ready"
local ok, problem, text = pcall(lock.acquire, lock, 60)
say(tostring(ok and text or problem))
require("zklock").sleep(60)
]]


-- True if an interrupted wait of a live process does not keep the next client from the lock.
local function frees_way_when_interrupted(name)
    local lock, options = new_name(), dkjson.encode(engines.options(name))
    local lease = assert(open(name):mutex(lock):acquire(PATIENT))
    local child = rig.child(HOSTS, INTERRUPTED:format(options, name, lock))
    assert.equal("ready", child:line())
    rig.shell("sleep 0.2; kill -INT %d", child.pid)
    assert.matches("interrupted", child:line())
    lease:release()
    local next_one = open(name):mutex(lock):acquire(PATIENT)
    child:signal "KILL"
    child:finish()
    return next_one ~= nil
end


-- A function that returns the number of the client's requests so far.
local function counter_of(it_is)
    if it_is.session then
        return function()
            local stats = it_is.session:stats()
            return stats.creates + stats.deletes + stats.lists + stats.gets + stats.exists
        end
    end
    local count, call = 0, it_is.redis.call
    function it_is.redis.call(...)
        count = count + 1
        return call(...)
    end
    return function() return count end
end


-- Returns once the clients send no more requests, and have all answers.
local function wait_for_rest(clients, counters)
    local last, sum, asked
    repeat
        last, sum, asked = sum, 0, 0
        zklock.sleep(0.3)
        for i, count in ipairs(counters) do
            local session = clients[i].session
            sum, asked = sum + count(), asked + (session and session:stats().in_flight or 0)
        end
    until sum == last and sum > 0 and asked == 0
end


-- The number of clients with new requests, within some seconds.
local function count_asking(counters, before)
    local number
    rig.eventually(function()
        number = 0
        for i, count in ipairs(counters) do
            if count() > before[i] then number = number + 1 end
        end
        return number == #counters
    end, SHOWN)
    return number
end


-- The number of clients that ask when a contended lock is released and its next holder keeps it.
-- The next holder need not ask, because it may know that it is the next.
local function clients_that_ask(name)
    local lock, over, number = new_name(), false, nil
    local clients, counters = {}, {}
    local lease = assert(open(name):mutex(lock):acquire(PATIENT))
    for i = 1, MANY do
        clients[i] = open(name)
        counters[i] = counter_of(clients[i])
    end
    rig.run(MANY, function(i)
        local got = assert(clients[i]:mutex(lock):acquire(4 * PATIENT))
        while not over do zklock.sleep(SOON) end
        got:release()
    end, function()
        wait_for_rest(clients, counters)
        local before = {}
        for i, count in ipairs(counters) do before[i] = count() end
        lease:release()
        number = count_asking(counters, before)
        over = true
    end)
    return number
end


-- True if a late release of an expired lock does not remove its next holder's lock.
local function only_the_owner_releases(name)
    local life = name == "redis-expire" and 1 or 0.1 -- its times are whole seconds
    local mine, yours = two(name, nil, { lease = life })
    local late = assert(mine:acquire(PATIENT))
    assert(yours.engine:mutex(yours.name, { lease = 60 }):acquire(PATIENT))
    late:release()
    return open(name):mutex(mine.name):acquire(0) == nil
end


-- For each column a function of the engine's name that returns true, false or the cell's other
-- text, and the property of engine.has. A column may make no sense for locks that exclude nobody.
local probes = {}


probes.fair = { has = "fair", of_excluding = true, try = function(name)
    return supported(open(name):mutex(new_name(), { fair = true }))
end }

probes["same owner twice"] = { has = "reentrant", of_excluding = true, try = function(name)
    local lock = open(name):mutex(new_name())
    assert(lock:acquire{ timeout = PATIENT, owner = "a" })
    return lock:acquire{ timeout = 0, owner = "a" } ~= nil
end }

probes["read-write"] = { has = "rwlock", try = function(name)
    local rwlock, message, code = open(name):rwlock(new_name())
    if not supported(rwlock, message, code) then return false end
    assert(rwlock:read():acquire{ timeout = PATIENT, owner = "a" })
    assert.is_nil(rwlock:write():acquire{ timeout = 0, owner = "b" })
    return rwlock:read():acquire{ timeout = PATIENT, owner = "b" } ~= nil
end }

probes.condition = { has = "condition", try = function(name)
    return supported(open(name):mutex(new_name()):condition "c")
end }

probes["several as one"] = { has = "multi", try = function(name)
    local it_is = open(name)
    local x, y = it_is:mutex(new_name()), it_is:mutex(new_name())
    local both, message, code = it_is:multi{ x, y }
    if not supported(both, message, code) then return false end
    assert(both:acquire{ timeout = PATIENT, owner = "a" })
    return y:acquire{ timeout = 0, owner = "b" } == nil
end }

probes["owner releases"] = { has = "owned", of_excluding = true, try = function(name)
    local has = engine.has(name)
    if has.lease then return only_the_owner_releases(name) end
    return has.owned == true -- it lasts until its release
end }

probes.token = { has = "token", try = function(name)
    return supported(open(name):mutex(new_name()):acquire(PATIENT):token_string())
end }

probes["tries once"] = { of_excluding = true, try = function(name)
    return gives_up(name, 0)
end }

probes["waits so long"] = { of_excluding = true, try = function(name)
    return gives_up(name, SOON)
end }

probes["broken off"] = { of_excluding = true, try = frees_way_when_interrupted }

probes["is woken"] = { has = "wakes", of_excluding = true, try = function(name)
    return engine.has(name).wakes == true
end }

probes.herd = { of_excluding = true, try = function(name)
    if not engine.has(name).wakes then return "polls" end
    local number = clients_that_ask(name)
    return number <= 1 and "none" or number == MANY and "each process" or number
end }

probes["lease time"] = { has = "lease", try = function(name)
    return supported(open(name):mutex(new_name(), { lease = 1 }))
end }

probes.renewed = { has = "watchdog", try = function(name)
    return engine.has(name).watchdog == true
end }

probes["chosen by name"] = { try = function(name)
    return table.concat(engine.names, "\n"):find(name, 1, true) ~= nil
end }

probes["own servers"] = { try = function(name) return open(name) ~= nil end }

probes["failure check"] = { try = function(name) return open(name):check() end }

probes.switch = { has = "switch", try = function(name)
    return supported(open(name):switch("zookeeper"))
end }


-- Values of cerberus that depend on its engines.
local THEIRS, ITS_PROPERTY = "its engines'", { herd = "wakes" }

-- Checks with two orders that cerberus has the properties that all engines of its order share.
local function check_cerberus(column, name)
    local property = probes[column].has or ITS_PROPERTY[column]
    for _, order in ipairs{ { "redisson", "zookeeper" }, { "redis-set", "zookeeper" } } do
        local all = true
        for _, part in ipairs(order) do all = all and engine.has(part)[property] == true end
        local given = engines.options(name)
        given.order, given.engines[order[1]] = order, given.engines.redisson
        if order[1] ~= "redisson" then given.engines.redisson = nil end
        local has = engines.open_with(name, given).has
        assert.equal(all, has[property] == true, table.concat(order, ", "))
    end
end


-- Compares the cell with the result.
local function agrees(cell, seen)
    if type(seen) == "string" then return cell == seen end
    return (YES[cell] or false) == seen and cell ~= NO_SENSE
end


local function check_cell(column, name)
    local cell, probe = cells[column][name], probes[column]
    assert.is_string(cell, "docs/design/engines.md has no such cell")
    if cell == THEIRS then return check_cerberus(column, name) end
    if probe.of_excluding and not excludes(name) then
        assert.equal(NO_SENSE, cell)
        return
    end
    local seen = probe.try(name)
    assert.is_true(agrees(cell, seen), ("the cell says %q, and it shows %s"):format(cell,
        tostring(seen)))
    if probe.has then assert.equal(seen, engine.has(name)[probe.has] == true, "engine.has") end
end


describe("the matrix of docs/design/engines.md says of", function()
    for _, name in ipairs(engine.names) do
        for _, column in ipairs(columns) do
            it(name .. ": " .. column, function() check_cell(column, name) end)
        end
    end
end)


describe("the matrix of docs/design/engines.md", function()
    it("the matrix has each engine, and no other", function()
        for _, column in ipairs(columns) do
            local listed = {}
            for name in pairs(cells[column]) do listed[#listed + 1] = name end
            table.sort(listed)
            assert.same(engine.names, listed, column)
        end
    end)

    it("the matrix has a column for each probe, and no other", function()
        local tried = {}
        for column in pairs(probes) do tried[#tried + 1] = column end
        table.sort(tried)
        local listed = { unpack(columns) }
        table.sort(listed)
        assert.same(tried, listed)
    end)

    it("the test that a column names exists, here or elsewhere", function()
        for _, column in ipairs(columns) do
            local path, test = (tests[column] or ""):match '^`(.-)` ?"?(.-)"?$'
            assert.is_string(path, column .. " has no test")
            if path ~= OWN_PATH then
                local there = assert(files.read(path)):find(('it("%s'):format(test), 1, true)
                assert.is_truthy(there and test ~= "", ("%s has no test %q"):format(path, test))
            end
        end
    end)
end)
