--- zklock beside other ZooKeeper clients on one path, step by step, with their exclusion, order,
-- and entries in lock:queue(). Not part of every build: `make test-neighbours` runs it, and `make
-- matrix-peers-sid` with newer clients.

local markdown = require "spec.markdown"
local neighbour = require "spec.neighbours.neighbour"
local rig = require "spec.rig"
local zklock = require "zklock"

local server = rig.shared()
local CLIENTS = os.getenv "ZKLOCK_CLIENTS" or "" -- the folder of the unpacked newer clients
local NAMES = { "Curator", "go-zookeeper", "kazoo" }
local LONG = 10 -- seconds for an immediate result
local KEEP = 60 -- seconds to keep a lock without a rival

local neighbours, observer


-- --- zklock, with the same verbs as a neighbour's hand ------------------------------------

local Ours = {}
Ours.__index = Ours


local function ours(options, hosts)
    options = options or {}
    options.timeout = 20
    return setmetatable({ open = rig.session(hosts or server.hosts, options), word = "free" }, Ours)
end


local function lock_of(session, kind, path, data)
    if kind == "mutex" then return session:mutex(path, { data = data }) end
    if kind == "turns" then return session:mutex(path, { data = data, order = "turns" }) end
    if kind == "kept" then return session:mutex(path, { data = data, keep = KEEP }) end
    local rw = session:rwlock(path, { data = data })
    return rw[kind](rw)
end


--- Begins to acquire, in a coroutine of its own, which zklock.run drives.
function Ours:take(kind, path, limit, data)
    local lock = lock_of(self.open, kind, path, data)
    self.word = "waiting"
    coroutine.wrap(function()
        local lease, message, code = lock:acquire{ timeout = limit, owner = self }
        self.lease, self.value = lease, lease and lease.token or message
        local in_vain = code == "timeout" or code == "busy" -- other clients have one word for both
        self.word = lease and "held" or in_vain and "timeout" or "failed"
    end)()
end


function Ours:state() return self.word, self.value end
function Ours:session() return self.open:id() end
function Ours:downgrade() assert(self.lease:downgrade()) end


function Ours:release()
    assert(self.lease:release{ wait = LONG })
    self.word = "free"
end


-- --- steps and checks ---------------------------------------------------------------------

local function is_in(hand, word)
    return function() return hand:state() == word end
end


local function becomes(hand, word)
    rig.wait_for(word, is_in(hand, word), LONG)
end


local function hold(hand, ...)
    hand:take(...)
    becomes(hand, "held")
end


local function wait_for_nodes(number, path)
    rig.wait_for(number .. " nodes", function() return #server:nodes(path) == number end, LONG)
end


local function check_waits(hand) assert.equal("waiting", (hand:state())) end


-- Lets the hand wait in line, where its node is the number-th.
local function stand(hand, number, kind, path, ...)
    hand:take(kind, path, ...)
    wait_for_nodes(number, path)
    check_waits(hand)
end


-- Checks that the hands hold the lock one after the other, in this order, each with the token of
-- the queue.
local function hold_in_order(line, queue)
    for n, hand in ipairs(line) do
        becomes(hand, "held")
        assert.equal(queue[n].token, select(2, hand:state()))
        for later = n + 1, #line do check_waits(line[later]) end
        hand:release()
    end
end


local function node_of(hand, path)
    for _, entry in ipairs(assert(observer:mutex(path):queue(LONG))) do
        if entry.session == hand:session() then return path .. "/" .. entry.name end
    end
    error("not in the queue")
end


local function watches(hand, node)
    local session, watched = "0x" .. hand:session(), nil
    for line in server:ask("wchp"):gmatch("[^\n]+") do
        if line:sub(1, 1) == "/" then watched = line == node end
        if watched and line:match("^%s+(%S+)") == session then return true end
    end
    return false
end


-- Checks that the waiter waits and watches the holder's node.
local function check_waits_for(waiter, holder, path)
    local node = node_of(holder, path)
    rig.wait_for("it watches", function() return watches(waiter, node) end, LONG)
    check_waits(waiter)
end


--- Returns "enters", "fails" or "waits" for a contender that comes while the holder holds. If it
-- waits, it watches the holder's node, and gets the lock at the release.
local function outcome(holder, waiter, path)
    hold(holder.hand, holder.kind, path)
    local node = node_of(holder.hand, path)
    waiter.hand:take(waiter.kind, path)
    local result = rig.wait_for("an outcome", function()
        local word = waiter.hand:state()
        if word == "failed" then return "fails" end
        return word == "held" and "enters" or watches(waiter.hand, node) and "waits"
    end, LONG)
    if result == "waits" then check_waits(waiter.hand) end
    holder.hand:release()
    if result == "waits" then becomes(waiter.hand, "held") end
    if result ~= "fails" then waiter.hand:release() end
    return result
end


-- --- the tables of the documentation ------------------------------------------------------

-- In "fails; waits" the first word is of the machine's clients, the second of newer ones.
local function expected_of(cell)
    local older, newer = cell:match "^(%l+); (%l+)$"
    return CLIENTS == "" and older or newer or cell
end


--- Returns the rows of the table whose first cell is `title`: { { holder, waiter, expected }, … }.
local function read_table(title)
    local found = {}
    for _, lines in ipairs(markdown.tables(rig.shell("cat docs/neighbours.md"))) do
        local head = lines[1]
        for i = 2, head[1] == title and #head > 3 and #lines or 0 do
            for j = 2, #head do
                found[#found + 1] = { lines[i][1], head[j], expected_of(lines[i][j]) }
            end
        end
    end
    assert(#found >= 36, "no table " .. title)
    return found
end


-- Splits "Curator, read" into the client and the kind of its lock.
local KINDS = { ["as above"] = "mutex", ["extra pattern"] = "extra" }

local function party(text, role)
    local name, kind = text:match("^([^,]+),? ?(.*)$")
    kind = kind == "" and "mutex" or KINDS[kind] or kind
    local hand = name == "zklock" and ours() or neighbours[name]:hand(role)
    return { hand = hand, kind = kind }
end


-- Makes a test in which waits of zklock and of neighbours go on side by side.
local function side_by_side(name, test)
    it(name, function() zklock.run(test) end)
end


setup(function()
    neighbours = {}
    for _, name in ipairs(NAMES) do neighbours[name] = neighbour.start(name, server.hosts) end
    observer = assert(zklock.connect(server.hosts, { timeout = 20 }))
end)

teardown(function()
    observer:close()
    for i = #NAMES, 1, -1 do neighbours[NAMES[i]]:stop() end
end)

after_each(function()
    rig.close_sessions()
    for _, each in pairs(neighbours) do each:tidy() end
end)


describe("the clients", function()
    it("the clients are those of the packages", function()
        local said = {}
        for i, name in ipairs(NAMES) do said[i] = name .. " " .. neighbours[name]:version() end
        print("\nruns with: " .. table.concat(said, ", "))
        if CLIENTS == "" then return end
        local function unpacked(package) return neighbour.unpacked(CLIENTS, package) end
        assert.same({
            ("Curator %s with ZooKeeper %s"):format(unpacked "libcurator-framework-java",
                                                    unpacked "libzookeeper-java"),
            "go-zookeeper " .. unpacked "golang-github-go-zookeeper-zk-dev",
            "kazoo " .. unpacked "python3-kazoo",
        }, said)
    end)
end)


for _, title in ipairs{ "mutex", "read-write" } do
    describe(("on one path (%s)"):format(title), function()
        for _, cell in ipairs(read_table(title)) do
            local holder, waiter, expected = cell[1], cell[2], cell[3]
            side_by_side(("while %s holds, %s %s"):format(holder, waiter, expected), function()
                assert.equal(expected, outcome(party(holder, "holder"), party(waiter, "waiter"),
                                               rig.path()))
            end)
        end
    end)
end


describe("a client beside other clients", function()
    local path, one, other, curator, kazoo, go
    before_each(function()
        path = rig.path()
        one, other = ours{ identity = "shop 1" }, ours()
        curator = neighbours.Curator:hand("holder")
        kazoo = neighbours.kazoo:hand("holder")
        go = neighbours["go-zookeeper"]:hand("holder")
    end)

    side_by_side("queue() shows all clients, which are granted in order of arrival", function()
        local line, onlooker = { one, curator, go, kazoo, other }, ours()
        hold(one, "mutex", path, nil, "lua-data")
        stand(curator, 2, "mutex", path, nil, "java-data")
        stand(go, 3, "mutex", path)
        stand(kazoo, 4, "mutex", path, nil, "python-data")
        stand(other, 5, "mutex", path)
        local queue = onlooker.open:mutex(path):queue(LONG)
        assert.equal(5, #queue)
        for n, entry in ipairs(queue) do
            assert.same({ n, "mutex", n == 1, false, line[n]:session() },
                        { entry.position, entry.kind, entry.held, entry.mine, entry.session })
        end
        assert.same({ "shop 1", "lua-data" }, { queue[1].identity, queue[1].data })
        assert.same({ "java-data", "", "python-data" },
                    { queue[2].identity, queue[3].identity, queue[4].identity })
        hold_in_order(line, queue)
    end)

    side_by_side("an election has candidates of Curator's LeaderSelector in its line", function()
        local election, leads, ends = one.open:election(path), false, false
        local second = neighbours.Curator:hand("second")
        curator:elect(path, "java-1")
        becomes(curator, "held")
        coroutine.wrap(function()
            election:lead(function()
                leads = true
                rig.wait_for("the end of the lead", function() return ends end, LONG)
                leads = false
                return true
            end)
        end)()
        wait_for_nodes(2, path)
        assert.equal("java-1", (election:leader(LONG)))
        second:elect(path, "java-2")
        wait_for_nodes(3, path)
        assert.is_false(leads)
        curator:resign()
        rig.wait_for("our lead", function() return leads end, LONG)
        check_waits(second)
        assert.equal("shop 1", second:leader())
        ends = true
        becomes(second, "held")
        second:resign()
    end)

    side_by_side("a waiter in the middle that gives up lets nobody overtake", function()
        for _, quitter in ipairs{ curator, kazoo, other } do
            local holder = quitter == kazoo and curator or kazoo
            hold(holder, "mutex", path)
            quitter:take("mutex", path, 1)
            rig.wait_for("two nodes", function()
                return #server:nodes(path) == 2 or is_in(quitter, "timeout")() -- on a busy machine
            end, LONG)
            one:take("mutex", path)
            go:take("mutex", path)
            becomes(quitter, "timeout")
            wait_for_nodes(3, path)
            check_waits(one)
            check_waits(go)
            holder:release()
            for _ = 1, 2 do
                rig.wait_for("the next grant", function()
                    return one:state() == "held" or go:state() == "held"
                end, LONG)
                local first = one:state() == "held" and one or go
                assert.is_false(one:state() == "held" and go:state() == "held")
                first:release()
            end
        end
    end)

    side_by_side("a try fails while somebody holds, and leaves nothing", function()
        local hands = { one, curator, go, kazoo }
        for _, holder in ipairs(hands) do
            hold(holder, "mutex", path)
            for _, hand in ipairs{ one, curator, kazoo } do
                if hand ~= holder then
                    hand:take("mutex", path, 0)
                    becomes(hand, "timeout")
                end
            end
            wait_for_nodes(1, path)
            holder:release()
        end
        hold(one, "mutex", path, 0)
    end)

    -- Leaves a kept lock behind; returns its node.
    local function keep(hand)
        hold(hand, "kept", path)
        hand:release()
        rig.wait_for("the watch for others", function()
            return hand.open:stats().in_flight == 0 and #server:nodes(path) == 1
        end, LONG)
        return node_of(hand, path)
    end

    side_by_side("each client gets at once a lock that is only kept, and the keeper gets it again",
    function()
        for _, hand in ipairs{ curator, go, kazoo, other } do
            path = rig.path()
            keep(one)
            hold(hand, "mutex", path)
            one:take("kept", path)
            check_waits_for(one, hand, path)
            hand:release()
            becomes(one, "held")
            one:release()
        end
    end)

    side_by_side("each client waits while the keeper holds, and then gets the lock", function()
        for _, hand in ipairs{ curator, go, kazoo, other } do
            path = rig.path()
            keep(one)
            hold(one, "kept", path)
            hand:take("mutex", path)
            check_waits_for(hand, one, path)
            one:release()
            becomes(hand, "held")
            hand:release()
            wait_for_nodes(0, path)
        end
    end)

    -- Either the keeper returns the lock first, or the neighbour looks first.
    side_by_side("a neighbour's try gets a lock that is only kept, or leaves it to others",
    function()
        for _, hand in ipairs{ curator, kazoo } do
            path = rig.path()
            keep(one)
            hand:take("mutex", path, 0)
            rig.wait_for("an outcome", function() return hand:state() ~= "waiting" end, LONG)
            if hand:state() == "held" then
                other:take("mutex", path, 0)
                becomes(other, "timeout")
                hand:release()
            end
            assert.is_true(is_in(hand, "free")() or is_in(hand, "timeout")())
            hold(other, "mutex", path, 0)
            other:release()
        end
    end)

    side_by_side("a neighbour's try fails if the keeper does not hear of the try", function()
        local proxy = rig.proxy_for_test(server.hosts)
        local keeper = ours({}, proxy.hosts)
        for _, hand in ipairs{ curator, kazoo } do
            path = rig.path()
            local node = keep(keeper)
            proxy:command("blackhole")
            hand:take("mutex", path, 0)
            becomes(hand, "timeout")
            wait_for_nodes(1, path)
            assert.equal(node, server:nodes(path)[1])
            proxy:command("flow")
            hold(other, "mutex", path)
            other:release()
        end
    end)

    side_by_side("readers of all clients hold together, and writers wait for each", function()
        local readers = { one, curator, kazoo, other, neighbours.Curator:hand("second") }
        for _, reader in ipairs(readers) do hold(reader, "read", path) end
        local writers = { ours(), neighbours.Curator:hand("waiter"),
                          neighbours.kazoo:hand("waiter") }
        for n, writer in ipairs(writers) do stand(writer, #readers + n, "write", path) end
        local queue = observer:rwlock(path):read():queue(LONG)
        assert.equal(#readers + #writers, #queue)
        for n, entry in ipairs(queue) do
            local reader, writer = readers[n], writers[n - #readers]
            assert.same({ (reader or writer):session(), reader and "read" or "write", not writer },
                        { entry.session, entry.kind, entry.held })
        end
        for _, reader in ipairs(readers) do
            for _, writer in ipairs(writers) do check_waits(writer) end
            reader:release()
            table.remove(queue, 1)
        end
        hold_in_order(writers, queue)
    end)

    side_by_side("zklock's downgrade lets Curator's readers in, and keeps its writers out",
    function()
        local writer = neighbours.Curator:hand("waiter")
        hold(one, "write", path)
        stand(curator, 2, "read", path)
        stand(writer, 3, "write", path)
        one:downgrade()
        becomes(curator, "held")
        curator:release()
        check_waits_for(writer, one, path)
        one:release()
        becomes(writer, "held")
        writer:release()
    end)

    side_by_side("Curator's downgrade lets zklock's readers in, and keeps its writers out",
    function()
        hold(curator, "write", path)
        stand(one, 2, "read", path)
        curator:downgrade()
        becomes(one, "held")
        stand(other, 3, "write", path)
        one:release()
        check_waits_for(other, curator, path)
        curator:release()
        becomes(other, "held")
    end)
end)
