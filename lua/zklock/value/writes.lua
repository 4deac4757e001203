--- Checks the writes of lease:guard().

local check = require "zklock.value.check"
local misuse = require "zklock.value.misuse"

local ipairs, pairs, type = ipairs, pairs, type
local refuse, show = misuse.refuse, misuse.show

--- { "set", path, data [, version] }, { "create", path, data }, { "delete", path [, version] } or
-- { "check", path [, version] }
---@alias zklock.Write (string|integer)[]

---@class zklock.GuardOptions
---@field [integer] zklock.Write
---@field timeout? number seconds, default: the session timeout

local GUARD_SIZE = 512 * 1024 -- bytes; above 1 MB a server cuts the connection

local write_forms = {
    set = { text = '{ "set", path, data [, version] }', data = true, version_at = 4, length = 4 },
    create = { text = '{ "create", path, data }', data = true, length = 3 },
    delete = { text = '{ "delete", path [, version] }', version_at = 3, length = 3 },
    check = { text = '{ "check", path [, version] }', version_at = 3, length = 3 },
}

local function check_version(value, name)
    if value == nil then return end
    check.type(value, "number", name)
    if not (value >= 0 and value < 2 ^ 31 and value % 1 == 0) then
        refuse("%s must be a node's version, a whole number from 0, not %s", name, show(value))
    end
end

local function check_fields(given, form, what)
    for key in pairs(given) do
        if not check.is_index(key, form.length) then
            refuse("%s has an unknown field %s; its form is %s", what, show(key), form.text)
        end
    end
end

local function checked_write(given, what)
    check.type(given, "table", what)
    local form = write_forms[given[1]]
    if not form then
        refuse('%s must begin with "set", "create", "delete" or "check", not %s', what,
               show(given[1]))
    end
    check_fields(given, form, what)
    check.node(given[2], what .. "'s path")
    local data = form.data and given[3] or ""
    if form.data then check.type(given[3], "string", what .. "'s data") end
    local version = form.version_at and given[form.version_at]
    check_version(version, what .. "'s version")
    return { given[1], given[2], data, version or -1 }, #given[2] + #data + 64
end

return function(given)
    if type(given) ~= "table" or #given == 0 then
        refuse("guard takes a list of one write or more, such as %s", write_forms.set.text)
    end
    local writes, total, timeout = {}, 0, nil
    for key, value in pairs(given) do
        if key == "timeout" then
            check.duration(value, key)
            timeout = value
        elseif not check.is_index(key, #given) then
            refuse("unknown option %s in guard; known: timeout, and a list of writes", show(key))
        end
    end
    for i, each in ipairs(given) do
        local size
        writes[i], size = checked_write(each, ("write %d of guard"):format(i))
        total = total + size
    end
    if total > GUARD_SIZE then
        refuse("guard writes at most %d bytes at once, not %d", GUARD_SIZE, total)
    end
    return writes, timeout
end
