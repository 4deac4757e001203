--- The rules of the house (docs/design.md): which room may know which, how long a file may be, how
-- many files may need each other in a circle, and how many fields may be flags.

local MOST_LINES = 500

-- The rooms, or single headers of rooms, that each room of src may include.
local INCLUDES = {
    core = {},
    session = { "core" },
    shell = { "session/session.h", "core" },
    zookeeper = { "shell/link.h", "shell/linux.h", "core" },
    memory = { "shell/link.h", "session/rpc.h", "core" },
    world = { "memory/tree.h", "memory/letter.h", "memory/chroot.h", "shell/runtime.h",
              "shell/client.h", "core" },
    lua = { "zookeeper/zookeeper_link.h", "memory/memory_link.h", "world/world.h",
            "shell/client.h", "core" },
    child = { "lua/values.h", "shell/linux.h", "shell/now.h", "shell/pin.h", "core" },
}

-- The system's headers that the pure rooms may include, without threads, clock, or I/O but into a
-- text.
local PURE = { core = true, session = true }
local OF_C = { assert = true, inttypes = true, stdbool = true, stddef = true, stdint = true,
               stdio = true, stdlib = true, string = true }

-- Headers that only Linux has, for LINUX_FILE alone.
local LINUX_FILE = "src/shell/linux.c"
local OF_LINUX = { ["linux/magic"] = true, ["sys/prctl"] = true, ["sys/syscall"] = true,
                   ["sys/vfs"] = true }

-- The rooms that each room of lua may require. The room "zklock" is the public modules.
local PUBLIC = { ["zklock"] = true, ["zklock.init"] = true, ["zklock.resty_lock"] = true }
local REQUIRES = {
    core = {}, -- in C
    value = { "core" },
    waiting = { "value", "core" },
    object = { "waiting", "value", "core" },
    world = { "waiting", "value", "core" },
    zklock = { "world", "object", "waiting", "value", "core" },
    system = {},
    throwaway = { "zklock", "waiting", "value", "core", "system" },
    command = { "zklock", "object", "waiting", "value", "core", "system", "throwaway", "child" },
    seckill = { "zklock", "world", "object", "waiting", "value", "core", "system", "throwaway",
                "command", "engine" },
    engine = { "seckill" }, -- the public name of zklock.seckill.engine
    bin = { "command", "seckill" },
    child = {},
}

-- Limits for a room's largest circle of sources that need each other by their calls.
local MOST_IN_CIRCLE, MOST_IN_CIRCLES = 6, { core = 2, session = 5, shell = 3 }

-- The limit of flags in the structs of the pure rooms, because an enum often says more.
local MOST_FLAGS = 50


local house = {}


-- Returns the names of the allowed rooms, as in "core, session".
local function list_of(allowed)
    return allowed[1] and "only " .. table.concat(allowed, ", ") or "no other room"
end


local function has(list, wanted)
    for _, each in ipairs(list) do
        if each == wanted then return true end
    end
    return false
end


-- Returns room and header in a room: "../core/name.h" → "core", "name.h"; "name.h" → the room,
-- "name.h"
local function resolve(room, path)
    local other, name = path:match "([^/]+)/([^/]+)$"
    return other or room, name or path
end


-- --- includes ---------------------------------------------------------------------------

local function check_includes(files, tell)
    for path, text in pairs(files) do
        local room = path:match "^src/([^/]+)/"
        local allowed = room and INCLUDES[room]
        if room and not allowed then tell("%s: the room %s has no rule", path, room) end
        for included in ("\n" .. text):gmatch '\n#include "([^"]+)"' do
            local other, name = resolve(room, included)
            if allowed and other ~= room and not has(allowed, other)
                and not has(allowed, other .. "/" .. name) then
                tell("%s includes %s/%s: src/%s may include %s", path, other, name, room,
                     list_of(allowed))
            end
        end
        for included in ("\n" .. text):gmatch "\n#include <([^>]+)%.h>" do
            if PURE[room] and not OF_C[included] then
                tell("%s includes <%s.h>: src/%s is pure", path, included, room)
            end
            if OF_LINUX[included] and path ~= LINUX_FILE then
                tell("%s includes <%s.h>: what only Linux has is in %s", path, included, LINUX_FILE)
            end
        end
    end
end


-- --- requires ---------------------------------------------------------------------------

-- Returns a module's room, or nil if it is in none, or the name is a class's.
local function room_of(module)
    local name = module:match "^zklock%.(%w+)"
    return REQUIRES[name] and name or PUBLIC[module] and "zklock" or nil
end


-- Whether a string means a module. "zklock" alone does so only in a require.
local function names_room(name, text)
    return name ~= "zklock" or text:find "require%s*%(?[\"']zklock[\"']"
end


-- Checks module names in all strings, because a string may be required later.
local function check_requires(files, tell)
    for path, text in pairs(files) do
        local module = path:match "^lua/(.+)%.lua$"
        local room = module and room_of(module:gsub("/", "."))
            or path:find "^bin/" and "bin"
        local allowed = REQUIRES[room] or {}
        if module and not room then tell("%s is in no room", path) end
        for name in text:gsub("%-%-[^\n]*", ""):gmatch "[\"'](zklock[%w_.]*)" do
            local other = names_room(name, text) and room_of(name)
            if room and other and other ~= room and not has(allowed, other) then
                tell("%s names %s: the room %s may require %s", path, name, room, list_of(allowed))
            end
        end
    end
end


-- --- lines ------------------------------------------------------------------------------

local function check_lines(files, tell)
    for path, text in pairs(files) do
        local _, count = text:gsub("\n", "")
        if count > MOST_LINES then
            tell("%s has %d lines: a file has at most %d", path, count, MOST_LINES)
        end
    end
end


-- --- circles ----------------------------------------------------------------------------

-- Returns the bodies of all headers' inline functions, by name.
local function inline_functions(files)
    local found = {}
    for path, text in pairs(files) do
        local header = path:find "%.h$" and text or ""
        for head, body in header:gmatch "\nstatic inline ([^{;]-)%s*(%b{})" do
            found[head:match "([%w_]+)%(" or head] = body
        end
    end
    return found
end


-- Adds the names in a text, and the names in inline functions that it calls.
local function add_names(named, text, inlines)
    for name in text:gmatch "[%a_][%w_]*" do
        if not named[name] then
            named[name] = true
            if inlines[name] then add_names(named, inlines[name], inlines) end
        end
    end
    return named
end


-- Returns the names that a source defines for others, as the formatter writes them.
local function definitions(text)
    local defined = {}
    for head in ("\n" .. text):gmatch "\n(%a[^\n;={}]-)%s*[%(%[=;]" do
        local name = not (head:find "^static" or head:find "^extern") and head:match "(zkl_[%w_]+)$"
        if name then defined[name] = true end
    end
    return defined
end


-- Returns for each source of a room the set of sources that it needs.
local function needs(files, room, inlines)
    local home, names, graph = {}, {}, {}
    for path, text in pairs(files) do
        if path:find("^src/" .. room .. "/[^/]+%.c$") then
            text = text:gsub("/%*.-%*/", ""):gsub("enum [%w_]+", "") -- not a type's name
            names[path] = add_names({}, text, inlines)
            for name in pairs(definitions(text)) do home[name] = path end
        end
    end
    for path, named in pairs(names) do
        graph[path] = {}
        for name in pairs(named) do
            if home[name] then graph[path][home[name]] = true end
        end
    end
    return graph
end


local function reach(graph, from, seen)
    for to in pairs(graph[from]) do
        if not seen[to] then
            seen[to] = true
            reach(graph, to, seen)
        end
    end
    return seen
end


--- Returns the largest circle of a room of src, sorted.
---@param files table<string, string>
---@param room string
---@return string[]
function house.circle(files, room)
    local graph, reached, largest = needs(files, room, inline_functions(files)), {}, {}
    for path in pairs(graph) do reached[path] = reach(graph, path, {}) end
    for path in pairs(graph) do
        local circle = {}
        for other in pairs(reached[path]) do
            if reached[other][path] then circle[#circle + 1] = other end
        end
        if #circle > #largest then largest = circle end
    end
    table.sort(largest)
    return largest
end


local function check_circles(files, tell)
    for room in pairs(INCLUDES) do
        local circle, most = house.circle(files, room), MOST_IN_CIRCLES[room] or MOST_IN_CIRCLE
        if #circle > most then
            tell("src/%s has a circle of %d files, which call each other: at most %d may: %s", room,
                 #circle, most, table.concat(circle, " "))
        end
    end
end


-- --- flags ------------------------------------------------------------------------------

-- Returns the number of flags in the structs of a source, wherever they are defined.
local function count_flags(text)
    local count = 0
    for body in text:gsub("/%*.-%*/", ""):gmatch "struct[%s%w_]*(%b{})" do
        for names in body:gmatch "%f[%w_]bool ([%w_, ]+);" do
            count = count + select(2, names:gsub("[%w_]+", ""))
        end
    end
    return count
end


local function check_flags(files, tell)
    local count = 0
    for path, text in pairs(files) do
        if PURE[path:match "^src/([^/]+)/"] then count = count + count_flags(text) end
    end
    if count > MOST_FLAGS then
        tell("the structs of src/core and src/session have %d flags: at most %d may be", count,
             MOST_FLAGS)
    end
end


--- Returns a sentence for each broken rule, sorted.
---@param files table<string, string>  path → text
---@return string[]
function house.faults(files)
    local faults = {}
    local function tell(...) faults[#faults + 1] = string.format(...) end
    check_includes(files, tell)
    check_requires(files, tell)
    check_lines(files, tell)
    check_circles(files, tell)
    check_flags(files, tell)
    table.sort(faults)
    return faults
end


return house
