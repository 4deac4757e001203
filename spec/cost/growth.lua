--- growth.lua - checks that twice as many coroutines, runs or leases cost at most 2.5 times as
-- much. Valgrind counts the instructions, in C and in Lua, so neither the machine nor its load
-- matters.

local MOST = 2.5

-- Jobs of spec/cost/jobs.lua, each with the number of its steps.
local rows = {
    { "sleeps", 1000 }, { "closed_sleeps", 1000 },
    { "nested_runs", 500 }, { "deep_runs", 100 }, { "closed_tasks", 1000 },
    { "waits_in_a_loop", 2000 },
    { "losses", 500 }, { "losses_of_one_grant", 4000 }, { "moments", 2000 },
}

local COMMAND = "valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null " ..
                "lua5.4 spec/cost/jobs.lua %s %d 2>&1"


local function instructions(job, count)
    local pipe = assert(io.popen(COMMAND:format(job, count)))
    local output = pipe:read("*a")
    local ok = pipe:close()
    local digits = output:match("I%s+refs:%s+([%d,]+)")
    if not ok or not digits then error(("%s %d: %s"):format(job, count, output), 0) end
    return tonumber((digits:gsub(",", "")))
end


local start = instructions("none", 0) -- the interpreter, and the module
local passed, failed = 0, 0
for _, row in ipairs(rows) do
    local job, count = row[1], row[2]
    local once = instructions(job, count) - start
    local twice = instructions(job, 2 * count) - start
    local within = twice <= MOST * once
    print(("%-20s %5d %5.0f million instructions, %5d %5.0f million: %.2f times as many%s"):format(
        job, count, once / 1e6, 2 * count, twice / 1e6, twice / once,
        within and "" or (", not at most %g"):format(MOST)))
    if within then passed = passed + 1 else failed = failed + 1 end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
