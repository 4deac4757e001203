--- A text of all that a process has in memory: its objects, and where its coroutines stand with
--- which local variables. Two moments with the same text go on in the same way.

local snapshot = {}

local getlocal, getinfo = debug.getlocal, debug.getinfo

local show


local function by_text(a, b) return a.key < b.key end


-- Functions have no state of their own here: what a closure refers to is a local variable of a
-- frame that is shown, too.
local function show_table(value, context)
    if context.named[value] then return context.named[value] end
    if context.labels[value] then return "@" .. context.labels[value] end
    context.count = context.count + 1
    context.labels[value] = context.count
    local entries = {}
    for key, each in pairs(value) do
        if type(each) ~= "function" and type(key) ~= "table" then
            entries[#entries + 1] = { key = tostring(key), value = each }
        elseif type(key) == "table" then
            entries[#entries + 1] = { key = "#" .. show(key, context), value = each }
        end
    end
    table.sort(entries, by_text)
    local parts = {}
    for i, entry in ipairs(entries) do
        parts[i] = entry.key .. "=" .. show(entry.value, context)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end


function show(value, context)
    if type(value) == "table" then return show_table(value, context) end
    if type(value) == "function" or type(value) == "thread" then return type(value) end
    return tostring(value)
end


-- A slot of an expression that is over may have anything in it. (A loop's are named "(for …".)
local function is_garbage(name) return name:find "temporary" ~= nil end


local function show_frame(thread, level, context)
    local info = getinfo(thread, level, "Sl")
    if not info then return nil end
    local parts = { info.short_src, info.currentline }
    local i = 1
    local name, value = getlocal(thread, level, i)
    while name do
        if not is_garbage(name) then parts[#parts + 1] = show(value, context) end
        i = i + 1
        name, value = getlocal(thread, level, i)
    end
    return table.concat(parts, " ")
end


--- Where a coroutine stands.
local function show_thread(thread, context)
    local frames, level = {}, 0
    local frame = show_frame(thread, level, context)
    while frame do
        frames[#frames + 1] = frame
        level = level + 1
        frame = show_frame(thread, level, context)
    end
    return table.concat(frames, "\n")
end


--- `named`: tables that are shown as a name, and not as what is in them.
---@param objects any[]
---@param threads thread[]
---@param named table<table, string>
---@return string
function snapshot.of(objects, threads, named)
    local context = { named = named, labels = {}, count = 0 }
    local parts = {}
    for _, object in ipairs(objects) do parts[#parts + 1] = show(object, context) end
    for _, thread in ipairs(threads) do parts[#parts + 1] = show_thread(thread, context) end
    return table.concat(parts, "\n")
end


return snapshot
