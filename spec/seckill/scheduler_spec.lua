--- [lua luajit] The page on which the reader is the scheduler
--- (lua/zklock/seckill/lessons/scheduler). Its table agrees with the code, whichever way a state is
--- entered; it shows which buyers can oversell; and a browser walks through it.

local browser = require "spec.seckill.report.browser"
local files = require "spec.files"
local graph = require "zklock.seckill.lessons.scheduler.graph"
local page = require "zklock.seckill.lessons.scheduler.page"
local play = require "zklock.seckill.lessons.scheduler.play"
local rig = require "spec.rig"
local store = require "zklock.seckill.lessons.scheduler.store"
local texts = require "zklock.seckill.lessons.scheduler.texts"
local ways = require "zklock.seckill.lessons.scheduler.ways"
local words_of = require "zklock.seckill.lessons.scheduler.words"

local unpack = table.unpack or unpack -- luacheck: std max

local played = {} -- by the game's name
setup(function()
    for _, each in ipairs(page.played()) do played[each.game.name] = each end
end)


local function shortest(name) return played[name].graph.shortest end


-- Asserts that the choices of a path lead through the states of the table.
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


describe("the table of states", function()
    -- A state has the same next states, wherever it was entered from.
    it("the table agrees with the code for each choice after each entry to a state", function()
        for _, each in pairs(played) do
            local states = each.graph.states
            for _, from in ipairs(states) do
                for n, place in ipairs(from.to) do
                    for m, last in ipairs(states[place].to) do
                        local path = graph.extended(from.path, from.view.choices[n],
                            states[place].view.choices[m])
                        local places = ways.of(states, from.path)
                        places[#places + 1] = place
                        places[#places + 1] = last
                        assert_walk(each.game, states, path, places)
                    end
                end
            end
        end
    end)

    it("the table agrees with the code on long ways", function()
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

    it("the table does not depend on the delays of packets", function()
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

    it("a lock's holder in the table is a running server with a lease of it", function()
        for name, each in pairs(played) do
            for _, state in ipairs(each.graph.states) do
                local view = state.view
                for number, server in ipairs(view.servers) do
                    local holder = (view.queues[name == "local" and number or 1])[1]
                    if server.lease_state == "held" and not server.stopped then
                        assert.equal(number, holder)
                    elseif server.lease_state == "lost" then
                        assert.are_not.equal(number, holder)
                    end
                end
            end
        end
    end)

    it("a stopped server believes what it saw last, until it goes on", function()
        local views = play.views(played.zookeeper.game, { "ask 1", "stop 1", "expire", "wake 1" })
        local seen = {}
        for i, view in ipairs(views) do
            seen[i] = ("%s %s"):format(view.servers[1].lease_state, view.queues[1][1])
        end
        assert.same({ "nil nil", "held 1", "held 1", "held nil", "lost nil" }, seen)
    end)

    it("the odds are those of games in which chance makes all choices", function()
        local chance = assert(require("zklock").world(function() end, { seed = 8 }))
        for _, each in pairs(played) do
            local states, games, wrong = each.graph.states, 3000, 0
            for _ = 1, games do
                local state = states[1]
                while state.to[1] and not state.wrong do
                    state = states[state.to[chance:random(#state.to)]]
                end
                if state.wrong then wrong = wrong + 1 end
            end
            assert.near(states[1].odds, wrong / games, 0.04)
            assert.equal(each.graph.wrong > 0, states[1].odds > 0.05)
        end
    end)

    it("the game refuses an impossible choice", function()
        local zookeeper = played.zookeeper.game
        for _, path in ipairs{ { "read 1" }, { "ask 1", "write 1" }, { "ask 1", "ask 2", "read 2" },
                               { "ask 1", "stop 1", "read 1" }, { "ask 1", "expire" } } do
            assert.has_error(function() play.views(zookeeper, path) end,
                ("%s: %s cannot come"):format(table.concat(path, ", "), path[#path]))
        end
    end)

    it("the table has the next states of each state, and hints on a shortest way", function()
        for _, each in pairs(played) do
            local states = each.graph.states
            assert.is_true(#states <= 5000)
            for _, state in ipairs(states) do
                local nearest = math.huge
                for _, to in ipairs(state.to) do
                    nearest = math.min(nearest, states[to].distance or math.huge)
                end
                if state.wrong then assert.equal(0, state.distance)
                elseif state.distance then
                    assert.equal(nearest + 1, state.distance)
                    assert.equal(nearest, states[state.to[state.hint]].distance)
                else assert.equal(math.huge, nearest) end
            end
        end
    end)
end)


describe("the bun", function()
    it("a lock in each process sells the bun twice", function()
        assert.same({ "ask 1", "read 1", "ask 2", "read 2", "write 1", "write 2" },
            shortest("local").path)
    end)

    it("the bun is sold twice where the lock is released before the commit", function()
        assert.same({ "ask 1", "read 1", "release 1", "ask 2", "read 2", "commit 1", "release 2",
                      "commit 2" }, shortest("early").path)
    end)

    it("the bun is sold twice where the lock lapses before the write, and only there", function()
        assert.equal(7, #shortest("ttl").path)
        for _, state in ipairs(played.ttl.graph.states) do
            local path = table.concat(state.path, ", ")
            if state.wrong then assert.matches("lapse.*write", path) end
        end
    end)

    it("the bun is sold twice by a holder that was stopped, and by no other", function()
        assert.equal(9, #shortest("zookeeper").path)
        assert.equal(2, shortest("zookeeper").view.orders)
        for _, state in ipairs(played.zookeeper.graph.states) do
            local path = table.concat(state.path, ", ")
            if state.wrong then assert.matches("stop.*expire.*wake.*write", path) end
        end
    end)

    it("a store that checks tokens sells the bun at most once", function()
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

    it("a store that checks tokens names the greatest, once it was shown one", function()
        local texts_of = {}
        for _, path in ipairs{ {}, { "ask 1", "read 1" } } do
            local game = played.token.game
            local views = play.views(game, path)
            local rows = texts.rows(views[#views], game, words_of.en)
            texts_of[#texts_of + 1] = rows[#rows]
        end
        assert.same({ "stock 1, orders 0, no token seen yet",
                      "stock 1, orders 0, greatest token 1" }, texts_of)
    end)

    it("a store that checks tokens of writes only sells the bun twice", function()
        local read = store.read
        finally(function() store.read = read end)
        function store.read(self) return self.stock end
        assert.is_true(graph.of(played.token.game).wrong > 0)
    end)
end)


describe("the page", function()
    local pages = {}
    setup(function()
        for language in pairs(words_of) do pages[language] = page.of(language) end
    end)

    it("the page tells in both languages the number of states, and that all were tried", function()
        for language, text in pairs(pages) do
            local proof = text:match '<section class="game" id="token">(.*)</section>'
            local made = played.token.graph
            assert.is_truthy(proof:find(language == "en" and "cannot be done" or "做不到", 1, true))
            assert.is_truthy(proof:find("%f[%d]" .. #made.states .. "%f[%D]"))
            assert.is_truthy(proof:find("%f[%d]" .. made.choices .. "%f[%D]"))
        end
    end)

    it("the page has a shortest way as a list that needs no script", function()
        for _, text in pairs(pages) do
            local counts = {}
            for list in text:gmatch '<ol class="way">(.-)</ol>' do
                counts[#counts + 1] = select(2, list:gsub("<li>", ""))
            end
            assert.same({ 6, 8, 7, 9, 9, 8 }, counts)
            assert.is_truthy(text:find("<details open>", 1, true))
        end
    end)

    it("the page has the choice of a shortest way by which the odds rise the most", function()
        local sentence = "If chance chose, from choice 7 (Server 2 reads the stock) 100 of 100 "
            .. "games would end wrong, before it 50."
        assert.is_truthy(pages.en:find(sentence, 1, true))
        for _, text in pairs(pages) do
            assert.equal(4, select(2, text:gsub('<svg class="odds"', "")))
        end
    end)

    it("the page has two near misses: a refused late write, and one that does no harm", function()
        local states = played.token.graph.states
        local function end_of(places)
            local told, view = {}, states[places[#places]].view
            for i, server in ipairs(view.servers) do told[i] = server.told end
            return table.concat(told, ", ") .. ": " .. view.orders
        end
        assert.equal("refused, sold: 1", end_of(ways.of(states, shortest("zookeeper").path)))
        assert.equal("sold, sold_out: 1", end_of(ways.late_write(states)))
    end)

    it("the page shows different states differently, and no step of a stopped server", function()
        for _, each in pairs(played) do
            for language, words in pairs(words_of) do
                local seen = {}
                for i, state in ipairs(each.graph.states) do
                    local rows = table.concat(texts.rows(state.view, each.game, words), "\n")
                    assert.is_nil(seen[rows], language .. rows)
                    seen[rows] = i
                    for number, server in ipairs(state.view.servers) do
                        local goes_on = rows:find(words.two:format(number), 1, true)
                        assert.is_false(goes_on ~= nil and server.stopped)
                    end
                end
            end
        end
    end)

    it("the page tells the news that a stopped waiter missed", function()
        local words = words_of.en
        for _, case in ipairs{ { { "write 1" }, words.unheard.granted },
                               { { "expire" }, words.unheard.expired }, { {} } } do
            local path = { "ask 1", "read 1", "ask 2", "stop 2", unpack(case[1]) }
            local game = played.zookeeper.game
            local views = play.views(game, path)
            local row = texts.rows(views[#views], game, words)[2]
            local said = { words.stopped, words.at.wait, case[2] }
            assert.equal(table.concat(said, words.joint), row)
        end
    end)

    it("the page loads nothing", function()
        for _, text in pairs(pages) do
            assert.is_truthy(text:find("default-src 'none'", 1, true))
            for _, name in ipairs{ " src=", "<link", "<img", "fetch(", "import " } do
                assert.is_nil(text:find(name, 1, true))
            end
        end
    end)

    it("the page's script has at most 200 lines", function()
        local script = rig.shell "cat lua/zklock/seckill/lessons/scheduler/board.js"
        assert.is_true(select(2, script:gsub("\n", "")) <= 200)
    end)
end)


-- A reader presses buttons, and tells the page's texts.
local READER = [[
<script>
const told = [];
function find(game, name) { return document.querySelector("#" + game + " ." + name); }
function press(game, text) {
  const button = [...find(game, "choices").children].find(each => each.textContent === text);
  button.focus();
  button.click();
}
function tell(game) {
  told.push(find(game, "verdict").className + " " + find(game, "past").children.length);
  const bar = document.querySelector("#" + game + " .lanes .odds i:last-child");
  const odds = bar ? 4 * parseFloat(bar.style.height) : "none";
  told.push(odds, !bar || find(game, "chance").textContent.includes(odds));
}
for (const game of ["local", "zookeeper"]) {
  told.push(document.querySelector("#" + game + " details").open);
  for (const each of document.querySelectorAll("#" + game + " .way li")) {
    find(game, "ask").click();
    told.push(find(game, "hint").textContent.includes(each.textContent));
    press(game, each.textContent);
  }
  tell(game);
  find(game, "undo").click();
  tell(game);
  find(game, "restart").click();
  tell(game);
  told.push(document.activeElement.parentElement.className);
}
told.push(document.querySelector("#token .ask"));
for (;;) {
  const next = find("token", "choices").firstElementChild;
  if (!next) break;
  next.click();
}
tell("token");
told.push(document.documentElement.scrollWidth <= innerWidth);
document.title = told.join();
</script>]]

-- The reader's story of a game that so many choices win.
local function told_of(count)
    local verdicts = "verdict oversold %d,100,true,verdict playing %d,100,true,"
        .. "verdict playing 0,none,true,choices,"
    return "false," .. ("true,"):rep(count) .. verdicts:format(count, count - 1)
end


describe("a reader in a browser", function()
    it("a reader with hints sells the bun twice, goes back, and begins again #slow", function()
        local folder = rig.shell("mktemp -d"):match "[^\n]+"
        finally(function() rig.shell("rm -rf %s", folder) end)
        for language in pairs(words_of) do
            local text = page.of(language):gsub("</body>", READER .. "%0")
            files.write(folder .. "/page.html", text)
            assert.equal(told_of(6) .. told_of(9) .. ",verdict over 5,0,true,true",
                browser.title(folder, "page.html"))
        end
    end)
end)
