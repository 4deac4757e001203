--- `make site` writes the lessons as a folder of static pages. Each lesson's runs are carried out,
--- and must end as its page says.
---
---     lua5.4 lessons/site.lua build/site

local output_file = require "zklock.seckill.output_file"
local page = require "zklock.seckill.lessons.site.page"
local runs = require "zklock.seckill.lessons.site.runs"
local scheduler = require "zklock.seckill.lessons.scheduler.page"
local texts = require "zklock.seckill.lessons.site.texts"

local site = {}


-- In order of learning.
local NAMES = {
    "no_lock", "lock_in_one_server", "release_before_commit", "paused_holder", "token",
    "killed_holder", "expiry", "late_release", "clocks", "dead_master", "switch", "herd",
    "fairness", "coarse_lock", "many_waiters", "read_write", "deadlock", "re_entry", "no_need",
}


function site.lessons()
    local lessons = {}
    for i, name in ipairs(NAMES) do
        local lesson = require("zklock.seckill.lessons." .. name)
        lesson.name = name:gsub("_", "-")
        texts.read(lesson, name)
        lessons[i] = lesson
    end
    return lessons
end


local function write(path, text) assert(output_file.write(path, text)) end


--- Writes the site into a folder with the subfolders en, zh and runs.
---@param folder string
---@param say fun(line: string)?
function site.write(folder, say)
    local lessons = site.lessons()
    for index, lesson in ipairs(lessons) do
        local facts, sales = runs.play(lesson)
        facts.searched = runs.search(lesson)
        for _, which in ipairs{ "first", "second" } do
            local sale = sales[which]
            assert(sale:report(folder .. "/runs/" .. page.report_name(lesson, which)))
            if say then say(tostring(sale):match "[^\n]*") end
        end
        for _, language in ipairs(page.languages) do
            write(("%s/%s/%s.html"):format(folder, language, lesson.name),
                page.lesson(lessons, index, facts, language))
        end
    end
    for _, language in ipairs(page.languages) do
        write(("%s/%s/%s.html"):format(folder, language, scheduler.name), scheduler.of(language))
    end
    write(folder .. "/index.html", page.index(lessons, { scheduler }))
end


if arg and arg[0] and arg[0]:find "seckill/lessons/site%.lua$" then site.write(arg[1], print) end

return site
