--- place.lua - the place of a mutant's change, by names and tokens of the source.
--
-- A definition has a name and begins at the start of a line. It is a function or a struct, up to
-- the line that begins with "}", a table, up to "};", or a macro, with its continuations.
--
-- A token is a word or one mark. Text is compared token by token, so it may be wrapped, indented,
-- commented or moved to another file.

local place = {}


-- Replaces comments by spaces, so that no other text moves.
local function without_comments(text)
    return (text:gsub("/%*.-%*/", function(comment) return (" "):rep(#comment) end))
end


-- --- definitions ----------------------------------------------------------------------

-- Returns the definition that begins here. Its name is the last word before the first bracket or
-- "=".
local function beginning(text, first)
    local macro = text:match("^#define ([%w_]+)", first)
    if macro then return { name = macro, kind = "macro", first = first } end
    local head, sign = text:match("^([%a_][^%[%(={;]*)([%[%(={;])", first)
    if not head then return nil end
    return { name = head:match("([%w_]+)[^%w_]*$"), first = first,
             kind = (sign == "[" or sign == "=") and "table" or "function or struct" }
end


-- Whether the definition ends with this line. A ";" before any "{" ends a mere declaration.
local function ends(begun, line)
    if begun.kind == "macro" then return not line:find("\\$") end
    begun.opened = begun.opened or line:match("[{;]")
    if begun.opened == ";" or line:find("^}[^{]*$") then return true end
    if begun.kind == "table" then return line:find("};%s*$") end
    return line:find("^%a.*{.*}[%s;]*$") -- all in one line
end


--- Returns the definitions of a name, each { first =, last = }.
function place.definitions(text, name)
    local found, begun = {}, nil
    if not text:find(name, 1, true) then return found end
    local plain = without_comments(text) .. "\n"
    for first, line in plain:gmatch("()([^\n]*)\n") do
        begun = begun or beginning(plain, first)
        if begun and ends(begun, line) then
            if begun.name == name and begun.opened ~= ";" then
                found[#found + 1] = { first = begun.first, last = first + #line - 1 }
            end
            begun = nil
        end
    end
    return found
end


-- --- tokens ---------------------------------------------------------------------------

-- Returns { text =, first =, last = } for each token.
local function tokens(text)
    local list = {}
    local function add(token, first)
        if token == "" then return end
        list[#list + 1] = { text = token, first = first, last = first + #token - 1 }
    end
    for first, word, after, mark in
        without_comments(text):gmatch("()([%w_]*)()([^%w_%s]?)") do
        add(word, first)
        add(mark, after)
    end
    return list
end


local function matches(list, at, part)
    for i, token in ipairs(part) do
        if list[at + i - 1].text ~= token.text then return false end
    end
    return true
end


--- Returns where a text contains a part, each { first =, last = }. An empty part is nowhere.
function place.occurrences(text, part)
    local found, list, wanted = {}, tokens(text), tokens(part)
    if not wanted[1] then return found end
    for at = 1, #list - #wanted + 1 do
        if matches(list, at, wanted) then
            found[#found + 1] = { first = list[at].first, last = list[at + #wanted - 1].last }
        end
    end
    return found
end


--- Whether two texts differ in nothing but space and comments.
function place.same(one, other)
    local list, wanted = tokens(one), tokens(other)
    return #list == #wanted and matches(list, 1, wanted)
end


return place
