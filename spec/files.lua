--- Whole files.

local files = {}


--- Returns the whole file, or nil and why it cannot be read.
function files.read(path)
    local file, problem = io.open(path, "rb")
    if not file then return nil, problem end
    local text = file:read("*a")
    file:close()
    return text
end


function files.write(path, text)
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
    return path
end


--- Writes a file in one step, so that a reader finds the old file or the new one, whole.
function files.replace(path, text)
    return assert(os.rename(files.write(path .. ".new", text), path))
end


return files
