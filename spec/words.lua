--- words.lua FILE...: shows sentences with one of three habits that make them hard to read, in
-- comments, titles of tests and English documents. Code, tables, headings and lists do not count.
--
--   1. A sentence begins with What, Who, Whoever, Whose, Of, One or Those.
--   2. A colon is followed by a reason. A comma, "or" or code after it make a list or an example.
--   3. A lock "is had", or somebody "has the lock".

local STARTS = {}
local VERBS = { "is", "are", "was", "were", "be", "been" }
for word in ("What Who Whoever Whose Of One Those"):gmatch("%a+") do STARTS[word] = true end


-- --- the pieces of prose in a file -----------------------------------------------------------

local function prose_of_c(text, add)
    for comment in text:gmatch("/%*(.-)%*/") do
        add((comment:gsub("\n%s*%*", "\n")))
    end
    for title in text:gmatch('TEST%("(.-)"%)') do add(title) end
end


local function prose_of_lua(text, add)
    local lines = {}
    for line in (text .. "\n\n"):gmatch("(.-)\n") do
        line = line:gsub("^%-%-%- %b[] ", "--- ") -- where a spec runs
        local comment = line:match("^%s*%-%-%-?(.*)")
        if comment and not comment:find("^%s*[@%[]") then
            lines[#lines + 1] = comment
        elseif lines[1] then
            add(table.concat(lines, "\n"))
            lines = {}
        end
    end
    for _, call in ipairs{ "it", "describe" } do
        for _, title in text:gmatch("%f[%w]" .. call .. "%((['\"])(.-)%1") do add(title) end
    end
end


-- Only text at the margin: a list is indented, or begins with its mark.
local function prose_of_markdown(text, add)
    text = ("\n" .. text):gsub("\n```.-\n```", "\n"):gsub("\n[|#*>-][^\n]*", "\n\n")
    text = text:gsub("\n%d+%.[^\n]*", "\n\n"):gsub("\n  [^\n]*", "\n\n")
    for paragraph in (text .. "\n\n"):gmatch("(.-)\n%s*\n") do add(paragraph) end
end


-- --- habits ----------------------------------------------------------------------------------

-- Returns the sentences of a piece that have such a habit. Indented lines, items of lists and
-- headings are left out, and so are sentences that begin with a value, such as "0: none".
local function slips_of(piece)
    local found = {}
    local text = ("\n" .. piece):gsub("\n%s%s%s+[^\n]*", "\n"):gsub("\n%s*[*-] [^\n]*", "\n")
    text = text:gsub("[^\n]*%-%-%-[ \n]*$", ""):gsub("%f[%a]nil: ", "nil ")
    text = text:gsub("`[^`]*`", "X"):gsub("%]%([^)]*%)", "]"):gsub("%s+", " ")
    text = text:gsub("^%s*[-%w_./]+ %- ", ""):gsub("^%s*[-#]* *", "")
    text = text:gsub("^%l", string.upper)
    for sentence in (text:gsub("([.?!]) ", "%1\n") .. "\n"):gmatch("(.-)\n") do
        local reason = not sentence:find("^%a+:") and sentence:match("%l%l+: (%l.*)")
        local slip = STARTS[sentence:match("^%a+")] or
            reason and not reason:find("[,X]") and not reason:find(" or ", 1, true) or
            sentence:find("has the lock%f[%A]")
        for _, verb in ipairs(VERBS) do
            slip = slip or sentence:find("%f[%a]" .. verb .. " had%f[%A]")
        end
        if slip then found[#found + 1] = sentence end
    end
    return found
end


local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end


local function slips_in(path)
    local found = {}
    local prose_of = path:find("%.[ch]$") and prose_of_c
        or path:find("%.md$") and prose_of_markdown or prose_of_lua
    prose_of(read(path), function(piece)
        for _, slip in ipairs(slips_of(piece)) do found[#found + 1] = slip end
    end)
    return found
end


local is_clean = true
for _, path in ipairs(arg) do
    for _, slip in ipairs(slips_in(path)) do
        is_clean = false
        print(path .. ": " .. slip)
    end
end
os.exit(is_clean)
