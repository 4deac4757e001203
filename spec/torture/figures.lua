--- Counts the figures of a torture, and prints them as text with the verdict.

local turns = require "spec.torture.turns"

local figures = {}

local WIDTH = 26


-- --- counting -------------------------------------------------------------------------

local function new_counts()
    return setmetatable({}, { __index = function() return 0 end })
end


local function add(counts, name, number)
    counts[name] = counts[name] + (number or 1)
end


local function count_grant(claim, counts)
    add(counts, "grants")
    add(counts.granted, claim.kind)
    if claim.node and claim.node.shared then add(counts, "downgrades") end
end


local function count_claim(claim, counts)
    add(counts, "reads", #claim.reads)
    if claim.after then add(counts, "condition") end
    if claim.after and claim.granted then add(counts, "returns") end
    if claim.second then
        add(counts, "reentries")
    elseif claim.granted then
        count_grant(claim, counts)
    end
    if claim.failed then add(counts.failures, claim.code) end
    local noticed = claim.granted and claim.noticed
    if noticed and noticed <= claim.given_up then add(counts, "losses") end
end


-- Counts turns and kept nodes, with their grants.
local function count_nodes(m, counts)
    for _, turn in ipairs((turns.find(m))) do
        add(counts, "turns")
        add(counts, "handed", #turn.grants - 1)
        counts.longest = math.max(counts.longest, #turn.grants)
    end
    for _, kept in ipairs((turns.find(m, "keep"))) do
        add(counts, "kept", #kept.grants > 1 and 1 or 0)
        add(counts, "inherited", #kept.grants - 1)
        add(counts, "marked", kept.node.marked and 1 or 0)
    end
end


--- Returns the figures for rows(). Grants, failures and faults are counted by kind, too; measures
-- are distributions of seconds.
function figures.count(m, report)
    local counts = new_counts()
    counts.minutes, counts.claims = (m.finished - m.began) / 60, #m.claims
    counts.granted, counts.failures, counts.faults = new_counts(), new_counts(), new_counts()
    counts.explained, counts.lost = #report.explained - report.lost, report.lost
    counts.lost_writes, counts.measures = #m.lost, report.measures
    for _, claim in ipairs(m.claims) do count_claim(claim, counts) end
    for _, write in ipairs(m.writes) do add(counts, write.accepted and "writes" or "fenced") end
    count_nodes(m, counts)
    for _, fault in ipairs(m.faults) do add(counts.faults, fault.name) end
    for _ in pairs(m.last) do add(counts, "processes") end
    for _, each in ipairs(report.rules) do add(counts, "violations", each.violations) end
    return counts
end


-- --- telling --------------------------------------------------------------------------

local function milliseconds(measure)
    if not measure then return "none" end
    return ("%.0f ms (middle %.1f, 99%% within %.0f, of %d)"):format(measure:max() * 1000,
        measure:quantile(0.5) * 1000, measure:quantile(0.99) * 1000, measure:count())
end


local function counted(counts)
    local names, sum, parts = {}, 0, {}
    for name, count in pairs(counts) do
        names[#names + 1] = name
        sum = sum + count
    end
    table.sort(names)
    for i, name in ipairs(names) do parts[i] = ("%s %d"):format(name, counts[name]) end
    return sum, parts
end


--- Returns rows { name, text, list? }.
function figures.rows(report, facts)
    local f = report.figures
    local faults, by_kind = counted(f.faults)
    local failures, by_code = counted(f.failures)
    return {
        { "minutes of torture", facts.minutes and ("%g, seed %d"):format(facts.minutes, facts.seed)
                                or ("%.1f"):format(f.minutes) },
        { "client processes", tostring(f.processes) },
        { "acquires", tostring(f.claims) },
        { "grants", ("%d: %d mutex, %d read, %d write, %d of permits; %d re-entries, %d downgrades")
            :format(f.grants, f.granted.mutex, f.granted.read, f.granted.write, f.granted.permit,
                    f.reentries, f.downgrades) },
        { "turns", ("%d, the longest of %d grants; %d hand-overs"):format(f.turns, f.longest,
                                                                          f.handed) },
        { "kept", ("%d nodes, %d grants without one; %d said that they are held"):format(
            f.kept, f.inherited, f.marked) },
        { "waits in conditions", ("%d, %d came back"):format(f.condition, f.returns) },
        { "ended without a grant", tostring(failures), by_code },
        { "faults", tostring(faults), by_kind },
        { "leases lost", tostring(f.losses) },
        { "overlaps in client time", ("%d, each explained by a fault"):format(f.explained) },
        { "lost by the servers", ("%d writes to lock nodes; %d of what was seen is due to that")
            :format(f.lost_writes, f.lost) },
        { "writes", ("%d accepted, %d fenced off; %d reads"):format(f.writes, f.fenced, f.reads) },
        { "worst loss notice", "node taken: " .. milliseconds(f.measures.taken) },
        { "", "session expired: " .. milliseconds(f.measures.expired) },
        { "worst hand-off", milliseconds(f.measures.handoff) },
        { "worst hand-over", milliseconds(f.measures.within_turn) },
        { "worst end of a kept node", milliseconds(f.measures.end_of_kept) },
        { "worst release", milliseconds(f.measures.release) },
        { "worst downgrade", milliseconds(f.measures.downgrade) },
        { "latest return of a call", milliseconds(f.measures.late) },
        { "violations", tostring(f.violations) },
    }
end


local function print_list(parts)
    local line = ""
    for i, part in ipairs(parts) do
        if #line + #part > 70 then
            print((" "):rep(WIDTH) .. line)
            line = ""
        end
        line = line .. part .. (i < #parts and ", " or "")
    end
    print((" "):rep(WIDTH) .. line)
end


function figures.print_violations(report)
    for i, violation in ipairs(report.violations) do
        if i > 40 then break end
        print(("VIOLATION %s at %.3f %s %s: %s"):format(violation.rule, violation.at,
              violation.path or "", violation.claim or "", violation.text))
    end
end


function figures.print(report, facts)
    for _, row in ipairs(figures.rows(report, facts)) do
        print(row[1] .. (" "):rep(WIDTH - #row[1]) .. row[2])
        if row[3] and #row[3] > 0 then print_list(row[3]) end
    end
    figures.print_violations(report)
end


--- Prints the broken rules and the number that holds; returns whether all hold.
function figures.verdict(report)
    local passed, failed = 0, 0
    for _, rule in ipairs(report.rules) do
        if rule.violations == 0 then
            passed = passed + 1
        else
            failed = failed + 1
            print(("VIOLATED %s: %s"):format(rule.name, rule.text))
        end
    end
    print(("%d passed, %d failed"):format(passed, failed))
    return failed == 0
end


return figures
