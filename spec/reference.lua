--- The pages of the reference, for specs that compare them with the code.

local files = require "spec.files"
local markdown = require "spec.markdown"

local FOLDER = "docs/reference/"
local PAGES = { "session", "locks", "lease", "election", "members", "drivers", "metrics", "codes",
                "testing", "resty-lock" }

local reference = {}


--- Returns the text of a page.
---@param name string without its ending
---@return string
function reference.page(name)
    return assert(files.read(FOLDER .. name .. ".md"))
end


local function add_calls(list, page)
    local call
    for line in reference.page(page):gmatch "([^\n]*)\n" do
        local heading = line:match "^### (.*)"
        if heading then
            call = { page = page, heading = heading, text = "" }
            list[#list + 1] = call
        elseif line:find "^## " then
            call = nil
        elseif call then
            call.text = call.text .. line .. "\n"
        end
    end
end


local calls

--- Returns each call's heading, the text below it, and the name of its page.
---@return { page: string, heading: string, text: string }[]
function reference.calls()
    if calls then return calls end
    calls = {}
    for _, page in ipairs(PAGES) do add_calls(calls, page) end
    return calls
end


--- Returns the text of the call whose heading begins like that.
---@param beginning string
---@return string
function reference.call(beginning)
    for _, call in ipairs(reference.calls()) do
        if call.heading:sub(1, #beginning) == beginning then return call.text end
    end
    error("the reference has no call " .. beginning)
end


--- Returns the names in the first column of the table with that head.
---@param text string
---@param head string its first cell
---@return table<string, true>
function reference.names(text, head)
    local found = {}
    for _, lines in ipairs(markdown.tables(text)) do
        for i = 2, lines[1][1] == head and #lines or 0 do
            for name in lines[i][1]:gmatch "`([%l_]+)`" do found[name] = true end
        end
    end
    return found
end


return reference
