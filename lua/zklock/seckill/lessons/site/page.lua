--- The pages of lessons, and their index.

local markup = require "zklock.seckill.lessons.site.markup"
local picture = require "zklock.seckill.lessons.site.picture"
local runs = require "zklock.seckill.lessons.site.runs"
local tables = require "zklock.seckill.lessons.site.tables"
local words_of = require "zklock.seckill.lessons.site.words"

local page = {}

local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)site/page%.lua$"

page.languages = { "en", "zh" }
local CODES = { en = "en", zh = "zh-CN" }

local CALL = [=[
make
LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;;" LUA_CPATH="build/5.4/?.so;;" lua5.4 sale.lua]=]

local HTML = [[
<!DOCTYPE html>
<html lang="{{code}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'{{policy}}">
<meta name="color-scheme" content="light dark">
<title>{{title}}</title>
<style>
{{style}}
</style>
</head>
<body>
{{body}}
</body>
</html>
]]


function page.read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end


--- A page of the site. `style` and `policy` add to the site's style and content security policy.
---@param parts { language: string, title: string, body: string, style?: string, policy?: string }
---@return string html
function page.frame(parts)
    parts.code = CODES[parts.language]
    parts.style = page.read(FOLDER .. "site.css") .. (parts.style or "")
    parts.policy = parts.policy or ""
    return (HTML:gsub("{{(%w+)}}", parts))
end


-- parts of a lesson ------------------------------------------------------------------------------

-- A section with a heading; its id `name` is the same in both languages.
local function section(name, heading, ...)
    return ('<section id="%s">\n<h2>%s</h2>\n%s\n</section>'):format(name, heading,
        table.concat({ ... }, "\n"))
end


-- Each answer is a `details` element with its reply, so no script is needed.
local function prediction(lesson, facts, language, words)
    local right, parts = runs.right_answer(lesson, facts), {}
    for i, answer in ipairs(lesson.answers[language]) do
        local is_right = i == right
        parts[i] = ('<details class="answer"><summary>%s</summary>\n<p class="%s"><strong>%s '
            .. "%s</strong> %s</p></details>"):format(markup.line(answer[1], facts),
            is_right and "yes" or "no", is_right and "✔" or "✘",
            is_right and words.right or words.wrong, markup.line(answer[2], facts))
    end
    return ('<p>%s</p>\n%s\n<p class="next">%s</p>'):format(words.choose,
        table.concat(parts, "\n"), words.next)
end


local VERDICTS = { right = "✔", wrong = "✘", stuck = "‖" }

local function verdict(sale, words)
    return ('<p class="verdict %s"><b>%s %s</b> %s</p>'):format(sale.verdict,
        VERDICTS[sale.verdict], words.verdicts[sale.verdict],
        words.outcome:format(sale.sold, sale.left, sale.stock))
end


local function report_name(lesson, which) return lesson.name .. "-" .. which .. ".html" end


local function call_of(lesson, which, words)
    local file = report_name(lesson, which)
    return ('<p>%s</p>\n%s\n<p><a href="../runs/%s?language=%s">%s</a></p>'):format(words.call,
        markup.code(runs.program_of(lesson.runs[which], file)), file, words.name, words.report)
end


local function result_of(lesson, facts, which, words, language)
    local column = lesson.column and { title = lesson.column[language], of = lesson.column.of }
    return table.concat({
        verdict(facts[which], words), picture.of(facts[which], words),
        tables.purchases(facts[which], words, column),
    }, "\n")
end


local function modules(names, words)
    local parts = {}
    for i, name in ipairs(names or {}) do
        parts[i] = ('<p id="%s">%s</p>\n%s'):format(name,
            markup.line(words.module:format("lua/zklock/seckill/lessons/" .. name .. ".lua"), {}),
            markup.code(page.read(FOLDER .. name .. ".lua")))
    end
    return table.concat(parts, "\n")
end


local function sources_of(lesson, facts, language)
    local parts = {}
    for i, each in ipairs(lesson.where[language]) do
        local address = each.url:gsub("^https?://", "")
        parts[i] = ('<li>%s <a href="%s">%s</a></li>'):format(markup.line(each.text, facts),
            each.url, markup.escape(address))
    end
    return "<ul>\n" .. table.concat(parts, "\n") .. "\n</ul>"
end


-- headers and the index --------------------------------------------------------------------------

local function other_language(language, path)
    local other = language == "en" and "zh" or "en"
    return ('<a lang="%s" hreflang="%s" href="%s">%s</a>'):format(CODES[other], CODES[other],
        path:gsub("{}", other), words_of[other].language)
end


--- The head of a page, with the way to the index, and to the page in the other language.
---@param language "en" | "zh"
---@param name string   of the page
---@param title string
---@return string html
function page.header(language, name, title)
    return ('<header><nav><a href="../index.html#%s">%s</a> · %s</nav>\n<h1>%s</h1></header>')
        :format(language, words_of[language].index,
            other_language(language, "../{}/" .. name .. ".html"), title)
end


local function title_of(lessons, index, language)
    local title, words = lessons[index].title[language], words_of[language]
    return language == "zh" and ("第 %d 课：%s"):format(index, title)
        or ("%s %d: %s"):format(words.lesson, index, title)
end


local function neighbours(lessons, index, language, words)
    local links = {}
    local function add(number, word)
        if lessons[number] then
            links[#links + 1] = ('<li>%s: <a href="%s.html">%s</a></li>'):format(word,
                lessons[number].name, title_of(lessons, number, language))
        end
    end
    add(index - 1, words.before)
    add(index + 1, words.after)
    return "<nav><ul>" .. table.concat(links) .. "</ul></nav>"
end


---@param lessons table[]  all, in order
---@param index integer
---@param facts table      of its runs
---@param language "en" | "zh"
---@return string html
function page.lesson(lessons, index, facts, language)
    local lesson, words = lessons[index], words_of[language]
    local title = title_of(lessons, index, language)
    local function text(field) return markup.paragraphs(lesson[field][language], facts) end
    local body = {
        page.header(language, lesson.name, title),
        "<main>",
        section("question", words.question, text "question"),
        section("prediction", words.predict, prediction(lesson, facts, language, words)),
        section("run", words.run, text "run", result_of(lesson, facts, "first", words, language),
            call_of(lesson, "first", words), modules(lesson.modules.first, words)),
        section("cause", words.cause, text "cause", tables.steps(facts.first, words)),
        section("mend", words.mend, text "mend", markup.code(lesson.code)),
        section("same", words.same, text "same",
            facts.searched and markup.paragraphs(words.searched, facts) or "",
            result_of(lesson, facts, "second", words, language), tables.steps(facts.second, words),
            call_of(lesson, "second", words), modules(lesson.modules.second, words)),
        section("try", words.try, "<p>" .. words.try_call .. "</p>", markup.code(CALL), text "try",
            lesson.command and markup.code(lesson.command) or ""),
        section("where", words.where, sources_of(lesson, facts, language)),
        "</main>", neighbours(lessons, index, language, words),
        "<footer><p>" .. words.made:format "<code>make site</code>" .. "</p></footer>",
    }
    return page.frame{ language = language, title = title, body = table.concat(body, "\n") }
end


local function items(pages, language)
    local lines = {}
    for i, each in ipairs(pages) do
        lines[i] = ('<li><a href="%s/%s.html">%s</a><br>%s</li>'):format(language, each.name,
            each.title[language], markup.line(each.ask[language], {}))
    end
    return table.concat(lines, "\n")
end


---@param lessons table[]
---@param others table[]  with name, title and ask
---@return string html
function page.index(lessons, others)
    local parts = {}
    for i, language in ipairs(page.languages) do
        local words = words_of[language]
        parts[i] = ('<section id="%s" lang="%s"><h1>%s</h1>\n<p>%s</p>\n<ol>\n%s\n</ol>\n'
            .. "<p>%s</p>\n<ul>\n%s\n</ul></section>"):format(language, CODES[language], words.site,
                words.intro, items(lessons, language), words.play, items(others, language))
    end
    local body = '<nav><a href="#en">English</a> · <a href="#zh" lang="zh-CN">中文</a></nav>\n'
        .. "<main>\n" .. table.concat(parts, "\n") .. "\n</main>"
    return page.frame{ language = "en", title = words_of.en.site, body = body }
end


page.report_name = report_name


return page
