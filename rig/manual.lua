--- Prints the manual page zklock(1), in the macros of man(7), from docs/command.md:
--
--   lua rig/manual.lua >zklock.1     from the top of the tree
--
-- It knows the Markdown that this page uses: headings, paragraphs, lists, blocks of code, tables.

local PAGE = "docs/command.md"

local HEAD = [[
.TH ZKLOCK 1 "" "zklock" "User Commands"
.SH NAME
zklock \- distributed locks on ZooKeeper, on the command line
.SH SYNOPSIS]]

local TAIL = [[
.SH SEE ALSO
.BR flock (1)]]


local function escape(text)
    return (text:gsub("\\", "\\e"):gsub("%-", "\\-"))
end


-- A line that begins with a point or a quote would be a request.
local function guard(line)
    return (line:gsub("^[.']", "\\&%0"))
end


-- Returns a paragraph as one line, with code in bold, and links as their text; those to a site keep
-- their address.
local function inline(text)
    local codes = {}
    text = text:gsub("\n *", " "):gsub("`([^`]+)`", function(code)
        codes[#codes + 1] = code
        return ("\1%d\1"):format(#codes)
    end)
    text = escape(text:gsub("%[([^%]]+)%]%(([^)]+)%)", function(words, address)
        return address:find "^https?:" and ("%s (%s)"):format(words, address) or words
    end))
    text = text:gsub("%*%*(.-)%*%*", "\\fB%1\\fR"):gsub("%*(.-)%*", "\\fI%1\\fR")
    return guard(text:gsub("\1(%d+)\1", function(number)
        return "\\fB" .. escape(codes[tonumber(number)]) .. "\\fR"
    end))
end


local function print_code(block)
    print ".PP\n.nf"
    for line in block:gmatch "    ([^\n]*)" do print(guard(escape(line))) end
    print ".fi"
end


-- An item that explains a word has it as its tag.
local function print_list(block)
    for item in ("\n" .. block .. "\n"):gsub("\n%* ", "\n\0"):gmatch "%z([^%z]+)\n" do
        local tag, text = item:match "^(.-):%s(.*)$"
        if tag and not tag:find "[.*]" then
            print(".TP 8\n" .. inline(tag) .. "\n" .. inline(text))
        else
            print(".IP \\(bu 2\n" .. inline(item))
        end
    end
end


-- A row has its first cell as its tag, and the head's before each other cell.
local function print_table(block)
    local head
    for row in block:gmatch "|([^\n]*)" do
        local cells = {}
        for cell in row:gmatch "%s*(.-)%s*|" do cells[#cells + 1] = cell end
        if not head then
            head = cells
        elseif cells[1]:find "%w" then
            print(".TP 8\n" .. inline(cells[1]))
            for i = 2, #cells do
                print(inline(("*%s*: %s"):format(head[i], cells[i])) .. "\n.br")
            end
        end
    end
end


local function print_block(block)
    local level, title = block:match "^(#+) (.*)"
    if level then
        print((level == "##" and ".SH " or ".SS ") .. inline(title))
    elseif block:find "^    " then
        print_code(block)
    elseif block:find "^%* " then
        print_list(block)
    elseif block:find "^|" then
        print_table(block)
    else
        print(".PP\n" .. inline(block))
    end
end


-- Blocks of code between fences become indented ones, whose empty lines do not end them.
local function indent(text)
    return (text:gsub("```%l*\n(.-\n)```", function(code)
        return code:gsub("[^\n]*\n", "    %0")
    end))
end


local file = assert(io.open(PAGE))
local text = indent(file:read "*a"):gsub("^# [^\n]*", "## DESCRIPTION")
file:close()

print(HEAD)
for usage in text:gmatch "\n## [^\n]*\n\n(    zklock .-)\n\n" do print_code(usage) end
for block in text:gsub("\n\n+", "\0"):gmatch "[^%z]+" do print_block(block) end
print(TAIL)
