--- ranks.lua - the order in which a seed draws.

local shell = require "spec.mutants.shell"

local ranks = {}


-- Returns a number of 31 bits for the seed and a text, the same on each Lua.
local function rank(seed, text)
    local state = seed % 2147483646 + 1
    for i = 1, #text do state = (state * 16807 + text:byte(i)) % 2147483647 end
    return state
end


--- Sorts a list by the seed. Each item has another text in `what`.
function ranks.sorted(seed, list)
    local numbers, at = {}, {}
    for i, item in ipairs(list) do numbers[item], at[item] = rank(seed, item.what), i end
    table.sort(list, function(a, b)
        if numbers[a] ~= numbers[b] then return numbers[a] < numbers[b] end
        return at[a] < at[b]
    end)
    return list
end


--- Returns one of `parts` parts of a list, another one when the sources change.
function ranks.part(list, parts)
    if parts == 1 then return list end
    local wanted = tonumber(shell.must("cat src/*/*.[ch] spec/sim/* | cksum"):match "^%d+") % parts
    local part = {}
    for i, item in ipairs(list) do
        if i % parts == wanted then part[#part + 1] = item end
    end
    return part
end


return ranks
