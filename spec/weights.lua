--- How many lines each room of the tree has, and how many it should have at most.

local files = require "spec.files"

-- In this order; a file is of the first room with a pattern that fits.
local ROOMS = {
    { "laboratory", 35000,
      "^lua/zklock/seckill/", "^docs/seckill/", "^docs/pictures/", "^spec/seckill/",
      "^bench/engines", "^bench/http", "^spec/nginx/sale", "^spec/nginx/http", "^spec/nginx/mysql",
      "^spec/nginx/shop", "^lua/.*%.md$", "^spec/.*%.md$" },
    { "documents", 9500, "%.md$" },
    { "library", 34500, "^src/", "^lua/", "^bin/" },
    { "specs and proof", 63000, "^spec/", "^proof/" },
    { "everything else", 7500, "" },
}

local weights = {}


local function room_of(path)
    for _, room in ipairs(ROOMS) do
        for i = 3, #room do
            if path:find(room[i]) then return room[1] end
        end
    end
end


--- The lines of each room.
---@param paths string[] of files that are text
---@return table<string, integer>
function weights.count(paths)
    local lines = {}
    for _, path in ipairs(paths) do
        local room = room_of(path)
        local _, count = assert(files.read(path)):gsub("\n", "")
        lines[room] = (lines[room] or 0) + count
    end
    return lines
end


--- A line for each room that is over its target.
---@param lines table<string, integer>
---@return string[]
function weights.excess(lines)
    local list = {}
    for _, room in ipairs(ROOMS) do
        local name, target = room[1], room[2]
        if (lines[name] or 0) > target then
            list[#list + 1] = ("%s: %d lines, %d wanted"):format(name, lines[name], target)
        end
    end
    return list
end


return weights
