--- JSON of records and of the page's data.

local dependency = require "zklock.system.dependency"
local exact_number = require "zklock.seckill.exact_number"
local utf8 = require "zklock.value.utf8"


local json = {}

local OBJECT = { __jsontype = "object" } -- marks empty tables that are {} and not []
local LIST = { __jsontype = "array" }    -- marks lists, whatever their names
local OBJECT_KEYS = {
    products = true, left = true, ordered = true, fairness = true, failures = true, options = true,
    quantile = true, wants = true, parameters = true, expect = true,
}

-- Order of keys, so that equal records give equal text.
local ORDER = {
    "title", "sales", "histories", "name", "strategy", "store", "verdict", "finding", "expect",
    "explanation", "products", "left", "ordered", "buyers", "sold", "refused", "failed", "failures",
    "seconds", "wait", "hold", "answer", "servers", "faults", "at", "ended", "kind", "target",
    "fairness", "overtakes", "lead", "jain", "purchases", "buyer", "server", "product", "lock",
    "shared", "asked", "granted", "released", "token", "read", "written", "outcome", "overlaps",
    "from", "to", "holders", "notes", "line", "moment", "messages", "sent", "arrived", "text",
    "options",
}


local function add_keys(value, seen)
    for key, inner in pairs(value) do
        if type(key) == "string" then seen[key] = true end
        if type(inner) == "table" then add_keys(inner, seen) end
    end
    return seen
end


local function ordered_keys(value)
    local seen, keys, others = add_keys(value, {}), {}, {}
    for _, key in ipairs(ORDER) do
        if seen[key] then keys[#keys + 1] = key end
        seen[key] = nil
    end
    for key in pairs(seen) do others[#others + 1] = key end
    table.sort(others)
    for _, key in ipairs(others) do keys[#keys + 1] = key end
    return keys
end


-- The user's parameters keep all digits; times need 14 at most.
local function clean(value, name, is_exact)
    if type(value) == "string" then return utf8.clean(value) end
    if is_exact and type(value) == "number" then return exact_number(value) end
    if type(value) ~= "table" then return value end
    local copy, is_inner_exact = {}, is_exact or name == "parameters"
    for key, inner in pairs(value) do copy[clean(key)] = clean(inner, key, is_inner_exact) end
    local is_object = OBJECT_KEYS[name] and type(next(copy)) ~= "number"
        and getmetatable(value) ~= LIST
    return is_object and setmetatable(copy, OBJECT) or copy
end


--- Marks a list that is [] when it is empty, also under a name of maps.
function json.list(values) return setmetatable(values, LIST) end


---@param value table
---@param name string?  of the field that has it
---@return string
function json.encode(value, name)
    local cleaned = clean(value, name)
    return dependency.load "dkjson".encode(cleaned, { keyorder = ordered_keys(cleaned) })
end


--- JSON for an element of HTML, without "<", so that it cannot end the element.
function json.in_html(value) return (json.encode(value):gsub("<", "\\u003c")) end


--- A list of distinct texts, and a function for a text's index in it, from 0.
function json.indices()
    local list, index_of = json.list{}, {}
    return list, function(text)
        text = tostring(text)
        if not index_of[text] then
            index_of[text] = #list
            list[#list + 1] = text
        end
        return index_of[text]
    end
end


function json.of_records(records)
    return json.encode(records) .. "\n"
end


return json
