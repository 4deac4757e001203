--- drawn.lua - small changes of lua/zklock, src/child and src/lua, drawn by a seed, and the part
-- of the suite that catches each.
--
--   lua5.4 spec/mutants/drawn.lua COUNT SEED [number ...]   from the top, by mutants.mk
--
-- A mutant is one change of places.lua that still loads or compiles; its name is its number in the
-- draw. Parts of the suite (checks.lua) judge it one after the other, until one fails. Only tests
-- that execute the changed line run (traces.lua); for a change in C, all tests. A test that failed
-- must fail again, and pass on the unchanged tree. Traces stay in build/mutants/drawn, and the
-- verdicts in table.tsv there.

local checks = require "spec.mutants.checks"
local files = require "spec.files"
local mutant = require "spec.mutants.mutant"
local places = require "spec.mutants.places"
local ranks = require "spec.mutants.ranks"
local shell = require "spec.mutants.shell"
local traces = require "spec.mutants.traces"

local FOLDER = os.getenv "BUILD" .. "/mutants/drawn"
local BASE = FOLDER .. "/base" -- the unchanged tree
local JOBS = os.getenv "JOBS" or 2 -- at a time
local COMPILE = "%s -std=c11 -D_GNU_SOURCE -O0 -g1 -w -fPIC -fvisibility=hidden " ..
                "-I/usr/include/lua5.4 -I" .. os.getenv "ZOOKEEPER_INCDIR" .. " "
COMPILE = COMPILE:format(os.getenv "CC")


-- --- the draw -----------------------------------------------------------------------------

-- Returns all places of the unchanged tree, each with its `file`, and with `what`, which identifies
-- it in any tree by its line, the change, and the count of such changes up to it.
local function all_places()
    local list, seen = {}, {}
    for file in shell.must("cd %s && { find lua/zklock -name '*.lua'; " ..
                           "ls src/child/*.c src/lua/*.c; } | LC_ALL=C sort", BASE):gmatch("%S+") do
        local text = files.read(BASE .. "/" .. file)
        for _, place in ipairs(places.find(text, file:find("%.c$"))) do
            list[#list + 1] = place
            place.file, place.is_c = file, file:find("%.c$") ~= nil
            local line = text:sub(1, place.first - 1):match("[^\n]*$") .. "\n" ..
                         text:match("[^\n]*", place.first)
            local what = ("%s\n%s\n%s\n"):format(file, line, place.change)
            seen[what] = (seen[what] or 0) + 1
            place.what, place.number = what .. seen[what], #list
        end
    end
    return list
end


local function changed(place)
    local text = files.read(BASE .. "/" .. place.file)
    return text:sub(1, place.first - 1) .. place.change .. text:sub(place.last + 1)
end


local function is_valid(place)
    local path = files.write(FOLDER .. "/valid" .. (place.is_c and ".c" or ".lua"), changed(place))
    local command = "luac5.4 -p "
    if place.is_c then
        command = ("%s -I%s/%s -fsyntax-only "):format(COMPILE, BASE, place.file:match("^(.*)/"))
    end
    local _, status = shell.run("%s", command .. path)
    return status == 0
end


local function draw(count, seed)
    local drawn = {}
    for _, place in ipairs(ranks.sorted(seed, all_places())) do
        if #drawn == count then break end
        if is_valid(place) then
            drawn[#drawn + 1] = place
            place.name = tostring(#drawn)
        end
    end
    return drawn
end


-- --- trees ------------------------------------------------------------------------------

-- Returns a sum of all that traces depend on.
local function sum()
    return shell.must("find * -path build -prune -o -path spec/mutants -prune -o -type f " ..
                      "-print0 | LC_ALL=C sort -z | xargs -0 cat | cksum")
end


-- Copies and builds the unchanged tree, unless nothing changed since last time. From here on the
-- original may change.
local function copy()
    if files.read(FOLDER .. "/sum") == sum() then return end
    shell.must("rm -rf %s && mkdir -p %s/build", FOLDER, BASE)
    shell.must("tar -c --exclude=./build --exclude=./.git . | tar -x -C %s", BASE)
    shell.must("cd %s && cp -rp 5.4 5.1 rig %s/build", os.getenv "BUILD", BASE)
    shell.must("%s -shared -o %s/trace.so spec/mutants/trace.c", COMPILE:gsub("%-fvis%S+", ""),
               FOLDER)
    files.write(FOLDER .. "/sum", sum())
end


local MODULES = "build/5.4/zklock/core.so build/5.4/zklock/child.so"

-- Makes the tree of a mutant. It shares all files that do not change with the base.
local function make(place)
    local tree = FOLDER .. "/" .. place.name
    local path = tree .. "/" .. place.file
    shell.must("rm -rf %s && cp -al %s %s && rm %s", tree, BASE, tree, path)
    files.write(path, changed(place))
    if place.is_c then
        local object = place.file:gsub("c$", "o")
        shell.must("cd %s && rm %s build/5.4/objects/%s", tree, MODULES, object)
        mutant.must_build(tree, MODULES)
    end
    return tree
end


-- --- the judge --------------------------------------------------------------------------

local SECONDS = { memory = 600, luajit = 600 }
local index

-- Returns the specs of a check that execute the place, the quickest first, and their tests that do.
local function executing(check, place)
    local specs, tests = {}, {}
    for _, spec in ipairs(check.specs) do
        local found = traces.tests(FOLDER, index, check, spec, place.file, place.line,
                                   place.last_line)
        if found[1] then specs[#specs + 1] = spec end
        for _, name in ipairs(found) do tests[#tests + 1] = name end
    end
    table.sort(specs, function(a, b)
        return traces.seconds(FOLDER, check, a) < traces.seconds(FOLDER, check, b)
    end)
    return specs, tests
end


local function is_one_of(file, patterns)
    for _, pattern in ipairs(patterns) do
        if file:find("^" .. pattern) then return true end
    end
    return false
end


-- Returns the runs of a check that may catch a mutant, each { specs, words }.
local function runs_of(check, place)
    local specs, tests = check.specs, {}
    if check.without then
        if is_one_of(place.file, check.without) then return {} end
    elseif check.alone and check.alone[place.file] then
        specs = check.alone[place.file]
    elseif not place.is_c then
        specs, tests = executing(check, place)
    end
    if not specs[1] or place.is_c and check.abi then return {} end -- Lua 5.4's module is changed
    if not check.one_by_one then return { { specs, checks.filters(tests) } } end
    local runs = {}
    for i, spec in ipairs(specs) do runs[i] = { { spec }, "" } end
    return runs
end


local SIGNALS = { [124] = "no end in time", [137] = "no end in time",
                  [152] = "a minute of the processor" }

-- Returns the failure, if any, with the test's name, its file, and the reason.
local function failure_of(output, status)
    if status == 0 then return end
    local name, why = ("\n" .. output):match("\nnot ok %d* ?%-? ?([^\n]*)\n(.*)")
    local file = why and why:match("# (%S+_spec%.lua) @")
    local text = why and why:match("Failure message: ([^\n]*)") or
                 why and why:match("rror message: ([^\n]*)")
    local by = SIGNALS[status] or name or ("exit status %d: %s"):format(status, output:sub(-200))
    return { by = by, spec = file, test = name, why = text or "" }
end


local function one_line(text)
    return (text:gsub("%s+", " "):sub(1, 150))
end


local function run(check, tree, specs, words)
    local output, status = shell.run("%s", checks.command(check, tree, specs,
                                                          "--no-keep-going " .. words,
                                                          SECONDS[check.name] or 900))
    return failure_of(output, status), output
end


local function runs_nothing(output)
    return output:find "1%.%.0%s" or output:find "0 successes / 0 failures / 0 errors"
end


-- Whether the mutant causes the failure. Its test (or else its spec) must fail again, and pass
-- without the mutant.
local function is_proven(check, tree, failed)
    if not failed.test or not failed.spec then return true end
    local words = checks.filters{ failed.test }
    local again, output = run(check, tree, { failed.spec }, words)
    if not again and runs_nothing(output) then
        words = ""
        again = run(check, tree, { failed.spec }, words)
    end
    return again and not run(check, BASE, { failed.spec }, words)
end


local UNPROVEN = 5 -- failures after which a check gives up

local function is_caught(check, place, tree)
    for _, each in ipairs(runs_of(check, place)) do
        local words = each[2]
        for _ = 1, UNPROVEN do
            local failed, output = run(check, tree, each[1], words)
            if not failed then break end
            files.write(("%s/%s-%s.log"):format(FOLDER, place.name, check.name), output)
            failed.spec = failed.spec or each[1][1]
            if is_proven(check, tree, failed) then return failed end
            words = words .. " " .. checks.filters({ failed.test }, "--filter-out")
        end
    end
end


-- Prints the mutant's name, the catching check or "-", the spec and the test.
local function judge(place)
    local tree = make(place)
    local caught, by = "-", ""
    for name in os.getenv("CHECKS"):gmatch("%S+") do
        local failed = is_caught(checks[name], place, tree)
        if failed then
            caught, by = name, ("%s\t%s\t%s"):format(failed.spec, one_line(failed.by),
                                                    one_line(failed.why))
            break
        end
    end
    shell.must("rm -rf %s", tree)
    print(("%s\t%s\t%s"):format(place.name, caught, by))
end


-- --- all --------------------------------------------------------------------------------

-- Runs this program for each name, JOBS at a time; returns an iterator of its output's lines.
local function run_each(names, words)
    files.write(FOLDER .. "/names", table.concat(names, "\n") .. "\n")
    return assert(io.popen(("xargs -a %s/names -P %s -L 1 %s %s %s"):format(
        FOLDER, JOBS, "lua5.4", arg[0], words))):lines()
end


local function make_traces()
    local missing = {}
    for name in os.getenv("CHECKS"):gmatch("%S+") do
        local check = checks[name]
        for _, spec in ipairs(check.without and {} or check.specs) do
            if not check.traces and traces.seconds(FOLDER, check, spec) == 0 then
                missing[#missing + 1] = name .. " " .. spec
            end
        end
    end
    if missing[1] then for _ in run_each(missing, "--trace") do end end
end


local function chosen(drawn, names)
    if not names[1] then return drawn end
    local list = {}
    for _, name in ipairs(names) do list[#list + 1] = assert(drawn[tonumber(name)], name) end
    return list
end


local function main(count, seed, names)
    shell.must("mkdir -p %s", FOLDER)
    copy()
    index = traces.index(BASE, FOLDER)
    make_traces()
    local list, survivors, caught = chosen(draw(count, seed), names), {}, 0
    local words, rows = {}, {}
    for i, place in ipairs(list) do
        words[i] = place.name .. " " .. place.number
        rows[place.name] = place
    end
    local tsv = assert(io.open(FOLDER .. "/table.tsv", "w"))
    tsv:setvbuf "line"
    for line in run_each(words, "--judge") do
        local name, kind, by = line:match("^(%d+)\t([^\t]*)\t(.*)")
        local place = rows[name]
        local what = ("%s\t%s:%d\t%s -> %s"):format(name, place.file, place.line,
            one_line(place.text), place.change == "" and "(nothing)" or place.change)
        tsv:write(what, "\t", kind, "\t", by, "\n")
        print(what .. "\n    " .. kind .. "  " .. one_line(by))
        if kind == "-" then survivors[#survivors + 1] = name else caught = caught + 1 end
        rows[name] = nil
    end
    if next(rows) then error("no result of " .. next(rows), 0) end
    table.sort(survivors, function(a, b) return tonumber(a) < tonumber(b) end)
    print(("\n%d caught, %d survived: %s"):format(caught, #survivors,
                                                table.concat(survivors, " ")))
    return #survivors == 0
end


local function work(what, one, other)
    index = traces.index(BASE, FOLDER)
    if what == "--trace" then
        traces.make(BASE, FOLDER, index, checks[one], other)
    else
        local place = all_places()[tonumber(other)]
        place.name = one
        judge(place)
    end
end


io.stdout:setvbuf "line"
if arg[1]:find("^%-%-") then
    work(table.unpack(arg))
else
    os.exit(main(tonumber(arg[1]), tonumber(arg[2]), { table.unpack(arg, 3) }))
end
