--- Prints the types of the public API as one file for language servers (LuaCATS), from the
-- annotations in lua/zklock:
--
--   lua rig/types.lua >zklock.lua     from the top of the tree
--
-- The file has the classes of MODULES, and each class and alias that a line of the file names. A
-- method is public if its comment begins with three dashes. Fields of a class with methods are
-- public if they say so; a class without methods, such as options, is public as a whole.

local MODULES = { "zklock", "zklock.RestyLock" }
local FILES = "find lua/zklock -path lua/zklock/seckill -prune -o -name '*.lua' -print"

local HEAD = [[
---@meta zklock
-- Types of the public API, for language servers that read LuaCATS. The folder of this file belongs
-- into "workspace.library" of lua-language-server. docs/reference describes the API.
]]

local declared = {} -- name -> { comment, variable, methods }


-- Returns the public lines of a comment. Each annotation becomes one line.
local function published(comment, variable)
    local lines, open = {}, false
    for _, line in ipairs(comment) do
        local internal = variable and line:find "^%-%-%-@field " and
            not line:find "^%-%-%-@field public "
        local text = line:gsub("^%-%-+ ?", ""):gsub("^@field public ", "@field ")
        if variable then text = text:gsub("^(@class [%w_.]+):.*", "%1") end
        if text:find "^[@|]" then
            open = text:find "^@" ~= nil
            if not internal then lines[#lines + 1] = "---" .. text end
        elseif open and not internal then
            lines[#lines] = lines[#lines] .. " " .. text
        elseif not open then
            lines[#lines + 1] = "---" .. text
        end
    end
    return lines
end


-- Notes a class or an alias. The line after its comment may put it into a variable of the file.
local function declare(comment, line, variables)
    local name
    for _, each in ipairs(comment) do name = name or each:match "^%-%-%-@%l+ ([%w_.]+)" end
    local variable = line:match "^local ([%w_]+) ="
    declared[name] = { comment = published(comment, variable), methods = {} }
    if variable then
        declared[name].variable = name:match("[%w_]+$"):gsub("(%l)(%u)", "%1_%2"):lower()
        variables[variable] = declared[name]
    end
end


-- Returns the variable of a public function's class, and its head with the parameters of its
-- comment.
local function signature(comment, line)
    local variable, sign, name, first = line:match "^function ([%w_]+)([.:])([%w_]+)%(([%w_]*)"
    if not variable then
        variable, name = line:match "^([%w_]+)%.([%w_]+) = "
        sign = variable == "_M" and "." or ":"
    end
    if first == "_" then sign = ":" end -- an object that is not used
    local parameters = {}
    for _, each in ipairs(comment) do
        parameters[#parameters + 1] = each:match "^%-%-%-@param ([%w_.]+)"
    end
    return variable, variable and ("%s%s(%s)"):format(sign, name, table.concat(parameters, ", "))
end


local function read(path)
    local variables, comment = {}, {}
    for line in io.lines(path) do
        local text = table.concat(comment, "\n")
        if line:find "^%-%-" then
            comment[#comment + 1] = line
        else
            if text:find("---@class", 1, true) or text:find("---@alias", 1, true) then
                declare(comment, line, variables)
            elseif text:find "^%-%-%-" then
                local variable, head = signature(comment, line)
                local class = variables[variable]
                if class then
                    local methods = class.methods
                    methods[#methods + 1] = { comment = published(comment), head = head }
                end
            end
            comment = {}
        end
    end
end


local out, printed = { HEAD }, {}

local function add(...)
    for _, line in ipairs{ ... } do out[#out + 1] = line end
end

-- Adds a declaration, and then all declarations that its lines name.
local function declaration(name)
    if printed[name] then return end
    printed[name] = true
    local found = assert(declared[name], "rig/types.lua: no class or alias " .. name)
    local first = #out + 1
    add(table.concat(found.comment, "\n"))
    if found.variable then add("local " .. found.variable .. " = {}") end
    add("")
    for _, method in ipairs(found.methods) do
        add(table.concat(method.comment, "\n"))
        add("function " .. found.variable .. method.head .. " end", "")
    end
    for each in table.concat(out, "\n", first):gmatch "zklock%.%u%w*" do declaration(each) end
end

for path in assert(io.popen(FILES)):lines() do read(path) end
for _, name in ipairs(MODULES) do declaration(name) end
add "return zklock\n"
io.write(table.concat(out, "\n"))
