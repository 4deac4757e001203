--- JSON files, for other processes of the laboratory or for the user.

local dependency = require "zklock.system.dependency"
local output_file = require "zklock.seckill.output_file"


local json_file = {}


---@param path string
---@param content table
---@param options table?  dkjson's
function json_file.write(path, content, options)
    local text = assert(dependency.load("dkjson").encode(content, options))
    assert(output_file.write(path, text .. "\n"))
end


function json_file.read(path)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    return assert(dependency.load("dkjson").decode(text))
end


return json_file
