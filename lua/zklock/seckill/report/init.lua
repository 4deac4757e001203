--- What a sale's record becomes: one HTML file that needs no network, JSON, CSV.
--- What a record is: docs/record.md.
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
---@field language "en" | "zh" | nil  of its page; default: $ZKLOCK_LANGUAGE's
---@field sales table[]  records; their verdicts come from a store
---@field histories table[]?  records; their verdicts come from a check of what happened
---@field scenarios table[]?  of the sales: { title, id, expect, verdict, finding, sales = indices }


local report = {}


local function check(file_name)
    if type(file_name) ~= "string" or file_name == "" then
        misuse.refuse("a report needs the name of its file, not %s", misuse.show(file_name))
    end
end


--- Writes the page.
function report.write(file_name, records)
    check(file_name)
    return output_file.write(file_name, page.html(records))
end


--- Writes the records as they are: { "title": …, "sales": [record, …], "histories": […] }.
function report.json(file_name, records)
    check(file_name)
    return output_file.write(file_name, json.of_records(records))
end


--- Writes a line for each purchase (RFC 4180), the first column of which is the sale's name.
function report.csv(file_name, records)
    check(file_name)
    return output_file.write(file_name, csv.of_records(records))
end


--- Writes results as JUnit's XML.
function report.junit(file_name, cases)
    check(file_name)
    return output_file.write(file_name, junit.of(cases))
end


return report
