--- Files for the user. An old file stays until the new one is complete.

local shell = require "zklock.system.shell"


local output_file = {}


-- True if all these tests of `[` are true of the file.
local function is(name, ...)
    local tests = {}
    for i, test in ipairs{ ... } do tests[i] = ("[ %s %s ]"):format(test, shell.quote(name)) end
    return shell.succeeds(table.concat(tests, " && "))
end


-- True for a device or a link, which must not be replaced by a new file.
local function is_special(name) return is(name, "-h") or is(name, "-e", "! -f") end


--- The reason why the file cannot be written, or nil. A FIFO or a device is not tried, because to
--- open it may wait, or do something.
function output_file.problem(name)
    if is(name, "-e", "! -f", "! -d") then return nil end
    local exists = is(name, "-e") or is(name, "-h")
    local file, message = io.open(name, "a")
    if not file then return message end
    file:close()
    if not exists then os.remove(name) end
end


local function write(name, text)
    local file, message = io.open(name, "wb")
    if not file then return nil, message end
    local written, write_error = file:write(text)
    local closed, close_error = file:close()
    if written and closed then return true end
    return nil, ("%s: %s"):format(name, write_error or close_error)
end


function output_file.write(name, text)
    if is_special(name) then return write(name, text) end
    local draft = name .. ".part"
    local done, message = write(draft, text)
    if done then done, message = os.rename(draft, name) end
    if not done then os.remove(draft) end
    return done, message
end


return output_file
