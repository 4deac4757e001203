--- Finds the name that is most like a misspelled name.

local byte, lower, min, pairs, type = string.byte, string.lower, math.min, pairs, type

local TOO_FAR = 3 -- edits; a name this far away is a different one


-- The "optimal string alignment" distance of Damerau and Levenshtein.
local function edit_count(a, b)
    local rows = { [0] = {} }
    for j = 0, #b do rows[0][j] = j end
    for i = 1, #a do
        local row, above, before = { [0] = i }, rows[i - 1], rows[i - 2]
        for j = 1, #b do
            local same = byte(a, i) == byte(b, j)
            row[j] = min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (same and 0 or 1))
            if before and byte(a, i) == byte(b, j - 1) and byte(a, i - 1) == byte(b, j) then
                row[j] = min(row[j], before[j - 2] + 1)
            end
        end
        rows[i] = row
    end
    return rows[#a][#b]
end


---@param word string
---@param names table<string, any>
---@return string?
return function(word, names)
    local nearest, least = nil, TOO_FAR
    for name in pairs(names) do
        local count = type(name) == "string" and edit_count(lower(word), lower(name)) or TOO_FAR
        if count < least or nearest and count == least and name < nearest then
            nearest, least = name, count
        end
    end
    return nearest
end
