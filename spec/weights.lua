--- weights.lua - the lines of each room of the tree, against its target.
--
--   lua5.4 spec/weights.lua   from the top: a line for each room over its target, then status 1

local files = require "spec.files"

-- A file belongs to the first of these rooms with a pattern that fits.
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


-- Finds the text files of the tree.
local FIND = "find . \\( -name .git -o -path ./build \\) -prune -o -type f " ..
             "! -name '*.png' ! -name '*.jpg' ! -name '*.ico' -print"


--- Returns the lines of each room of the tree in the working directory.
---@return table<string, integer>
function weights.count()
    local lines = {}
    for path in assert(io.popen(FIND)):lines() do
        path = path:sub(#"./" + 1)
        local room = room_of(path)
        local _, count = assert(files.read(path)):gsub("\n", "")
        lines[room] = (lines[room] or 0) + count
    end
    return lines
end


--- Returns a line for each room over its target.
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


if arg and arg[0] == "spec/weights.lua" then
    local list = weights.excess(weights.count())
    if #list > 0 then
        io.stderr:write("The tree is over its targets. `OVERWEIGHT=1` packs it all the same.\n",
                        table.concat(list, "\n"), "\n")
        os.exit(1)
    end
end

return weights
