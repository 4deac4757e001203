--- Whole files.

local files = {}


--- All that is in it; or nil, and why it cannot be read.
function files.read(path)
    local file, problem = io.open(path, "rb")
    if not file then return nil, problem end
    local text = file:read("*a")
    file:close()
    return text
end


--- Makes the file, with that in it. Gives its path.
function files.write(path, text)
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
    return path
end


--- The same, and who reads meanwhile finds all of the old one or all of the new one.
function files.replace(path, text)
    return assert(os.rename(files.write(path .. ".new", text), path))
end


return files
