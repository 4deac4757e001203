--- machine.lua - mutants of src/core and src/session that a machine makes, all in one build
-- (switch.lua), and the checks that kill each.
--
--   lua5.4 spec/mutants/machine.lua COUNT SEED [file ...]   from the top, by mutants.mk
--
-- Takes all mutants of the files; without files, all mutants of the files in COMPLETE, and COUNT of
-- the rest, drawn by the seed. The checks (CHECKS) judge a mutant one after the other, until KILLS
-- (1) levels of them kill it. A survivor must be in equivalent.txt, with its reason; an entry of a
-- killed or vanished mutant fails, too. With KILLS=2 a table shows how many mutants only one level
-- kills. PARTS=20 takes a twentieth of the mutants, another one when the sources change. Verdicts
-- stay in build/mutants/machine/results.tsv until the sources or the check's tests change, so an
-- interrupted run goes on.

local checks = require "spec.mutants.checks"
local files = require "spec.files"
local ranks = require "spec.mutants.ranks"
local shell = require "spec.mutants.shell"
local switch = require "spec.mutants.switch"

local FOLDER = os.getenv "BUILD" .. "/mutants/machine"
local PLAIN, ASAN = FOLDER .. "/plain", FOLDER .. "/asan"
local JOBS = os.getenv "JOBS" or 2 -- at a time
local KILLS, PARTS = tonumber(os.getenv "KILLS" or 1), tonumber(os.getenv "PARTS" or 1)
local COMPLETE = shell.words("clock.c clock.h line.c line.h name.c name.h permits.c claim.c " ..
                             "claim_state.h claim_way.c claim_replies.c claim_steps.h turn.c " ..
                             "keep.c unfair.c condition.c lookahead.c max_waiters.c")
local EQUIVALENT = "spec/mutants/equivalent.txt"
local SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -D_FORTIFY_SOURCE=2"
-- Each check has to kill this mutant, else its switch does not work.
local PLANTED = { file = "src/core/clock.c", in_ = "zkl_clock_phase",
                  text = "clock->connected && now < clock->certain_until",
                  after = "clock->connected && !(now < clock->certain_until)" }


-- --- the mutants ------------------------------------------------------------------------------

local function sources()
    return shell.words(shell.must("ls src/core/*.[ch] src/session/*.[ch] | LC_ALL=C sort"))
end


-- Returns all mutants of the tree, each with its file, `in_` (the function), text and `after` (the
-- changed text). `what` identifies it.
local function all_mutants()
    local list, sites_of, seen = {}, {}, {}
    for _, file in ipairs(sources()) do
        sites_of[file] = switch.sites(files.read(file))
        for _, site in ipairs(sites_of[file]) do
            for _, mutant in ipairs(site.mutants) do
                mutant.file, mutant.in_, mutant.text = file, site.in_, site.text
                mutant.line = site.line
                local what = table.concat({ file, site.in_, site.text, mutant.after }, "\n")
                seen[what] = (seen[what] or 0) + 1
                mutant.nth = seen[what]
                mutant.what = what .. "\n" .. mutant.nth
                list[#list + 1] = mutant
            end
        end
    end
    return list, sites_of
end


local function number_mutants(list)
    local id = 0
    for _, mutant in ipairs(list) do
        if mutant.refused then
            mutant.id = nil
        else
            id = id + 1
            mutant.id = id
        end
    end
end


local function find_mutant(list, id)
    for _, mutant in ipairs(list) do
        if mutant.id == id then return mutant end
    end
end


-- Marks the mutants that the compiler refuses; returns whether there are any.
local function mark_refused(list, errors)
    local found = false
    for path, line, what in errors:gmatch "(src/[^:\n]+):(%d+):%d+: error:([^\n]*)" do
        local text, at = files.read(PLAIN .. "/" .. path:gsub("[^/]+/%.%./", "")), 0
        for each in text:gmatch "[^\n]*" do
            at = at + 1
            if at == tonumber(line) then
                local id = each:match "zkl_mutant [!=]= (%d+)"
                if not id then error(("%s:%s:%s: %s"):format(path, line, what, each), 0) end
                find_mutant(list, tonumber(id)).refused, found = true, true
            end
        end
    end
    return found
end


-- Writes the sources with the switch and the mutants that compile.
local function write_sources(list, sites_of)
    local errors
    repeat
        number_mutants(list)
        for file, sites in pairs(sites_of) do
            os.remove(PLAIN .. "/" .. file)
            files.write(PLAIN .. "/" .. file, switch.render(files.read(file), sites))
        end
        errors = shell.run("cd %s && for source in src/core/*.c src/session/*.c; do %s -std=c11 " ..
                           "-fsyntax-only -w -Isrc/core -include spec/mutants/judge.h $source; " ..
                           "done", PLAIN, os.getenv "CC")
    until not mark_refused(list, errors)
end


local function numbers_of(list)
    local lines = {}
    for _, mutant in ipairs(list) do lines[#lines + 1] = mutant.refused and "-" or mutant.id end
    return table.concat(lines, "\n")
end


-- --- the checks -------------------------------------------------------------------------------

-- Judges one mutant by a part of the suite, and prints a line as judge.h does.
local function judge_by_specs(part, id)
    local verdict, why = "survived", ""
    for _, spec in ipairs(checks[part].specs) do
        local command = checks.command(checks[part], PLAIN, { spec }, "", 900)
        local output, status = shell.run("export ZKL_MUTANT=%d; %s", id, command)
        if status ~= 0 then
            local failed = ("\n" .. output):match "\nnot ok %d+ %- ([^\n]+)"
            verdict, why = "killed", failed or "died: " .. spec
            break
        end
    end
    print(("%d\t%s\t0\t%s"):format(id, verdict, why))
end


-- Each check has a name, a command, the number of mutants for each process, and the sources besides
-- src on which its verdicts depend.
local CHECKS = {
    { "C tests", PLAIN .. "/build/judge_units", 50, "spec/core spec/session" },
    { "schedules", PLAIN .. "/build/judge_schedules", 4, "spec/sim" },
    { "C test of all states", PLAIN .. "/build/judge_table", 1, "spec/core" },
    { "C tests, sanitized", ASAN .. "/build/judge_units", 8, "spec/core spec/session" },
    { "schedules, sanitized", ASAN .. "/build/judge_schedules", 4, "spec/sim" },
    { "worlds", "lua5.4 spec/mutants/machine.lua --by worlds", 1, "lua spec/*.lua" },
    { "memory", "lua5.4 spec/mutants/machine.lua --by memory", 1, "lua spec/*.lua spec/fault" },
}


-- Returns a line for each check, with its name and a sum of all that its verdicts depend on.
local function sums()
    local lines = {}
    for i, check in ipairs(CHECKS) do
        local sum = shell.must("find src Makefile spec/mutants/*.c spec/mutants/machine.mk " ..
                               "spec/mutants/switch.lua %s -type f | LC_ALL=C sort | " ..
                               "xargs cat | cksum", check[4])
        lines[i] = check[1] .. "\t" .. sum:match "%d+ %d+"
    end
    return table.concat(lines, "\n")
end


-- Returns the verdicts of earlier runs that still hold, because their checks' sums are the same.
local function verdicts(before, now)
    local lines, holds = {}, {}
    for line in now:gmatch "[^\n]+" do
        holds[line:match "^[^\t]+"] = ("\n" .. before .. "\n"):find("\n" .. line .. "\n", 1, true)
    end
    for line in (files.read(FOLDER .. "/results.tsv") or ""):gmatch "[^\n]+" do
        if holds[line:match "^[^\t]+"] then lines[#lines + 1] = line .. "\n" end
    end
    return table.concat(lines)
end


-- Copies the tree and builds it with the switch, unless nothing changed since last time and that
-- build wrote its file `numbers`.
local function prepare()
    local list, sites_of = all_mutants()
    local before, now = files.read(FOLDER .. "/sums") or "", sums()
    local kept = before == now and files.read(FOLDER .. "/numbers")
    if kept then
        local i = 0
        for word in kept:gmatch "%S+" do
            i = i + 1
            list[i].id = tonumber(word)
        end
        return list
    end
    local still = verdicts(before, now)
    shell.must("rm -rf %s && mkdir -p %s", FOLDER, PLAIN)
    files.write(FOLDER .. "/results.tsv", still)
    files.write(FOLDER .. "/sums", now)
    shell.must("cp -R --parents Makefile src spec lua bin docs examples rig proof bench/*.* %s",
               PLAIN)
    write_sources(list, sites_of)
    shell.must("cp -R %s %s", PLAIN, ASAN)
    local build = "make -s -r -j%d -C %s -f spec/mutants/machine.mk BUILD=build " ..
                  "build/judge_units build/judge_schedules "
    shell.must(build .. "build/judge_table build/5.4/zklock/core.so", JOBS, PLAIN)
    shell.must(build .. "SCHEDULES=2000 SANITIZED='%s'", JOBS, ASAN, SANITIZE)
    shell.must("cp %s/5.4/zklock/child.so %s/build/5.4/zklock", os.getenv "BUILD", PLAIN)
    files.write(FOLDER .. "/numbers", numbers_of(list))
    return list
end


local function run_check(check, ids, report)
    if not ids[1] then return end
    local command = ("echo %s | xargs -n %d -P %d %s"):format(table.concat(ids, " "), check[3],
                                                              JOBS, check[2])
    local pipe = assert(io.popen(command))
    for line in pipe:lines() do
        local id, verdict, seconds, why = line:match "^(%d+)\t(%a+)\t([%d.]+)\t(.*)$"
        if not id then error(check[1] .. ": " .. line, 0) end
        report(tonumber(id), verdict, tonumber(seconds), why)
    end
    assert(pipe:close(), check[1] .. " cannot run")
end


-- Returns earlier verdicts, as [check][id] = { verdict, seconds, why }.
local function remembered()
    local results = {}
    for _, check in ipairs(CHECKS) do results[check[1]] = {} end
    for line in (files.read(FOLDER .. "/results.tsv") or ""):gmatch "[^\n]+" do
        local check, id, verdict, seconds, why =
            line:match "^([^\t]+)\t(%d+)\t(%a+)\t([%d.]+)\t(.*)$"
        if check then results[check][tonumber(id)] = { verdict, tonumber(seconds), why } end
    end
    return results
end


local function find_planted(list)
    for _, mutant in ipairs(list) do
        local planted = true
        for field, value in pairs(PLANTED) do planted = planted and mutant[field] == value end
        if planted then return mutant.id end
    end
    error("the planted mutant is gone", 0)
end


-- Checks that the unchanged tree survives, and the planted mutant does not.
local function check_the_switch(check, planted)
    run_check(check, { 0, planted }, function(id, verdict, _, why)
        local wanted = id == 0 and "survived" or "killed"
        if verdict ~= wanted then
            error(("%s: mutant %d has %s %s"):format(check[1], id, verdict, why), 0)
        end
    end)
end


-- Returns the level of a check: C tests, schedules, ...
local function level_of(check)
    return check[1]:find "^C test" and "C tests" or check[1]:match "^%a+"
end


-- Returns the mutants for a check: those that too few levels have killed, and its own has not.
local function left_for(check, mutants)
    local list, level = {}, level_of(check)
    for _, mutant in ipairs(mutants) do
        local killers = mutant.killers
        local has_killed = killers[1] == level or killers[2] == level
        if #killers < KILLS and not has_killed then list[#list + 1] = mutant end
    end
    return list
end


-- Asks the checks about the mutants. Each gets the levels that kill it, in `killers`, and the first
-- reason, in `why`.
local function judge(chosen, planted, is_listed)
    local results = remembered()
    for _, mutant in ipairs(chosen) do mutant.killers = {} end
    local log = assert(io.open(FOLDER .. "/results.tsv", "a"))
    log:setvbuf "line"
    for _, check in ipairs(CHECKS) do
        local left, known = left_for(check, chosen), results[check[1]]
        local ids, seconds, killed = {}, 0, 0
        for _, mutant in ipairs(left) do
            local needless = check[2]:find "%-%-by" and is_listed(mutant)
            if not known[mutant.id] and not needless then ids[#ids + 1] = mutant.id end
        end
        if ids[1] then check_the_switch(check, planted) end
        run_check(check, ids, function(id, ...)
            known[id] = { ... }
            log:write(table.concat({ check[1], id, ... }, "\t"), "\n")
        end)
        for _, mutant in ipairs(left) do
            local found = known[mutant.id] or { "survived", 0 }
            seconds = seconds + found[2]
            if found[1] == "killed" then
                killed = killed + 1
                mutant.why = mutant.why or found[3]
                mutant.killers[#mutant.killers + 1] = level_of(check)
            end
        end
        print(("%-22s killed %5d of %5d, %6.0f s"):format(check[1], killed, #left, seconds))
    end
    log:close()
end


-- --- equivalent mutants -------------------------------------------------------------------------

local function key(file, in_, text, after, nth)
    return (table.concat({ file, in_, text, after, nth }, "\n"):gsub("[ \t]", ""))
end


-- Returns the entries, one for each mutant.
local function entries()
    local list, site, reasoned = {}, nil, 0
    local text = files.read(EQUIVALENT):gsub("\n  +", " ")
    for line in text:gmatch "[^\n]+" do
        local sign, nth, rest = line:match "^([-+=])(%d*)%s*(.*)$"
        local file, in_ = line:match "^(src/%S+) (%S+)$"
        if sign == "+" then
            local entry = { file = site.file, in_ = site.in_, text = site.text, after = rest }
            list[#list + 1] = entry
            list[key(site.file, site.in_, site.text, rest, site.nth)] = entry
        elseif sign == "=" then
            reasoned = #list
        elseif sign or file then
            assert(reasoned == #list, "no reason above: " .. line)
            site = { file = file or site.file, in_ = in_ or site.in_, text = rest, nth = nth }
        end
    end
    assert(reasoned == #list, "no reason at the end")
    return list
end


local function entry_of(list, mutant)
    local function find(nth)
        return list[key(mutant.file, mutant.in_, mutant.text, mutant.after, nth)]
    end
    return find "" or find(mutant.nth)
end


-- --- the run ------------------------------------------------------------------------------------

local function choose_mutants(list, count, seed, wanted)
    local complete, chosen, rest = {}, {}, {}
    for _, file in ipairs(wanted[1] and wanted or COMPLETE) do
        complete[wanted[1] and file or "src/core/" .. file] = true
    end
    for _, mutant in ipairs(list) do
        local to = complete[mutant.file] and chosen or rest
        if mutant.id then to[#to + 1] = mutant end
    end
    if wanted[1] then return chosen end
    for i, mutant in ipairs(ranks.sorted(seed, rest)) do
        if i <= count then chosen[#chosen + 1] = mutant end
    end
    return ranks.part(chosen, PARTS)
end


local function described(mutant)
    return ("%s:%d: %s\n-   %s\n+   %s"):format(mutant.file, mutant.line, mutant.in_, mutant.text,
                                               mutant.after)
end


-- Prints how many mutants each level kills, and how many no other level does.
local function print_matrix(chosen)
    local kills, only_killer = {}, {}
    for _, mutant in ipairs(chosen) do
        local room, killers = mutant.file:match "^src/(%w+)", mutant.killers
        for _, level in ipairs(killers) do
            local cell = level .. room
            kills[cell] = (kills[cell] or 0) + 1
            if not killers[2] then only_killer[cell] = (only_killer[cell] or 0) + 1 end
        end
    end
    print "\nof core and session: killed, and by no other level of those asked"
    for _, level in ipairs{ "C tests", "schedules", "worlds", "memory" } do
        print(("%-10s %6d %6d   %6d %6d"):format(level, kills[level .. "core"] or 0,
            only_killer[level .. "core"] or 0, kills[level .. "session"] or 0,
            only_killer[level .. "session"] or 0))
    end
end


local function print_report(list, chosen, equivalents)
    local failed, equal, found = 0, 0, {}
    for _, mutant in ipairs(list) do
        local entry = mutant.id and entry_of(equivalents, mutant)
        if entry then found[entry] = true end
    end
    for _, mutant in ipairs(chosen) do
        local entry = entry_of(equivalents, mutant)
        local killed = mutant.killers[1]
        if entry and not killed then
            equal = equal + 1
        elseif entry or not killed then
            failed = failed + 1
            local what = entry and "listed as equivalent, but killed: " .. mutant.why or "survives"
            print(("\n%s\n%s"):format(described(mutant), what))
        end
    end
    for _, entry in ipairs(equivalents) do
        if not found[entry] then
            failed = failed + 1
            print(("\n%s: no such mutant any more in %s:\n-   %s\n+   %s"):format(
                entry.file, entry.in_, entry.text, entry.after))
        end
    end
    print(("\n%d mutants, %d of them equivalent"):format(#chosen, equal))
    print(("%d passed, %d failed"):format(#chosen - failed, failed))
    return failed == 0
end


local function main()
    io.stdout:setvbuf "line"
    if arg[1] == "--by" then
        judge_by_specs(arg[2], tonumber(arg[3]))
        return true
    end
    local list, equivalents = prepare(), entries()
    local chosen = choose_mutants(list, tonumber(arg[1]), tonumber(arg[2]),
                                  { table.unpack(arg, 3) })
    judge(chosen, find_planted(list), function(mutant) return entry_of(equivalents, mutant) end)
    if KILLS > 1 then print_matrix(chosen) end
    return print_report(list, chosen, equivalents)
end


local ran, result = pcall(main)
if not ran then io.stderr:write("mutants: ", tostring(result), "\n") end
os.exit(ran and result)
