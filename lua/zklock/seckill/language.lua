--- The laboratory in another language. Texts are made in English, and translated when shown, by the
--- pairs "English | 中文" in report/zh.txt, in one line or two. "{}" stands for any text, "{#}" for a
--- number, "(s)" for an optional s, "(were)" and "(are)" also for the singular. report/language.js
--- does the same in a report's page.

local misuse = require "zklock.value.misuse"


local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)language%.lua$"


local language = { NAMES = { "en", "zh" } }


--- The given language, or that of $ZKLOCK_LANGUAGE, or English.
---@param given string?
---@return "en" | "zh" | nil name
---@return string? message
function language.choose(given)
    given = given or os.getenv "ZKLOCK_LANGUAGE" or "en"
    for _, name in ipairs(language.NAMES) do
        if given == name then return name end
    end
    return nil, ("the language must be %s, not %s"):format(table.concat(language.NAMES, " or "),
        misuse.show(given))
end


-- Orders rules by their fixed text, minus their variable parts, so that "{} ({})" is tried before
-- "{#} {}, {#} {}".
local function weight(sentence)
    local fixed, parts = sentence:gsub("{#?}", "")
    return #fixed - 3 * parts
end


---@return { [1]: string, [2]: string }[]
function language.sentences()
    if language.list then return language.list end
    local list, english = {}, nil
    for line in io.lines(FOLDER .. "report/zh.txt") do
        local one, text = line:match "^(.-) ?| (.*)$"
        if text then list[#list + 1] = { one ~= "" and one or english, text } end
        english = line
    end
    table.sort(list, function(a, b)
        local first, second = weight(a[1]), weight(b[1])
        return first > second or first == second and a[1] < b[1]
    end)
    language.list = list
    return list
end


local FORMS = { s = "s?", were = "w[ae][sr]e?", are = "[ai][rs]e?" }
local BREAK = "()([%.;]) %S" -- between sentences

-- Rules { pattern =, text = }, for several sentences and for one.
local rules

local function all_rules()
    if rules then return rules end
    rules = { wholes = {}, parts = {} }
    for _, each in ipairs(language.sentences()) do
        local pattern = each[1]:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
        local list = each[1]:find(BREAK) and rules.wholes or rules.parts
        list[#list + 1] = { text = each[2],
            pattern = "^" .. pattern:gsub("{}", "(.+)"):gsub("{#}", "([%%d.,]*%%d)")
                :gsub("%%%((%l+)%%%)", FORMS) .. "$" }
    end
    return rules
end


local translate

-- Replaces "{}", or "{2}", by the translated captures.
local function fill(text, captures)
    local count = 0
    return (text:gsub("{(%d*)}", function(number)
        count = count + 1
        return translate(captures[tonumber(number) or count])
    end))
end


local function apply(list, text)
    for _, rule in ipairs(list) do
        local captures = { text:match(rule.pattern) }
        if captures[1] then return fill(rule.text, captures) end
    end
end


local function of_parts(text)
    local place, sign = text:match(BREAK)
    if not place then return nil end
    local first, rest = text:sub(1, sign == "." and place or place - 1), text:sub(place + 2)
    local one, other = translate(first), translate(rest)
    if one == first and other == rest then return text end
    return one .. (sign == ";" and "；" or "") .. other
end


function language.translate(text)
    local before, core, after = text:match "^(%s*)(.-)(%s*)$"
    if not core:find "%a%a" then return text end
    local rule = all_rules()
    return before .. (apply(rule.wholes, core) or of_parts(core) or apply(rule.parts, core) or core)
        .. after
end

translate = language.translate


-- Width in columns of a terminal; a Chinese character takes two.
local function width_of(text)
    local _, others = text:gsub("[\227-\233\239][\128-\191][\128-\191]", "")
    local _, all = text:gsub("[^\128-\191]", "")
    return all + others
end


-- Translates a line column by column (two spaces separate columns) and keeps the columns aligned.
local function of_line(line)
    if not line:find "%S  +%S" then return translate(line) end
    local made, width, place = {}, 0, 1
    for from in line:gmatch "()%S+" do
        local stop = line:find("  ", from, true) or #line + 1
        if from >= place then
            local room = math.max(width_of(line:sub(1, from - 1)) - width, from > 1 and 1 or 0)
            made[#made + 1] = (" "):rep(room) .. translate(line:sub(from, stop - 1))
            width, place = width + width_of(made[#made]), stop
        end
    end
    return table.concat(made)
end


--- A file that translates the lines written to it.
---@param file file*
---@param name "en" | "zh"
---@return file*
function language.output(file, name)
    if name == "en" then return file end
    local output, open = {}, ""
    function output.write(self, ...)
        open = open .. table.concat{ ... }
        open = open:gsub("([^\n]*)\n", function(line)
            file:write(of_line(line), "\n")
            return ""
        end)
        return self
    end
    function output.flush() file:flush() end
    return output
end


return language
