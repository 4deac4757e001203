--- The laboratory in another language. Texts are made in English, and translated when shown, by the
--- pairs "English | 中文" in report/zh.txt. A long pair takes two lines. "{}" stands for any text,
--- "{#}" for a number, "(s)" for an optional s, "(were)" and "(are)" also for the singular.
--- report/language.js translates a report's page in the same way.

local misuse = require "zklock.value.misuse"
local variable = require "zklock.system.variable"


local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)language%.lua$"


local language = { NAMES = { "en", "zh" } }


--- The given language, or that of $ZKLOCK_LANGUAGE, or English.
---@param given string?
---@return "en" | "zh" | nil name
---@return string? message
function language.choose(given)
    given = given or variable "ZKLOCK_LANGUAGE" or "en"
    for _, name in ipairs(language.NAMES) do
        if given == name then return name end
    end
    return nil, ("the language must be %s, not %s"):format(table.concat(language.NAMES, " or "),
        misuse.show(given))
end


-- More fixed text and fewer variable parts make a rule more specific, so "{} ({})" is tried before
-- "{#} {}, {#} {}".
local function specificity(sentence)
    local fixed, parts = sentence:gsub("{#?}", "")
    return #fixed - 3 * parts
end


---@return { [1]: string, [2]: string }[]  English, Chinese
function language.sentences()
    if language.list then return language.list end
    local list, previous = {}, nil
    for line in io.lines(FOLDER .. "report/zh.txt") do
        local english, chinese = line:match "^(.-) ?| (.*)$"
        if chinese then list[#list + 1] = { english ~= "" and english or previous, chinese } end
        previous = line
    end
    table.sort(list, function(a, b)
        local first, second = specificity(a[1]), specificity(b[1])
        return first > second or first == second and a[1] < b[1]
    end)
    language.list = list
    return list
end


local FORMS = { s = "s?", were = "w[ae][sr]e?", are = "[ai][rs]e?" }
local BREAK = "()([%.;]) %S" -- between sentences

-- Rules { pattern =, text = }. `texts` lists the rules for a text of several sentences, `sentences`
-- those for one sentence.
local rules

local function load_rules()
    if rules then return rules end
    rules = { texts = {}, sentences = {} }
    for _, each in ipairs(language.sentences()) do
        local pattern = each[1]:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
        local list = each[1]:find(BREAK) and rules.texts or rules.sentences
        list[#list + 1] = { text = each[2],
            pattern = "^" .. pattern:gsub("{}", "(.+)"):gsub("{#}", "([%%d.,]*%%d)")
                :gsub("%%%((%l+)%%%)", FORMS) .. "$" }
    end
    return rules
end


local translate

-- Replaces "{}" by the next translated capture, and "{2}" by the second.
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


local function translate_sentences(text)
    local position, sign = text:match(BREAK)
    if not position then return nil end
    local first = text:sub(1, sign == "." and position or position - 1)
    local rest = text:sub(position + 2)
    local first_translated, rest_translated = translate(first), translate(rest)
    if first_translated == first and rest_translated == rest then return text end
    return first_translated .. (sign == ";" and "；" or "") .. rest_translated
end


function language.translate(text)
    local before, inner, after = text:match "^(%s*)(.-)(%s*)$"
    if not inner:find "%a%a" then return text end
    local known = load_rules()
    return before .. (apply(known.texts, inner) or translate_sentences(inner)
        or apply(known.sentences, inner) or inner) .. after
end

translate = language.translate


-- Width in columns of a terminal; a Chinese character takes two.
local function width_of(text)
    local _, wide = text:gsub("[\227-\233\239][\128-\191][\128-\191]", "")
    local _, all = text:gsub("[^\128-\191]", "")
    return all + wide
end


-- Two spaces separate columns, which are translated one by one and kept aligned.
local function translate_line(line)
    if not line:find "%S  +%S" then return translate(line) end
    local columns, width, position = {}, 0, 1
    for from in line:gmatch "()%S+" do
        local stop = line:find("  ", from, true) or #line + 1
        if from >= position then
            local room = math.max(width_of(line:sub(1, from - 1)) - width, from > 1 and 1 or 0)
            columns[#columns + 1] = (" "):rep(room) .. translate(line:sub(from, stop - 1))
            width, position = width + width_of(columns[#columns]), stop
        end
    end
    return table.concat(columns)
end


--- A file that translates the lines written to it.
---@param file file*
---@param name "en" | "zh"
---@return file*
function language.output(file, name)
    if name == "en" then return file end
    local output, unfinished = {}, ""
    function output.write(self, ...)
        unfinished = unfinished .. table.concat{ ... }
        unfinished = unfinished:gsub("([^\n]*)\n", function(line)
            file:write(translate_line(line), "\n")
            return ""
        end)
        return self
    end
    function output.flush() file:flush() end
    return output
end


return language
