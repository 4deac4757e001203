--- The page in a language, with the games, their tables of states, and the script that walks
--- through them (board.js).

local games = require "zklock.seckill.lessons.scheduler.games"
local graph = require "zklock.seckill.lessons.scheduler.graph"
local json = require "zklock.seckill.report.json"
local markup = require "zklock.seckill.lessons.site.markup"
local site_page = require "zklock.seckill.lessons.site.page"
local odds = require "zklock.seckill.lessons.scheduler.odds"
local texts = require "zklock.seckill.lessons.scheduler.texts"
local ways = require "zklock.seckill.lessons.scheduler.ways"
local words_of = require "zklock.seckill.lessons.scheduler.words"

local page = { name = "scheduler", title = {}, ask = {} }
for language, words in pairs(words_of) do
    page.title[language], page.ask[language] = words.title, words.ask
end

local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)page%.lua$"

local WON_GAME = "zookeeper" -- the way that wins it fails in the last game

local BOARD = [[
<div class="board" hidden>
<p class="verdict" role="status"></p>
<div class="lanes" aria-hidden="true">
<p>{{lanes}}</p>
<div><b>1</b></div>
<div><b>2</b></div>
<div class="odds"><b>%</b></div>
{{key}}
</div>
<p class="chance"></p>
<table><caption>{{board}}</caption>{{rows}}</table>
<p class="heading choose">{{choose}}</p>
<div class="choices"></div>
<p class="tools"><button type="button" class="undo">↶ {{undo}}</button>
<button type="button" class="restart">⟲ {{restart}}</button>{{hint}}</p>
<p class="hint" role="status"></p>
<p class="heading">{{past}}</p>
<ol class="past"></ol>
<p class="nothing">{{nothing}}</p>
</div>]]


local function read(name) return site_page.read(FOLDER .. name) end


-- the tables -------------------------------------------------------------------------------------

local graphs -- for all languages

--- The games with their graphs.
---@return { game: table, graph: zklock.scheduler.Graph }[]
function page.played()
    if graphs then return graphs end
    graphs = {}
    for i, game in ipairs(games) do graphs[i] = { game = game, graph = graph.of(game) } end
    return graphs
end


-- A state in the form of board.js, with indices from 0 of texts and states.
local function packed(state, game, words, index_of)
    local rows, go = {}, {}
    for i, text in ipairs(texts.rows(state.view, game, words)) do rows[i] = index_of(text) end
    for i, choice in ipairs(state.view.choices) do
        go[i] = { index_of(texts.choice(state.view, choice, words)), state.to[i] - 1 }
    end
    local kind, verdict = texts.verdict(state, words)
    return {
        rows = rows, boxes = texts.boxes(state.view), go = go, kind = kind,
        verdict = index_of(verdict), hint = index_of(texts.hint(state, words)),
        odds = odds.of_hundred(state.odds), chance = index_of(texts.chance(state, words)),
    }
end


-- JSON of all games.
local function data(words)
    local list, index_of = json.indices()
    local all = { texts = list, games = {} }
    for _, played in ipairs(page.played()) do
        local states = {}
        for i, state in ipairs(played.graph.states) do
            states[i] = packed(state, played.game, words, index_of)
        end
        all.games[played.game.name] = states
    end
    return json.in_html(all)
end


-- the page ---------------------------------------------------------------------------------------

local function key_of_boxes(game, words)
    local parts = {}
    for i, class in ipairs{ "wait", "hold", "two", game.faults and "stop" or nil } do
        parts[i] = ('<li><i class="%s"></i>%s</li>'):format(class, words.key[class])
    end
    return '<ul class="key">' .. table.concat(parts) .. "</ul>"
end


local function board(played, words)
    local rows = {}
    local first = played.graph.states[1].view
    for i, head in ipairs(texts.heads(first, played.game, words)) do
        rows[i] = ('<tr><th scope="row">%s</th><td></td></tr>'):format(markup.escape(head))
    end
    local parts = setmetatable({
        rows = table.concat(rows, "\n"), key = key_of_boxes(played.game, words),
        hint = played.graph.shortest and
            ('\n<button type="button" class="ask">? %s</button>'):format(words.hint) or "",
    }, { __index = words })
    return (BOARD:gsub("{{(%l+)}}", function(name) return parts[name] end))
end


-- The odds along a way that ends wrong, with the choice that adds the most.
local function odds_of(played, way, words)
    local states = played.graph.states
    local turn = odds.turning_point(states, way)
    local each = ways.choices(states, way)[turn.choice]
    local text = markup.line(words.moment, {
        choice = turn.choice, text = texts.choice(each.view, each.choice, words),
        odds = odds.of_hundred(turn.odds), before = odds.of_hundred(turn.before),
    })
    return ("<p>%s</p>\n%s"):format(text, odds.curve(states, way, words.curve))
end


-- A way as a list, with the rows of its last state. The script closes the list.
local function list_of(title, played, way, words)
    local states, lines, ends = played.graph.states, {}, {}
    for i, each in ipairs(ways.choices(states, way)) do
        lines[i] = "<li>" .. markup.escape(texts.choice(each.view, each.choice, words)) .. "</li>"
    end
    local last = states[way[#way]].view
    local heads = texts.heads(last, played.game, words)
    for i, row in ipairs(texts.rows(last, played.game, words)) do
        ends[i] = markup.escape(words.row:format(heads[i], row))
    end
    return ('<details open><summary>%s</summary>\n<ol class="way">\n%s\n</ol>\n<p>%s<br>%s</p>'
        .. "</details>"):format(title, table.concat(lines, "\n"), words.ends,
        table.concat(ends, "<br>"))
end


-- Two ways that nearly sell the bun twice. The first wins the game before; on the second the late
-- write is admitted.
local function near_misses(played, words)
    local states, near = played.graph.states, words.games[played.game.name].near
    local winning
    for _, each in ipairs(page.played()) do
        if each.game.name == WON_GAME then winning = each.graph.shortest.path end
    end
    return table.concat({
        list_of(near.refused, played, ways.of(states, winning), words),
        list_of(near.admitted, played, ways.late_write(states), words),
    }, "\n")
end


local function ending(played, words, facts)
    local shortest = played.graph.shortest
    if not shortest then
        return markup.paragraphs(words.games[played.game.name].proof, facts) .. "\n"
            .. near_misses(played, words)
    end
    local way = ways.of(played.graph.states, shortest.path)
    local count = facts.wrong == 1 and words.count_one or words.count
    return table.concat({
        list_of(markup.line(words.way, facts), played, way, words),
        odds_of(played, way, words), "<p>" .. markup.line(count, facts) .. "</p>",
    }, "\n")
end


local function section(played, words)
    local game, made = played.game, played.graph
    local own = words.games[game.name]
    local facts = { states = #made.states, choices = made.choices, wrong = made.wrong,
                    left = made.shortest and #made.shortest.path }
    return table.concat({
        ('<section class="game" id="%s">\n<h2>%s</h2>'):format(game.name, own.title),
        markup.paragraphs(own.text, facts),
        own.code and markup.paragraphs(own.code, facts) .. markup.code(read(game.code)) or "",
        board(played, words), ending(played, words, facts),
        own.after and markup.paragraphs(own.after, facts) or "", "</section>",
    }, "\n")
end


---@param language "en" | "zh"
---@return string html
function page.of(language)
    local words, facts, sections = words_of[language], { states = 0, choices = 0 }, {}
    for i, played in ipairs(page.played()) do
        facts.states = facts.states + #played.graph.states
        facts.choices = facts.choices + played.graph.choices
        sections[i] = section(played, words)
    end
    local body = {
        site_page.header(language, page.name, words.title), "<main>",
        markup.paragraphs(words.intro, facts), markup.paragraphs(words.program, facts),
        markup.code(read "purchase.lua"), markup.paragraphs(words.made, facts),
        "<noscript><p>" .. words.no_script .. "</p></noscript>",
        table.concat(sections, "\n"), "</main>",
        '<script type="application/json" id="games">' .. data(words) .. "</script>",
        "<script>\n" .. read "board.js" .. "</script>",
    }
    return site_page.frame{ language = language, title = words.title, style = read "board.css",
                  policy = "; script-src 'unsafe-inline'", body = table.concat(body, "\n") }
end


return page
