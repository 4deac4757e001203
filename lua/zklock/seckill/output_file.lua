--- Files for the user. An old file stays until the new one is complete.

local shell = require "zklock.system.shell"


local output_file = {}


-- True for a device or a link, which must not be replaced by a new file.
local function is_special(name)
    local word = shell.quote(name)
    return shell.succeeds(("[ -h %s ] || { [ -e %s ] && [ ! -f %s ]; }"):format(word, word, word))
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
