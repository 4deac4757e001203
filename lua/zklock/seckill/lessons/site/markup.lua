--- The texts of a lesson as HTML, with paragraphs, `code`, **strong**, [links](…), and {numbers} of
--- the runs.

local markup = {}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }


function markup.escape(text) return (tostring(text):gsub('[&<>"]', ENTITIES)) end


--- Replaces {first.left} by facts.first.left.
function markup.fill(text, facts)
    return (text:gsub("{(%a[%w_%.]*)}", function(path)
        local value = facts
        for name in path:gmatch "[^%.]+" do value = type(value) == "table" and value[name] end
        if type(value) ~= "number" and type(value) ~= "string" then
            error("a text has {" .. path .. "}, which no run gives", 0)
        end
        return tostring(value)
    end))
end


function markup.line(text, facts)
    local codes = {}
    text = markup.escape(markup.fill(text, facts)):gsub("`([^`]+)`", function(code)
        codes[#codes + 1] = "<code>" .. code .. "</code>"
        return "\1" .. #codes .. "\2"
    end)
    text = text:gsub("%*%*(.-)%*%*", "<strong>%1</strong>")
    text = text:gsub("%[([^%]]+)%]%(([^)%s]+)%)", '<a href="%2">%1</a>')
    return (text:gsub("\1(%d+)\2", function(n) return codes[tonumber(n)] end))
end


--- Joins the lines of a paragraph, without spaces between Chinese characters or after a Chinese
--- full stop or comma.
function markup.joined(paragraph)
    return (paragraph:gsub("^%s+", ""):gsub("%s+$", "")
        :gsub("([\128-\255])%s*\n%s*([\128-\255])", "%1%2")
        :gsub("(\239\188[\128-\191])%s*\n%s*", "%1"):gsub("(\227\128[\128-\191])%s*\n%s*", "%1")
        :gsub("%s*\n%s*", " "))
end


function markup.paragraphs(text, facts)
    local parts = {}
    for paragraph in (text .. "\n\n"):gmatch "(.-)\n%s*\n" do
        local line = markup.joined(paragraph)
        if line ~= "" then parts[#parts + 1] = "<p>" .. markup.line(line, facts) .. "</p>" end
    end
    return table.concat(parts, "\n")
end


function markup.code(code)
    return "<pre><code>" .. markup.escape((code:gsub("%s+$", ""))) .. "</code></pre>"
end


return markup
