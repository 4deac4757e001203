--- What turns the words of a command line into values, for argparse: each gives the value, or nil
-- and why not.

local converters = {}


--- Words with commas between them, each turned by `convert`.
function converters.list_of(convert)
    return function(text)
        local list = {}
        for word in text:gmatch("[^,]+") do
            local value = convert(word)
            if value == nil then return nil, ("%q will not do"):format(word) end
            list[#list + 1] = value
        end
        return list
    end
end


--- One of these words.
function converters.one_of(words)
    local known = {}
    for _, name in ipairs(words) do known[name] = name end
    return function(word) return known[word] end
end


function converters.count(text)
    local number = tonumber(text)
    if number and number >= 1 and number % 1 == 0 then return number end
    return nil, ("%q is no whole number above 0"):format(text)
end


--- Seconds or milliseconds.
function converters.time(text)
    local number = tonumber(text)
    if number and number >= 0 and number < 1000 then return number end
    return nil, ("%q is no time below 1000"):format(text)
end


return converters
