--- Writes a sale's record (docs/record.md) as one HTML file that needs no network, as JSON, or as
--- CSV.
---
---     local report = require "zklock.seckill.report"
---     assert(report.write("sale.html", { title = "…", sales = { record, … } }))

local csv = require "zklock.seckill.report.csv"
local json = require "zklock.seckill.report.json"
local junit = require "zklock.seckill.report.junit"
local misuse = require "zklock.value.misuse"
local output_file = require "zklock.seckill.output_file"
local page = require "zklock.seckill.report.page"


---@class zklock.seckill.Records
---@field title string?
---@field language "en" | "zh" | nil  of the page; by default that of $ZKLOCK_LANGUAGE
---@field sales table[]  records with a store's verdict
---@field histories table[]?  records with a verdict from a check of the events
---@field scenarios table[]?  of the sales: { title, id, expect, verdict, finding, sales = indices }


local report = {}


local function check(file_name)
    if type(file_name) ~= "string" or file_name == "" then
        misuse.refuse("a report needs the name of its file, not %s", misuse.show(file_name))
    end
end


function report.write(file_name, records)
    check(file_name)
    return output_file.write(file_name, page.html(records))
end


--- Writes the unchanged records as { "title": …, "sales": [record, …], "histories": […] }.
function report.json(file_name, records)
    check(file_name)
    return output_file.write(file_name, json.of_records(records))
end


--- Writes a line for each purchase (RFC 4180), with the sale's name in the first column.
function report.csv(file_name, records)
    check(file_name)
    return output_file.write(file_name, csv.of_records(records))
end


function report.junit(file_name, cases)
    check(file_name)
    return output_file.write(file_name, junit.of(cases))
end


return report
