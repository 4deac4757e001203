--- catch.lua - the checks that must catch a mutant, each within a minute of the processor's time.
--
-- A row's `catch` names them:
--
--   nil                                 the simulator, and of src/core the C tests of spec/core
--   { program = "build/cost/session_test" }    this C test
--   { spec = file, tests = { ... } }    the tests of a busted spec whose names contain one of
--                                       these texts, on a server of their own; with
--                                       in_memory = true on a server in memory
--
-- A check catches a mutant when it, or a sanitizer, names a failure, or when the program crashes. A
-- failed build, a missing server and an endless check catch nothing.

local files = require "spec.files"
local mutant = require "spec.mutants.mutant"
local shell = require "spec.mutants.shell"

-- Files of each tree, which is built by the Makefile.
local catch = { SIMULATOR = "build/sim/sim", MODULE = "build/5.4/zklock/core.so" }

-- Returns the beginning of a check's command. It limits the check to a minute of processor time,
-- but not on the unchanged tree.
local function limit(row)
    return (row.find and "ulimit -S -t 60 && " or "") .. "timeout -k 5 600 "
end


local SIGXCPU = 128 + 24 -- the exit status after the minute


-- Returns the verdict of a check, "caught", "survived" or "broken", with its cause.
local function verdict(kind, by)
    return { kind = kind, by = by }
end


local SANITIZERS = { "ERROR: (AddressSanitizer: [%w-]+)", "ERROR: (LeakSanitizer: [%w ]+)",
                     "runtime error: ([^\n]+)", "(DEADLYSIGNAL)", "(Assertion [^\n]+ failed)" }
local SIGNALS = { [134] = "SIGABRT", [136] = "SIGFPE", [139] = "SIGSEGV" }


-- Returns how a sanitizer or a signal ended a program, or nil.
local function crash(output, status)
    for _, pattern in ipairs(SANITIZERS) do
        local found = output:match(pattern)
        if found then return found end
    end
    return SIGNALS[status]
end


local function tail(output)
    return output:sub(-2000)
end


-- --- the C tests ----------------------------------------------------------------------

-- Returns the first failed promise, from a line that spec/core/check.h prints.
local function failed_check(output)
    return output:match("[%w_/.]+:%d+: ([^\n]+)\n")
end


local function by_program(tree, row, name)
    name = name or row.catch.program
    local output, status = mutant.build(tree, name)
    if status ~= 0 then return verdict("broken", "does not compile: " .. tail(output)) end
    output, status = shell.run("cd %s && %s%s", tree, limit(row), name)
    if status == 0 then return verdict("survived") end
    local by = failed_check(output) or crash(output, status)
    if by then return verdict("caught", name .. ": " .. by) end
    return verdict("broken", ("%s, exit status %d: %s"):format(name, status, tail(output)))
end


--- Returns the C tests of spec/core.
function catch.units(tree)
    local list = {}
    for name in shell.must("ls %s/spec/core", tree):gmatch("([%w_]+_test)%.c") do
        list[#list + 1] = "build/tests-asan/core/" .. name
    end
    return list
end


-- Returns the C tests, first those about the row's file, at last the long one.
local function units_for(tree, row)
    local subject = row.find and mutant.file(row):match("/(%a+)[%w_]*%.[ch]$") or ""
    local own, others, long = {}, {}, {}
    for _, name in ipairs(catch.units(tree)) do
        local list = name:match("[%w_]+$"):find(subject, 1, true) and own or others
        if name:find("claim_table_test", 1, true) then list = long end
        list[#list + 1] = name
    end
    for _, list in ipairs{ others, long } do
        for _, name in ipairs(list) do own[#own + 1] = name end
    end
    return own
end


local function by_units(tree, row)
    for _, name in ipairs(units_for(tree, row)) do
        local found = by_program(tree, row, name)
        if found.kind ~= "survived" then return found end
    end
    return verdict("survived")
end


-- --- the simulator ------------------------------------------------------------------------

catch.schedules = 100000 -- a second for 20 000 of them

local function by_simulator(tree, row)
    local output, status = mutant.build(tree, catch.SIMULATOR)
    if status ~= 0 then return verdict("broken", "does not compile: " .. tail(output)) end
    output, status = shell.run("cd %s && %s%s seeds 1 %d 1", tree, limit(row), catch.SIMULATOR,
                               catch.schedules)
    files.write(tree .. "/simulator.log", output)
    if status == 0 then
        return verdict("survived", ("in %d schedules"):format(catch.schedules))
    elseif status == SIGXCPU then
        return verdict("survived", "in a minute")
    end
    local rule = output:match("^seed %d+: ([^\n]+)") or crash(output, status)
    local count = output:match("(%d+) schedules from seed")
    if rule and count then
        return verdict("caught", ("%s, after %d schedules"):format(rule, count))
    elseif rule then
        return verdict("caught", rule)
    end
    return verdict("broken", ("exit status %d: %s"):format(status, tail(output)))
end


-- --- specs -------------------------------------------------------------------------------

-- Returns patterns that busted matches with the full names of tests.
local function filters(tests)
    local words = {}
    for _, text in ipairs(tests) do
        local pattern = text:gsub("%p", "%%%0")
        words[#words + 1] = "--filter=" .. shell.quote(pattern)
    end
    return table.concat(words, " ")
end


-- Messages of tests that failed without their server, proxy or module.
local MISSING = { "no server: ", "no proxy", "error loading module", "module '[%w_.]+' not found",
                  "the server did not start" }

local function is_missing(output)
    for _, pattern in ipairs(MISSING) do
        if output:find(pattern) then return true end
    end
    return false
end


local SERVER = "rig/zookeeper run -t 200 --"
local IN_MEMORY = "env ZKLOCK_SERVER=memory"

local function run_spec(tree, row)
    return shell.run([[%senv LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;;" ]] ..
                     [[LUA_CPATH="%s/build/5.4/?.so;;" %s lua5.4 "$(command -v busted)" ]] ..
                     [[--no-keep-going -o TAP %s %s %s]],
                     limit(row), tree, row.catch.in_memory and IN_MEMORY or SERVER,
                     row.catch.in_memory and "--exclude-tags=server" or "",
                     filters(row.catch.tests), row.catch.spec)
end


local function by_spec(tree, row)
    local output, status = mutant.build(tree, catch.MODULE)
    if status ~= 0 then return verdict("broken", "does not compile: " .. tail(output)) end
    output, status = run_spec(tree, row)
    files.write(("%s/%s.log"):format(tree, row.name), output)
    if is_missing(output) then return verdict("broken", tail(output)) end
    local failed = ("\n" .. output):match("\nnot ok %d+ %- ([^\n]+)")
    if failed then return verdict("caught", failed) end
    if SIGNALS[status] then return verdict("caught", SIGNALS[status]) end
    if status ~= 0 then
        return verdict("broken", ("exit status %d: %s"):format(status, tail(output)))
    end
    if not output:find("ok 1 - ", 1, true) then
        return verdict("broken", "no test of " .. row.catch.spec .. " has these names")
    end
    return verdict("survived")
end


--- Returns one name for all checks of a row.
function catch.check_name(row)
    if not row.catch then return "unit tests and simulator" end
    if row.catch.program then return row.catch.program end
    return row.catch.spec .. (row.catch.in_memory and ", in memory" or "")
end


--- Returns the checks of a row, each { name, function(tree, row) }.
function catch.checks(row)
    if row.catch then
        return { { catch.check_name(row), row.catch.program and by_program or by_spec } }
    end
    local simulator = { "simulator", by_simulator }
    local driven = row.find and not mutant.file(row):find("^src/core/")
    return driven and { simulator } or { { "unit tests", by_units }, simulator }
end


return catch
