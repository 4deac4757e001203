--- A small world of two servers, a lock and a stock (docs/lessons/scheduler): its table of states
--- is what the code does, whichever way a state is entered; who can oversell, and who cannot.

local games = require "docs.lessons.scheduler.games"
local graph = require "docs.lessons.scheduler.graph"
local play = require "docs.lessons.scheduler.play"
local store = require "docs.lessons.scheduler.store"

local played = {} -- by the game's name
setup(function()
    for _, game in ipairs(games) do played[game.name] = { game = game, graph = graph.of(game) } end
end)


-- Whether the choices lead to the states that the table has, from the beginning on.
local function assert_walk(game, states, path, places)
    local views = play.views(game, path)
    for i, place in ipairs(places) do
        local view, known = views[i], states[place].view
        if play.key(view) ~= play.key(known) then
            error(("%s: %s: %s, not %s"):format(game.name, table.concat(path, ", ", 1, i - 1),
                play.key(view), play.key(known)), 2)
        end
        assert.same(known.choices, view.choices)
    end
end


-- The places of the states on the way to a state.
local function places_of(states, path)
    local places = { 1 }
    for i, choice in ipairs(path) do
        local at = states[places[i]]
        for n, each in ipairs(at.view.choices) do
            if each == choice then places[i + 1] = at.to[n] end
        end
    end
    return places
end


describe("the table of states", function()
    -- What is one state has one future: it is left in the same way from wherever it was entered.
    it("is what the code does: each choice after each choice that leads to its state", function()
        for _, each in pairs(played) do
            local states = each.graph.states
            for _, from in ipairs(states) do
                for n, place in ipairs(from.to) do
                    for m, last in ipairs(states[place].to) do
                        local path = graph.way(from.path, from.view.choices[n],
                            states[place].view.choices[m])
                        local places = places_of(states, from.path)
                        places[#places + 1] = place
                        places[#places + 1] = last
                        assert_walk(each.game, states, path, places)
                    end
                end
            end
        end
    end)

    it("is what the code does on long ways, too", function()
        for _, each in pairs(played) do
            local states = each.graph.states
            local world = assert(require("zklock").world(function() end, { seed = 7 }))
            for _ = 1, 300 do
                local path, places = {}, { 1 }
                repeat
                    local at = states[places[#places]]
                    local n = at.to[1] and world:random(#at.to)
                    if n then
                        path[#path + 1] = at.view.choices[n]
                        places[#places + 1] = at.to[n]
                    end
                until not n or #path == 40
                assert_walk(each.game, states, path, places)
            end
        end
    end)

    it("is the same however long packets take", function()
        for _, each in pairs(played) do
            for seed = 2, 4 do
                local other = graph.of(each.game, seed)
                assert.equal(#each.graph.states, #other.states)
                for i, state in ipairs(each.graph.states) do
                    assert.same(state.view, other.states[i].view)
                    assert.same(state.to, other.states[i].to)
                end
            end
        end
    end)

    it("has each lock in the hands of the server that runs with a lease of it", function()
        for name, each in pairs(played) do
            for _, state in ipairs(each.graph.states) do
                local view = state.view
                for number, server in ipairs(view.servers) do
                    local holder = (view.queues[name == "local" and number or 1])[1]
                    if server.lease == "held" and not server.stopped then
                        assert.equal(number, holder)
                    elseif server.lease == "lost" then assert.are_not.equal(number, holder) end
                end
            end
        end
    end)

    it("takes no choice that cannot come", function()
        local zookeeper = games[2]
        for _, path in ipairs{ { "read 1" }, { "ask 1", "write 1" }, { "ask 1", "ask 2", "read 2" },
                               { "ask 1", "stop 1", "read 1" }, { "ask 1", "expire" } } do
            assert.has_error(function() play.views(zookeeper, path) end,
                ("%s: %s cannot come"):format(table.concat(path, ", "), path[#path]))
        end
    end)

    it("has the states that a state can lead to, and hints on a shortest way", function()
        for _, each in pairs(played) do
            local states = each.graph.states
            assert.is_true(#states <= 5000)
            for _, state in ipairs(states) do
                local nearest = math.huge
                for _, to in ipairs(state.to) do
                    nearest = math.min(nearest, states[to].left or math.huge)
                end
                if state.wrong then assert.equal(0, state.left)
                elseif state.left then
                    assert.equal(nearest + 1, state.left)
                    assert.equal(nearest, states[state.to[state.hint]].left)
                else assert.equal(math.huge, nearest) end
            end
        end
    end)
end)


describe("the bun", function()
    local function shortest(name) return played[name].graph.shortest end

    it("is sold twice with a lock in each process", function()
        assert.same({ "ask 1", "read 1", "ask 2", "read 2", "write 1", "write 2" },
            shortest("local").path)
    end)

    it("is sold twice by a holder that was stopped, and by no other", function()
        assert.equal(9, #shortest("zookeeper").path)
        assert.equal(2, shortest("zookeeper").view.orders)
        for _, state in ipairs(played.zookeeper.graph.states) do
            local path = table.concat(state.path, ", ")
            if state.wrong then assert.matches("stop.*expire.*wake.*write", path) end
        end
    end)

    it("is sold at most once where the store checks the token", function()
        assert.equal(0, played.token.graph.wrong)
        assert.is_nil(shortest "token")
        local sold, refused = 0, 0
        for _, state in ipairs(played.token.graph.states) do
            assert.is_true(state.view.orders <= 1)
            assert.equal(1, state.view.orders + state.view.stock)
            sold = sold + state.view.orders
            for _, server in ipairs(state.view.servers) do
                if server.told == "refused" then refused = refused + 1 end
            end
        end
        assert.is_true(sold > 0 and refused > 0)
    end)

    it("is sold twice where the store checks the token of a write alone", function()
        local read = store.read
        finally(function() store.read = read end)
        function store.read(self) return self.stock end
        assert.is_true(graph.of(games[3]).wrong > 0)
    end)
end)
