--- places.lua - the places of a source that can be changed mechanically, and the changes. Comments,
-- texts, asserts and lines of the preprocessor have no places.
--
-- A place is { first =, last =, text =, change = (the new text), line =, last_line = }.

local places = {}


local function set(words)
    local members = {}
    for word in words:gmatch("%S+") do members[word] = true end
    return members
end

places.set = set


local LUA = {
    words = set("and break do else elseif end false for function goto if in local nil not or " ..
                "repeat return then true until while"),
    opens = set "function if do repeat",
    before_statement = set "then do else repeat ; break ) ] } end true false nil ...",
    changes = { ["=="] = "~=", ["~="] = "==", ["<"] = "<=", ["<="] = "<", [">"] = ">=",
                [">="] = ">", ["and"] = "or", ["or"] = "and", ["true"] = "false",
                ["false"] = "true", ["not"] = "" },
    nothing = "nil",
}

local C = {
    words = set("break case const continue default do else for goto if return sizeof static " ..
                "struct switch while"),
    before_statement = set "; { } ) else :",
    changes = { ["=="] = "!=", ["!="] = "==", ["<"] = "<=", ["<="] = "<", [">"] = ">=",
                [">="] = ">", ["&&"] = "||", ["||"] = "&&", ["true"] = "false",
                ["false"] = "true", ["!"] = "" },
    nothing = "0",
}


-- --- tokens ---------------------------------------------------------------------------

local LUA_BLANKS = { "^%-%-%[(=*)%[.-%]%1%]", "^%-%-[^\n]*", "^%s+" }
local C_BLANKS = { "^/%*.-%*/", "^//[^\n]*", "^%s+" }
local LUA_TEXTS = { "^%[(=*)%[.-%]%1%]" }
local MARKS = { "^%.%.%.", "^<<=", "^>>=", "^[=~!<>]=", "^&&", "^||", "^%->", "^<<", "^>>", "^%.%.",
                "^::", "^//", "^[-+*/%%&|^]=", "^%+%+", "^%-%-", "^." }


local function match_end(text, at, patterns)
    for _, pattern in ipairs(patterns) do
        local _, last = text:find(pattern, at)
        if last then return last end
    end
end


local function quoted_end(text, at)
    local quote, last = text:sub(at, at), at + 1
    while text:sub(last, last) ~= quote do
        last = last + (text:sub(last, last) == "\\" and 2 or 1)
    end
    return last
end


-- Returns the end of a preprocessor line, with its continuations.
local function directive_end(text, at)
    local last = text:find("[^\\]\n", at)
    return last or #text
end


-- Returns the kind of the token there, and its end; the kind is nil for spaces and comments.
local function token_at(text, at, grammar)
    local is_c = grammar == C
    local last = match_end(text, at, is_c and C_BLANKS or LUA_BLANKS)
    if last then return nil, last end
    local char = text:sub(at, at)
    if char == "#" and is_c then return nil, directive_end(text, at) end
    if char == "'" or char == '"' then return "text", quoted_end(text, at) end
    last = not is_c and match_end(text, at, LUA_TEXTS)
    if last then return "text", last end
    last = match_end(text, at, { "^[%a_][%w_]*" })
    if last then return grammar.words[text:sub(at, last)] and "mark" or "name", last end
    last = match_end(text, at, { "^0[xX]%x+%w*", "^%d+%.?%d*[eE][+-]?%d+%w*", "^%d+%.%d+%w*",
                                 "^%d+%w*" })
    if last then return "number", last end
    return "mark", match_end(text, at, MARKS)
end


local function tokens_of(text, grammar)
    local tokens, at, line = {}, 1, 1
    if text:find("^#!") then at = text:find("\n") end
    while at <= #text do
        local kind, last = token_at(text, at, grammar)
        local word = text:sub(at, last)
        if kind then
            tokens[#tokens + 1] = { kind = kind, text = word, first = at, last = last, line = line }
        end
        line, at = line + select(2, word:gsub("\n", "")), last + 1
    end
    return tokens
end


-- --- kinds of tokens --------------------------------------------------------------------

local CLOSES = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- Returns the number of the token that closes the bracket.
local function closing(tokens, at)
    local open, close, depth = tokens[at].text, CLOSES[tokens[at].text], 0
    for i = at, #tokens do
        if tokens[i].kind == "mark" then
            if tokens[i].text == open then depth = depth + 1 end
            if tokens[i].text == close then depth = depth - 1 end
            if depth == 0 then return i end
        end
    end
    return #tokens
end


-- Returns the numbers of the tokens inside of asserts.
local function asserted(tokens)
    local inside = {}
    for i, token in ipairs(tokens) do
        local after = tokens[i + 1]
        if token.text:find("assert$") and after and after.text == "(" then
            for n = i, closing(tokens, i + 1) do inside[n] = true end
        end
    end
    return inside
end


local function is(token, text)
    return token and token.kind ~= "text" and token.text == text
end


local function begins_statement(tokens, at, grammar)
    local before = tokens[at - 1]
    if tokens[at].kind ~= "name" then return false end
    if not before then return true end
    if before.kind == "mark" then return grammar.before_statement[before.text] end
    return grammar == LUA
end


-- Returns the last token of a call that is a statement in Lua and begins here, or nil.
local function lua_call_end(tokens, at)
    local is_call
    while true do
        local after = tokens[at + 1]
        if is(after, ".") then
            at, is_call = at + 2, false
        elseif is(after, ":") then
            at = at + 2
        elseif is(after, "[") then
            at, is_call = closing(tokens, at + 1), false
        elseif is(after, "(") or is(after, "{") then
            at, is_call = closing(tokens, at + 1), true
        elseif after and after.kind == "text" then
            at, is_call = at + 1, true
        else
            return is_call and not is(after, "=") and not is(after, ",") and at
        end
    end
end


local function c_call_end(tokens, at)
    if not is(tokens[at + 1], "(") then return end
    local last = closing(tokens, at + 1)
    return is(tokens[last + 1], ";") and last
end


-- Returns the last token of the result returned here, or nil.
local function lua_result_end(tokens, at)
    local depth = 0
    for i = at + 1, #tokens + 1 do
        local token = tokens[i]
        local word = token and token.kind == "mark" and token.text or not token and "end"
        if word and depth == 0 and (word == "end" or word == "else" or word == "elseif" or
                                    word == "until" or word == ";") then
            return i > at + 1 and i - 1
        end
        if LUA.opens[word] then depth = depth + 1 end
        if word == "end" or word == "until" then depth = depth - 1 end
    end
end


local function c_result_end(tokens, at)
    for i = at + 1, #tokens do
        if is(tokens[i], ";") then return i > at + 1 and i - 1 end
    end
end


LUA.call_end, LUA.result_end = lua_call_end, lua_result_end
C.call_end, C.result_end = c_call_end, c_result_end


-- Returns a number plus one, or nil, where that is not simple.
local function one_more(text)
    local number = tonumber(text)
    if not number then return nil end
    if text:find("^%d+$") then return ("%d"):format(number + 1) end
    return ("%.14g"):format(number + 1)
end


-- --- places ---------------------------------------------------------------------------

--- Returns the tokens of a source in C, each { kind =, text =, first =, last =, line = }.
function places.tokens(text)
    return tokens_of(text, C)
end


places.closing = closing


--- Returns the places of a source, in C if is_c, else in Lua.
function places.find(text, is_c)
    local grammar = is_c and C or LUA
    local tokens, list = tokens_of(text, grammar), {}
    local inside = asserted(tokens)

    local function add(first, last, change)
        local from, to = tokens[first], tokens[last]
        local old = text:sub(from.first, to.last)
        if not change or old == change then return end
        list[#list + 1] = { first = from.first, last = to.last, text = old, change = change,
                            line = from.line,
                            last_line = to.line + select(2, to.text:gsub("\n", "")) }
    end

    for i, token in ipairs(tokens) do
        if inside[i] then
            goto next
        elseif token.kind == "number" then
            add(i, i, one_more(token.text))
        elseif token.kind ~= "text" and grammar.changes[token.text] then
            add(i, i, grammar.changes[token.text])
        elseif is(token, "return") then
            local last = grammar.result_end(tokens, i)
            if last then add(i + 1, last, grammar.nothing) end
        elseif begins_statement(tokens, i, grammar) then
            local last = grammar.call_end(tokens, i)
            if last then add(i, last, "") end
        end
        ::next::
    end
    return list
end


return places
