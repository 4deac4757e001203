--- run.lua - puts each defect back and sees that its checks catch it.
--
--   lua5.4 spec/mutants/run.lua [--core | --twentieth] [name ...]    from the top of the tree
--
-- --core: all mutants that need no spec, of core.lua and of src/memory's tree. The simulator, with
-- fewer schedules, runs only where the C tests catch nothing.
-- --twentieth: a twentieth of these, another one when the sources change.
-- Exit status 0: every mutant was caught, and the unchanged tree passes the same checks.

local catch = require "spec.mutants.catch"
local mutant = require "spec.mutants.mutant"
local ranks = require "spec.mutants.ranks"
local shell = require "spec.mutants.shell"

local JOBS = os.getenv "JOBS" or 2 -- at a time
local PARTS = { ["--core"] = 1, ["--twentieth"] = 20 } -- one of so many parts of the mutants runs
local brief = PARTS[arg[3]] -- the first catch of a mutant is enough


-- --- which ----------------------------------------------------------------------------

local function chosen(rows, arguments)
    local core_only = PARTS[arguments[1]]
    local names, list = {}, {}
    for i = core_only and 2 or 1, #arguments do
        assert(rows[arguments[i]], "no such mutant: " .. arguments[i])
        names[arguments[i]] = true
    end
    for _, row in ipairs(rows) do
        local wanted = not next(names) or names[row.name]
        local needs_spec = row.catch and row.catch.spec
        if wanted and not (core_only and needs_spec) then list[#list + 1] = row end
    end
    return ranks.part(list, core_only and not arguments[2] and core_only or 1)
end


-- Returns the checks that the rows need, as rows without a defect, which must not fail.
local function controls(rows)
    local list, by_check = {}, {}
    for _, row in ipairs(rows) do
        local check, by = catch.check_name(row), row.catch
        local control = by_check[check]
        if not control then
            control = { name = "control-" .. check:gsub("%W", "-"), what = check,
                        catch = by and { spec = by.spec, program = by.program, tests = {},
                                         in_memory = by.in_memory } }
            by_check[check] = control
            list[#list + 1] = control
            list[control.name] = control
        end
        for _, test in ipairs(by and by.tests or {}) do
            table.insert(control.catch.tests, test)
        end
    end
    return list
end


-- --- one ------------------------------------------------------------------------------

-- Runs the checks of a row; prints its name and "check<tab>verdict<tab>cause" for each.
local function judge(row)
    local begin = shell.now()
    local tree = row.find and mutant.make(row) or mutant.BASE
    local words = { row.name }
    for _, check in ipairs(catch.checks(row)) do
        local found = check[2](tree, row)
        words[#words + 1] = check[1]
        words[#words + 1] = found.kind
        words[#words + 1] = (found.by or ""):gsub("%s+", " ")
        if brief and found.kind == "caught" then break end
    end
    words[#words + 1] = ("%.1f"):format(shell.now() - begin)
    io.write(table.concat(words, "\t"), "\n")
end


-- --- all ------------------------------------------------------------------------------

-- Judges the rows, JOBS at a time; calls report(row, result) in their order.
local function judge_all(rows, report)
    local names, results, next_row = {}, {}, 1
    for i, row in ipairs(rows) do names[i] = row.name end
    local pipe = assert(io.popen(
        ("printf '%%s\\n' %s | xargs -P %d -I NAME lua5.4 %s --judge NAME %s"):format(
            table.concat(names, " "), JOBS, arg[0], table.concat(arg, " "))))
    for line in pipe:lines() do
        local result = {}
        for word in (line .. "\t"):gmatch("([^\t]*)\t") do result[#result + 1] = word end
        results[result[1]] = result
        while rows[next_row] and results[rows[next_row].name] do
            report(rows[next_row], results[rows[next_row].name])
            next_row = next_row + 1
        end
    end
    pipe:close()
    if next_row <= #rows then error("no result of " .. rows[next_row].name, 0) end
end


-- Returns the checks of a result, each { name, "caught" | "survived" | "broken", cause }.
local function checks_of(result)
    local checks = {}
    for i = 2, #result - 1, 3 do
        checks[#checks + 1] = { result[i], result[i + 1], result[i + 2] }
    end
    return checks
end


-- A check must pass on the unchanged tree, otherwise it catches everything.
local function report_control(row, result)
    local passed = true
    print(("%-62s %5s s"):format(row.what, result[#result]))
    for _, check in ipairs(checks_of(result)) do
        if check[2] ~= "survived" then
            passed = false
            print(("    %s fails: %s"):format(check[1], check[3]))
        end
    end
    return passed
end


local SAYS = { caught = "caught", survived = "NOT CAUGHT", broken = "BROKEN" }

-- A mutant is caught when at least one check fails for the right reason, and none is broken.
local function report_mutant(row, result, tally)
    local caught, broken = false, false
    print(("\n%-28s %-33s %5s s\n    %s"):format(row.name, row.at, result[#result], row.what))
    for _, check in ipairs(checks_of(result)) do
        local name, kind, by = check[1], check[2], check[3]
        caught, broken = caught or kind == "caught", broken or kind == "broken"
        tally[name] = tally[name] or { caught = 0, asked = 0 }
        tally[name].asked = tally[name].asked + 1
        if kind == "caught" then tally[name].caught = tally[name].caught + 1 end
        print(("    %-10s  %s  %s"):format(name, SAYS[kind], by:sub(1, 130)))
    end
    return caught and not broken
end


local function print_tally(tally)
    local names = {}
    for name in pairs(tally) do names[#names + 1] = name end
    table.sort(names)
    print()
    for _, name in ipairs(names) do
        print(("%-30s caught %d of %d"):format(name, tally[name].caught, tally[name].asked))
    end
end


-- --- the run --------------------------------------------------------------------------

-- Copies and builds the tree, and sees that every defect can be put into it.
local function prepare(rows)
    local targets, stale = { catch.SIMULATOR }, {}
    mutant.copy()
    for _, name in ipairs(catch.units(mutant.BASE)) do targets[#targets + 1] = name end
    for _, row in ipairs(rows) do
        local _, problem = mutant.sources(row)
        stale[#stale + 1] = problem
        if row.catch then targets[#targets + 1] = row.catch.program or catch.MODULE end
    end
    if stale[1] then error(table.concat(stale, "\n\n"), 0) end
    mutant.must_build(mutant.BASE, table.concat(targets, " "))
end


local function run(rows)
    local passed, failed, tally, list = 0, 0, {}, controls(rows)
    for _, row in ipairs(rows) do list[#list + 1] = row end
    io.stdout:setvbuf("line")
    print("Without a defect these pass:\n")
    judge_all(list, function(row, result)
        local good = (row.find and report_mutant or report_control)(row, result, tally)
        if good then passed = passed + 1 else failed = failed + 1 end
    end)
    print_tally(tally)
    print(("\n%d passed, %d failed"):format(passed, failed))
    return failed == 0
end


local function main()
    local rows = mutant.rows()
    if arg[1] == "--judge" then
        local row = rows[arg[2]] or controls(chosen(rows, { table.unpack(arg, 3) }))[arg[2]]
        if brief and not row.rare then catch.schedules = 20000 end
        judge(row)
        return true
    end
    rows = chosen(rows, arg)
    prepare(rows)
    return run(rows)
end


local ran, result = pcall(main)
if not ran then io.stderr:write("mutants: ", tostring(result), "\n") end
os.exit(ran and result)
