--- Names of locks in a record. A buyer that takes several locks, all or none, asks for "bun + tea".

local concat, find, sub = table.concat, string.find, string.sub

local BETWEEN = " + "


local lock_name = {}


---@param names string[]
---@return string
function lock_name.of(names) return concat(names, BETWEEN) end


--- The names of a lock's parts; of a single lock its own name.
---@param name string
---@return string[]
function lock_name.parts(name)
    local parts, first = {}, 1
    local from, to = find(name, BETWEEN, first, true)
    while from do
        parts[#parts + 1] = sub(name, first, from - 1)
        first = to + 1
        from, to = find(name, BETWEEN, first, true)
    end
    parts[#parts + 1] = sub(name, first)
    return parts
end


--- True if two locks are the same, or have a part in common.
function lock_name.meet(one, other)
    if one == other then return true end
    if not (find(one, BETWEEN, 1, true) or find(other, BETWEEN, 1, true)) then return false end
    local is_part = {}
    for _, part in ipairs(lock_name.parts(one)) do is_part[part] = true end
    for _, part in ipairs(lock_name.parts(other)) do
        if is_part[part] then return true end
    end
    return false
end


return lock_name
