--- The protected counter of the neighbours: a file that programs in any language can use.
--
-- Who holds the lock reads the last line, pauses, and appends one:
--
--   COUNT ELEMENT READ TOKEN
--
-- COUNT is the count read, and one; ELEMENT names the claim that writes; READ is the element
-- of the line read; TOKEN is the claim's. So an update that was lost shows twice: the last
-- COUNT is less than the number of lines, and two lines have read the same element. Lines are
-- appended in one piece: their order is that of the writes.

local counter = {}


local function path_of(folder, lock_path)
    return folder .. "/store/" .. lock_path:gsub("/", "_")
end


local function append(path, line)
    local file = assert(io.open(path, "a"))
    file:setvbuf("full")
    assert(file:write(line, "\n"))
    file:close()
end


local function parse(line)
    local count, element, read, token = line:match("^(%d+) (%S+) (%S+) (%d+)$")
    if not count then error("no line of a counter: " .. line, 2) end
    return { count = tonumber(count), element = element, read = read, token = token }
end


function counter.create(folder, lock_path)
    append(path_of(folder, lock_path), "0 - - 0")
end


--- The last line: { count=, element=, read=, token= (text) }.
function counter.read(folder, lock_path)
    local file = assert(io.open(path_of(folder, lock_path)))
    local size = file:seek("end")
    file:seek("set", math.max(0, size - 512))
    local last
    for line in file:lines() do last = line end
    file:close()
    return parse(last)
end


--- Counts one more than `read`, what read() gave.
function counter.write(folder, lock_path, read, element, token)
    append(path_of(folder, lock_path),
           ("%d %s %s %s"):format(read.count + 1, element, read.element, token))
end


--- All writes in their order, and how many of them are lost.
function counter.writes(folder, lock_path)
    local list = {}
    for line in io.lines(path_of(folder, lock_path)) do list[#list + 1] = parse(line) end
    local last = list[#list]
    table.remove(list, 1)
    return list, #list - last.count
end


return counter
