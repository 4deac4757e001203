--- Fills page.html with the style, the scripts and the data. The style and the scripts are files of
--- this folder; uplot.lua names the third-party files with version and checksum.

local columns = require "zklock.seckill.report.columns"
local languages = require "zklock.seckill.language"
local json = require "zklock.seckill.report.json"
local misuse = require "zklock.value.misuse"
local uplot = require "zklock.seckill.report.uplot"
local utf8 = require "zklock.value.utf8"


local page = {}

local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)page%.lua$"
local SCRIPTS = { "language.js", "data.js", "tables.js", "plot.js", "signs.js", "lanes.js",
                  "messages.js", "steps.js", "curves.js", "compare.js", "page.js" }
local TITLE = "Flash sales"
local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }


local function read(name)
    local file = assert(io.open(FOLDER .. name, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end


local function scripts()
    local parts = {}
    for i, name in ipairs(SCRIPTS) do parts[i] = read(name) end
    return table.concat(parts, "\n")
end


-- Indices into the page's list of sales start at 0.
local function scenarios(records)
    local list = {}
    for i, each in ipairs(records.scenarios or {}) do
        local indices = {}
        for n, index in ipairs(each.sales) do indices[n] = index - 1 end
        list[i] = {
            title = each.title, id = each.id, expect = each.expect, verdict = each.verdict,
            finding = each.finding, sales = indices,
        }
    end
    return list
end


local function data(records)
    local sales = {}
    for _, record in ipairs(records.sales or {}) do
        sales[#sales + 1] = columns.of(record, false)
    end
    for _, record in ipairs(records.histories or {}) do
        sales[#sales + 1] = columns.of(record, true)
    end
    return json.in_html{ sales = sales, scenarios = scenarios(records) }
end


local function texts(name)
    local chosen, message = languages.choose(name)
    if not chosen then misuse.refuse("%s", message) end
    return json.in_html{ language = chosen, sentences = languages.sentences() }
end


function page.html(records)
    local title = utf8.plain(records.title or TITLE):gsub('[&<>"]', ENTITIES)
    local parts = {
        title = title, data = data(records), texts = texts(records.language),
        style = read "page.css", scripts = scripts(),
        plot_style = read(uplot.style), plot_script = read(uplot.script),
        plot_license = read(uplot.license),
    }
    return (read "page.html":gsub("{{([%w_]+)}}", parts))
end


return page
