--- traces.lua - the tests that execute a line, traced once for each spec of a check by trace.c.

local checks = require "spec.mutants.checks"
local files = require "spec.files"
local shell = require "spec.mutants.shell"

local traces = {}

local SEGMENTS = 500 -- as in trace.c
local LOAD = "local load = package.loadlib('%s/trace.so', 'luaopen_trace') if load then load() end"


local function file_of(folder, check, spec)
    return ("%s/trace/%s-%s"):format(folder, check.traces or check.name, (spec:gsub("/", ",")))
end


--- Lists the traced files for trace.c. Returns the index, { [file] = number of the byte before its
-- first line }, with `lines`, their sum, and `length`, each file's.
function traces.index(tree, folder)
    local index, first, rows = { length = {} }, 0, {}
    local list = shell.must("cd %s && find lua/zklock -name '*.lua' | LC_ALL=C sort", tree)
    for file in list:gmatch("%S+") do
        local _, lines = files.read(tree .. "/" .. file):gsub("\n", "")
        index[file], index.length[file] = first, lines
        rows[#rows + 1] = first .. " " .. file
        first = first + lines + 2
    end
    index.lines = first
    rows[#rows + 1] = first .. " end\n"
    shell.must("mkdir -p %s/trace", folder)
    local path, text = folder .. "/trace/files", table.concat(rows, "\n")
    if files.read(path) ~= text then files.write(path, text) end
    return index
end


--- Runs a spec of a check, and records the executed lines.
function traces.make(tree, folder, index, check, spec)
    local file = file_of(folder, check, spec)
    shell.must("truncate -s %d %s", 8 + SEGMENTS * index.lines, file)
    local begin = shell.now()
    local variables = ("TRACE=%s TRACE_FILES=%s/trace/files LUA_INIT_5_4=%s"):format(
        file, folder, shell.quote(LOAD:format(folder)))
    local output = shell.run("export %s; %s", variables, checks.command(
        check, tree, { spec }, "--keep-going --helper=spec/mutants/trace.lua", 900))
    files.write(file .. ".log", output)
    local _, failed = ("\n" .. output):gsub("\nnot ok ", "")
    if failed > 0 then print(("%d tests of %s fail without a mutant"):format(failed, spec)) end
    files.write(file .. ".seconds", ("%.1f\n"):format(shell.now() - begin))
end


local traces_read = {} -- { [file] = its trace, or false }

local function read_bytes(file, first, count)
    local trace = assert(io.open(file, "rb"))
    trace:seek("set", 8 + first)
    local bytes = trace:read(count)
    trace:close()
    return bytes
end


-- Returns a trace: its bytes, the bytes of setups that several tests share, and the names of its
-- tests; false without a trace.
local function read_trace(file, lines)
    if traces_read[file] == nil then
        local tests = {}
        for name in (files.read(file .. ".tests") or ""):gmatch("([^\n]*)\n") do
            tests[#tests + 1] = name
        end
        traces_read[file] = tests[1] and {
            bytes = read_bytes(file, 0, (#tests + 1) * lines), tests = tests,
            setup = read_bytes(file, (SEGMENTS - 1) * lines, lines),
        } or false
    end
    return traces_read[file]
end


local function has(bytes, first, last)
    return bytes:sub(first + 1, last + 1):find("\1", 1, true)
end


-- Returns the tests of a trace that execute any of these bytes of their segments.
local function executing(trace, lines, first, last)
    local tests = {}
    for n, name in ipairs(trace.tests) do
        if has(trace.bytes, n * lines + first, n * lines + last) then tests[#tests + 1] = name end
    end
    return tests
end


--- Returns the names of a spec's tests that execute any of the lines from..to of a file. If a
-- shared setup does, these are all tests. For lines that run as the file is loaded, they are the
-- tests that execute anything in the file.
function traces.tests(folder, index, check, spec, file, from, to)
    local trace, first = read_trace(file_of(folder, check, spec), index.lines), index[file]
    if not trace then return {} end
    if has(trace.setup, first + from, first + to) then return trace.tests end
    local tests = executing(trace, index.lines, first + from, first + to)
    if tests[1] or not has(trace.bytes, first + from, first + to) then return tests end
    tests = executing(trace, index.lines, first, first + index.length[file])
    return tests[1] and tests or trace.tests
end


function traces.seconds(folder, check, spec)
    return tonumber(files.read(file_of(folder, check, spec) .. ".seconds") or 0)
end


return traces
