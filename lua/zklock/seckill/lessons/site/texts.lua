--- The texts of a lesson from NAME.md and NAME.zh-CN.md, with a title, the sentence of the index,
--- and a section for each heading in words.lua.

local markup = require "zklock.seckill.lessons.site.markup"
local words_of = require "zklock.seckill.lessons.site.words"

local texts = {}

local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)site/texts%.lua$"
local ENDINGS = { en = ".md", zh = ".zh-CN.md" }
local SECTIONS = { "question", "predict", "run", "cause", "mend", "same", "try", "where" }


local function items(list)
    local found = {}
    for item in ("\n" .. list):gsub("\n%* ", "\1"):gmatch "\1([^\1]+)" do
        found[#found + 1] = markup.joined(item)
    end
    return found
end


-- "**An answer** and its reply" → { "An answer", "and its reply" }
local function answers(list)
    local found = items(list)
    for i, item in ipairs(found) do found[i] = { item:match "^%*%*(.-)%*%* (.*)$" } end
    return found
end


-- "Its words <https://…>" → { text = "Its words", url = "https://…" }
local function sources(list)
    local found = items(list)
    for i, item in ipairs(found) do
        local text, url = item:match "^(.-)%s*<(%S+)>$"
        found[i] = { text = text, url = url }
    end
    return found
end


local function parts_of(path, words)
    local file = assert(io.open(path, "rb"))
    local head, rest = file:read "*a":match "^(.-)(\n## .*)$"
    file:close()
    local title, ask = head:match "^# ([^\n]+)\n(.*)$"
    local parts, sections = { title = title, ask = markup.joined(ask) }, {}
    for heading, text in rest:gsub("\n## ", "\1"):gmatch "\1([^\n]+)\n([^\1]*)" do
        sections[heading] = text
    end
    for _, name in ipairs(SECTIONS) do
        parts[name] = assert(sections[words[name]], path .. " lacks " .. words[name])
    end
    parts.answers, parts.where = answers(parts.predict), sources(parts.where)
    return parts
end


--- Sets a lesson's texts by language, as in lesson.title.en and lesson.answers.zh.
---@param lesson table
---@param name string  of the lesson's module
function texts.read(lesson, name)
    for language, ending in pairs(ENDINGS) do
        local parts = parts_of(FOLDER .. name .. ending, words_of[language])
        for field, text in pairs(parts) do
            lesson[field] = lesson[field] or {}
            lesson[field][language] = text
        end
    end
end


return texts
