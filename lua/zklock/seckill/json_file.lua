--- JSON files, for other processes of the laboratory or for the user.

local dependency = require "zklock.system.dependency"
local exact_number = require "zklock.seckill.exact_number"
local output_file = require "zklock.seckill.output_file"


local json_file = {}


local function with_exact_numbers(value)
    if type(value) == "number" then return exact_number(value) end
    if type(value) ~= "table" then return value end
    local copy = {}
    for key, inner in pairs(value) do copy[key] = with_exact_numbers(inner) end
    return setmetatable(copy, getmetatable(value))
end


---@param path string
---@param content table
---@param options table?  dkjson's
function json_file.write(path, content, options)
    local text = assert(dependency.load("dkjson").encode(with_exact_numbers(content), options))
    assert(output_file.write(path, text .. "\n"))
end


function json_file.read(path)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    return assert(dependency.load("dkjson").decode(text))
end


return json_file
