--- The promises of the reference, and the tests that show each (`make promises`).
--
-- A promise is a call, or a section about many calls. A test names its promise by a tag, in its
-- own title or in the title of a describe around it: `#lock:acquire`, `#order_turns`.

local files = require "spec.files"
local reference = require "spec.reference"

local promises = {}


local function tag_of(section)
    return section:lower():gsub("[^%w ]", ""):gsub(" ", "_")
end


--- Returns the tag of each promise, in the order of the pages.
---@return string[]
function promises.all()
    local list, seen = {}, {}
    local function add(tag)
        if not seen[tag] then list[#list + 1] = tag end
        seen[tag] = true
    end
    for _, call in ipairs(reference.calls()) do
        for part in (call.heading .. " · "):gmatch "(.-) · " do
            add(part:match "^[%l_]+[:.][%l_]+")
        end
        for section in call.text:gmatch "\n#### ([^\n]*)" do add(tag_of(section)) end
    end
    for _, page in ipairs{ "README", "metrics" } do
        for section in reference.page(page):gmatch "\n## ([^\n]*)" do add(tag_of(section)) end
    end
    return list
end


-- Returns the tags in the title of a describe or test that begins at that line.
local function tags_at(lines, i)
    local tags, name = {}, lines[i]
    while not name:find "function%(" and lines[i + 1] do
        i = i + 1
        name = name .. lines[i]
    end
    for tag in name:match("^(.-)function%("):gmatch "#([%l_]+[:.]?[%l_]*)" do
        tags[#tags + 1] = tag:gsub("[:.]$", "")
    end
    return tags
end


-- Calls add(tag) for each test in the text, and each of its tags.
local function each_test(text, add)
    local lines, around = {}, {}
    for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    for i, line in ipairs(lines) do
        local indent, word = line:match "^( *)(%l+)"
        local innermost = around[#around]
        if word == "end" and innermost and innermost.indent == indent then
            around[#around] = nil
        elseif line:find "^ *describe%(" and not line:find "end%)$" then
            around[#around + 1] = { indent = indent, tags = tags_at(lines, i) }
        elseif line:find "^ *it%(" or line:find "^ *describe%(" then
            around[#around + 1] = { tags = tags_at(lines, i) }
            for _, one in ipairs(around) do
                for _, tag in ipairs(one.tags) do add(tag) end
            end
            around[#around] = nil
        end
    end
end


--- Returns the number of tests with each tag, by the paths of their specs.
---@param paths string[]
---@return table<string, table<string, integer>>
function promises.tests(paths)
    local found = {}
    for _, path in ipairs(paths) do
        each_test(assert(files.read(path)), function(tag)
            found[tag] = found[tag] or {}
            found[tag][path] = (found[tag][path] or 0) + 1
        end)
    end
    return found
end


--- Returns a line for each promise.
---@param paths string[]
---@return string text
---@return string[] missing the promises without a test
function promises.report(paths)
    local found, lines, missing = promises.tests(paths), {}, {}
    for _, tag in ipairs(promises.all()) do
        local specs, count = {}, 0
        for path, tests in pairs(found[tag] or {}) do
            specs[#specs + 1] = path:match "^spec/(.*)_spec%.lua$"
            count = count + tests
        end
        table.sort(specs)
        if count == 0 then missing[#missing + 1] = tag end
        lines[#lines + 1] = ("%-40s %3d  %s"):format(tag, count, table.concat(specs, " "))
    end
    return table.concat(lines, "\n"), missing
end


if arg and arg[0]:find "promises%.lua$" then
    local text, missing = promises.report(arg)
    print(text)
    print(#missing == 0 and "Each has a test." or "Without a test: " .. table.concat(missing, " "))
end

return promises
