--- Tables in files, as JSON: what one process of the laboratory leaves to another, or to the user.

local dependency = require "zklock.system.dependency"


local json_file = {}


---@param path string
---@param content table
---@param options table?  dkjson's
function json_file.write(path, content, options)
    local text = assert(dependency.load("dkjson").encode(content, options))
    local file = assert(io.open(path, "w"))
    file:write(text, "\n")
    file:close()
end


---@param path string
---@return table
function json_file.read(path)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    return assert(dependency.load("dkjson").decode(text))
end


return json_file
