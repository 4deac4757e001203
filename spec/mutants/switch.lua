--- switch.lua - all mutants of a source in C at once, with a switch. `zkl_mutant` is the number of
-- the active mutant, or 0.
--
-- A site is a whole expression (the head of an `if`, an initializer, a returned value), or a
-- statement. A site is replaced by a chain of `?:` with a changed copy of it for each mutant. Each
-- copy has a line of its own, so a compiler that refuses a mutant names it by its line.
--
-- A mutant negates a condition, or an operand of && or ||; moves a bound by one (< for <=); swaps
-- && and ||, == and !=, + and -, true and false; makes a number one more, or one less; makes an
-- operand of | 0; or drops a statement. Asserts, declarations of static objects, labels, steps of
-- `for` and the preprocessor have no mutants.

local places = require "spec.mutants.places"

local set = places.set

local switch = {}


local SWAPS = { ["=="] = "!=", ["!="] = "==", ["<"] = "<=", ["<="] = "<", [">"] = ">=",
                [">="] = ">", ["&&"] = "||", ["||"] = "&&", ["true"] = "false",
                ["false"] = "true", ["++"] = "--", ["--"] = "++", ["+="] = "-=", ["-="] = "+=",
                ["<<"] = ">>", [">>"] = "<<" }
local BINARY_SWAPS = { ["+"] = "-", ["-"] = "+", ["*"] = "/", ["/"] = "*", ["%"] = "*",
                       ["&"] = "|" }
local LOGICAL = set "&& ||"
local ENDS_OPERAND = set "&& || ? : , = += -= *= /= |= &= <<= >>= ;"
local ENDS_BITS = set "| && || ? : , = += -= |= &= ;"
local TYPES = set "struct enum const unsigned int char bool void double static"
local NO_SITE = set "assert static_assert"


-- --- the parser -----------------------------------------------------------------------------

local Parser = {}
Parser.__index = Parser


function Parser:is(at, text)
    local token = self.tokens[at]
    return token ~= nil and token.kind ~= "text" and token.text == text
end


function Parser:close(at)
    return places.closing(self.tokens, at)
end


-- Returns the first token from `at` on that is one of these, outside of all brackets, or `last`.
function Parser:find(at, last, wanted)
    while at <= last do
        local token = self.tokens[at]
        if token.kind ~= "text" and wanted[token.text] then return at end
        local opens = token.kind ~= "text" and token.text:find("^[%(%[{]$")
        at = (opens and self:close(at) or at) + 1
    end
    return last + 1
end


-- Returns the text of some tokens on one line, without comments; `edit` replaces some of them.
function Parser:text(first, last, edit)
    local words, at = {}, first
    while at <= last do
        local token = self.tokens[at]
        local before = self.tokens[at - 1]
        local gap = at > first and token.first > before.last + 1 and " " or ""
        if edit and at == edit.first then
            words[#words + 1] = gap .. edit.text
            at = edit.last
        else
            words[#words + 1] = gap .. token.text
        end
        at = at + 1
    end
    return (table.concat(words):gsub("^ ", ""))
end


-- --- changes of an expression -----------------------------------------------------------------

function Parser:is_binary(at, first)
    local before = at > first and self.tokens[at - 1]
    return before and (before.kind == "name" or before.kind == "number" or
                       before.text == ")" or before.text == "]")
       and not self:is(at + 1, ")") and not self:is(at + 1, "*") -- of a cast
end


local function number_edits(text)
    local digits, suffix = text:match("^(%w-)([uUlL]*)$")
    local number = digits and not digits:find "^%d+[eE]" and tonumber(digits)
    if not number then return {} end
    local list = { ("%d%s"):format(number + 1, suffix) }
    if number > 0 then list[2] = ("%d%s"):format(number - 1, suffix) end
    return list
end


function Parser:token_edits(first, last, add)
    for at = first, last do
        local token = self.tokens[at]
        if token.kind == "number" then
            for _, text in ipairs(number_edits(token.text)) do add(at, at, text) end
        elseif token.kind == "text" then
            goto next
        elseif token.text == "!" then
            add(at, at, "")
        elseif SWAPS[token.text] then
            add(at, at, SWAPS[token.text])
        elseif BINARY_SWAPS[token.text] and self:is_binary(at, first) then
            add(at, at, BINARY_SWAPS[token.text])
        end
        ::next::
    end
end


-- Negates an operand, unless it is negated already by a swap of its ==, or without its !.
function Parser:negate(first, last, add)
    local alone = first == last and SWAPS[self.tokens[first].text] -- true, false
    local equality = self:find(first, last, { ["=="] = true, ["!="] = true }) <= last
    if alone or equality or self:is(first, "!") then return end
    if self:is(first, "(") and self:close(first) == last then
        local inner = self:find(first + 1, last - 1, LOGICAL)
        if inner < last then return end
    end
    add(first, last, "!(" .. self:text(first, last) .. ")")
end


-- Negates the conditions of an expression, and the expression itself if is_condition.
function Parser:condition_edits(first, last, is_condition, add)
    local at, before = first, nil
    while at <= last do
        local stop = self:find(at, last, ENDS_OPERAND)
        local after = stop <= last and self.tokens[stop].text or nil
        local whole = at == first and stop == last + 1
        local conditional = LOGICAL[before] or LOGICAL[after] or after == "?" or
                            whole and is_condition
        if stop > at and conditional then self:negate(at, stop - 1, add) end
        for inner = at, stop - 1 do
            if self:is(inner, "(") or self:is(inner, "[") then
                local close = self:close(inner)
                local group = conditional and close == stop - 1 and
                              (inner == at or inner == at + 1 and self:is(at, "!"))
                self:condition_edits(inner + 1, close - 1, group, add)
            end
        end
        at, before = stop + 1, after
    end
end


-- Returns the end of the operand before (step -1) or behind (step 1) an operator.
function Parser:operand_end(at, step, first, last)
    local depth = 0
    at = at + step
    while at >= first and at <= last do
        local text = self.tokens[at].kind ~= "text" and self.tokens[at].text or ""
        if depth == 0 and ENDS_BITS[text] then break end
        if text:find("^[%(%[{]$") then depth = depth + step end
        if text:find("^[%)%]}]$") then depth = depth - step end
        if depth < 0 then break end
        at = at + step
    end
    return at - step
end


-- Replaces each operand of | by 0, so that a part of an action is not done.
function Parser:bit_edits(first, last, add)
    for at = first, last do
        if self:is(at, "|") then
            local from = self:operand_end(at, -1, first, last)
            add(from, at - 1, "0")
            add(at + 1, self:operand_end(at, 1, first, last), "0")
        end
    end
end


-- --- sites ------------------------------------------------------------------------------------

-- Adds a site of these tokens, of the kind "condition", "value" or "statement".
function Parser:site(first, last, kind)
    local site = { first = first, last = last, kind = kind, mutants = {}, in_ = self.name,
                   text = self:text(first, last), line = self.tokens[first].line }
    local seen = {}
    local function add(from, to, text)
        local edit = { first = from, last = to, text = text }
        local after = self:text(first, last, edit)
        if to < from or seen[after] then return end
        seen[after] = true
        site.mutants[#site.mutants + 1] = { after = after }
    end
    self:token_edits(first, last, add)
    self:condition_edits(first, last, kind == "condition", add)
    self:bit_edits(first, last, add)
    self.sites[#self.sites + 1] = site
    return site
end


-- Makes the site a statement that can be dropped, with its semicolon.
local function drop(site, last)
    site.last, site.dropped = last, true
    table.insert(site.mutants, 1, { after = "" })
end


function Parser:is_logical(first, last)
    local logical = self:find(first, last, LOGICAL) <= last
    return logical and self:find(first, last, { ["?"] = true }) > last and "condition" or "value"
end


-- Adds the values of `T a = x, b = y;`
function Parser:declaration(at, last)
    local stops = { ["="] = true, [","] = true }
    at = self:find(at, last, stops)
    while at <= last do
        if self:is(at, "=") then
            local stop = self:find(at + 1, last, { [","] = true })
            if not self:is(at + 1, "{") then
                self:site(at + 1, stop - 1, self:is_logical(at + 1, stop - 1))
            end
            at = stop
        else
            at = self:find(at + 1, last, stops)
        end
    end
end


function Parser:is_declaration(at)
    local first, second, third = self.tokens[at], self.tokens[at + 1], self.tokens[at + 2]
    if TYPES[first.text] or first.text == "struct" then return true end
    if first.kind ~= "name" then return false end
    if second.kind == "name" then return true end
    return second.text == "*" and third.kind == "name"
end


-- Whether only ends of blocks follow in the function.
function Parser:is_end(at)
    for i = at, self.last do
        if not self:is(i, "}") then return false end
    end
    return true
end


function Parser:jump(at)
    local stop = self:find(at, self.last, { [";"] = true })
    if self:is(at, "return") and stop > at + 1 then
        local site = self:site(at + 1, stop - 1, self.returns_bool and "condition" or "value")
        if not self:is_end(stop + 1) then
            site.first, site.text = at, self:text(at, stop)
            for _, mutant in ipairs(site.mutants) do
                mutant.after = "return " .. mutant.after .. ";"
            end
            site.returns = true
            drop(site, stop)
        end
    elseif not self:is_end(stop + 1) then
        local site = { first = at, kind = "jump", mutants = {}, in_ = self.name,
                       text = self:text(at, stop), line = self.tokens[at].line }
        self.sites[#self.sites + 1] = site
        drop(site, stop)
    end
    return stop + 1
end


function Parser:simple(at)
    local stop = self:find(at, self.last, { [";"] = true })
    if NO_SITE[self.tokens[at].text] or self:is(at, ";") or self:is(at, "(") and
       self:is(at + 1, "void") then
        return stop + 1
    end
    if self:is_declaration(at) then
        if not self:is(at, "static") and not self:is(at + 1, "{") then
            self:declaration(at, stop - 1)
        end
        return stop + 1
    end
    drop(self:site(at, stop - 1, "statement"), stop)
    return stop + 1
end


function Parser:loop(at)
    local close = self:close(at + 1)
    local semicolon = { [";"] = true }
    local condition = self:find(at + 2, close, semicolon) + 1
    local step = self:find(condition, close, semicolon)
    if self:is_declaration(at + 2) then self:declaration(at + 2, condition - 2) end
    if step > condition then self:site(condition, step - 1, "condition") end
    return self:statement(close + 1)
end


-- Parses the statement that begins there; returns the token behind it.
function Parser:statement(at)
    local word = self.tokens[at].kind ~= "text" and self.tokens[at].text
    if word == "{" then
        local close = self:close(at)
        at = at + 1
        while at < close do at = self:statement(at) end
        return close + 1
    elseif word == "if" or word == "while" or word == "switch" then
        local close = self:close(at + 1)
        self:site(at + 2, close - 1, word == "switch" and "value" or "condition")
        local after = self:statement(close + 1)
        return self:is(after, "else") and self:statement(after + 1) or after
    elseif word == "do" then
        local after = self:statement(at + 1)
        local close = self:close(after + 1)
        self:site(after + 2, close - 1, "condition")
        return close + 2
    elseif word == "for" then
        return self:loop(at)
    elseif word and word:find("^EACH_") then -- a macro with the head of a loop
        return self:statement(self:close(at + 1) + 1)
    elseif word == "case" or word == "default" then
        return self:find(at, self.last, { [":"] = true }) + 1
    elseif word == "return" or word == "break" or word == "continue" then
        return self:jump(at)
    end
    return self:simple(at)
end


-- Parses the body that begins with this "{", if it is a function's; returns the token behind it.
function Parser:body(at)
    local last = self:close(at)
    if not self:is(at - 1, ")") then return last + 1 end
    local open = at - 1
    while self:close(open) ~= at - 1 or not self:is(open, "(") do open = open - 1 end
    self.name, self.last = self.tokens[open - 1].text, last
    self.returns_bool = self:is(open - 2, "bool")
    self:statement(at)
    return last + 1
end


-- --- the result -------------------------------------------------------------------------------

--- Returns the sites of a source, in its order, each { text =, in_ =, line =, mutants = }; a
-- mutant's `after` is the new text.
function switch.sites(source)
    local parser = setmetatable({ tokens = places.tokens(source), sites = {} }, Parser)
    local at = 1
    while at <= #parser.tokens do
        at = parser:is(at, "{") and parser:body(at) or at + 1
    end
    for _, site in ipairs(parser.sites) do
        site.from, site.to = parser.tokens[site.first].first, parser.tokens[site.last].last
    end
    table.sort(parser.sites, function(a, b) return a.from < b.from end)
    return parser.sites
end


local function expression(text, kind)
    if kind == "statement" then return text == "" and "(void)0" or "(void)(" .. text .. ")" end
    return kind == "condition" and "!!(" .. text .. ")" or "(" .. text .. ")"
end


local function without_end(text)
    return (text:gsub("^return%f[^%w_]%s*", ""):gsub(";$", ""))
end


-- Returns the site as a chain, each mutant on a line of its own.
local function chain(site, mutants)
    local first, count, lines = mutants[1].id, #mutants, {}
    local guard = site.dropped and site.kind ~= "statement"
    if guard and mutants[1].after == "" then
        local id = table.remove(mutants, 1).id
        lines[1] = ("{ if (zkl_mutant != %d)"):format(id)
        lines[2] = site.returns and "return" or site.text
        if not site.returns then return lines[1] .. "\n" .. lines[2] .. "}\n" end
        first, count = first + 1, count - 1
    elseif guard then
        lines[1], lines[2] = "{", "return"
    end
    lines[#lines + 1] = ("(zkl_mutant - %du >= %du ? %s :"):format(
        first, count, expression(without_end(site.text), site.kind))
    for _, mutant in ipairs(mutants) do
        lines[#lines + 1] = ("zkl_mutant == %d ? %s :"):format(
            mutant.id, expression(without_end(mutant.after), site.kind))
    end
    lines[#lines + 1] = expression(without_end(site.text), site.kind) .. ")"
    if site.dropped then lines[#lines] = lines[#lines] .. ";" end
    if guard then lines[#lines + 1] = "}" end
    return "\n" .. table.concat(lines, "\n") .. "\n"
end


--- Returns the source with the mutants that have an `id`, numbered in order.
function switch.render(source, sites)
    local parts, at = {}, 1
    for _, site in ipairs(sites) do
        local mutants = {}
        for _, mutant in ipairs(site.mutants) do
            if mutant.id then mutants[#mutants + 1] = mutant end
        end
        if mutants[1] then
            parts[#parts + 1] = source:sub(at, site.from - 1)
            parts[#parts + 1] = chain(site, mutants)
            at = site.to + 1
        end
    end
    parts[#parts + 1] = source:sub(at)
    return table.concat(parts)
end


return switch
