--- A helper of busted that tells at the end, for each failed test, how to run it alone, and where
-- the logs of its servers are. ZKLOCK_TARGET names the target of make that runs these specs.

local busted = require "busted"

local full_name = require("busted.outputHandlers.base")().getFullName

local LOGS = (os.getenv "BUILD" or "build") .. "/logs"

-- The random seed of a world.
local SEED = os.getenv "ZKLOCK_SERVER" == "memory" and os.getenv "SEED"

local failed = {}


-- Copies the logs of servers that run while the test fails, because their folders will be removed.
-- Returns the copies.
local function keep_logs(name)
    local rig = package.loaded["spec.rig"]
    local kept = {}
    for _, log in ipairs(rig and rig.server_logs() or {}) do
        local copy = ("%s/%s-%d.log"):format(LOGS, name, #kept + 1)
        os.execute(("mkdir -p %s && cp '%s' %s"):format(LOGS, log, copy))
        kept[#kept + 1] = copy
    end
    return kept
end


-- Returns a filter for this test alone, the full name as a pattern, in quotes of the shell.
local function filter_of(test)
    return " --filter='^" .. full_name(test):gsub("[^%w ]", ".") .. "'"
end


-- Returns the file of a test, or of a block around tests.
local function file_of(element)
    while element.descriptor ~= "file" do element = busted.parent(element) end
    return element.name
end


local function remember(element, _, _, trace)
    if not element.descriptor or element.descriptor == "output" then return nil, true end
    local spec = file_of(element):gsub("^%./", "")
    local line = (element.trace or trace).currentline or 0 -- 0 for a file
    failed[#failed + 1] = {
        spec = spec,
        filter = element.descriptor == "it" and filter_of(element) or "",
        logs = keep_logs(spec:gsub("%.lua$", ""):gsub("/", "-") .. "-" .. line),
    }
    return nil, true
end

busted.subscribe({ "failure" }, remember)
busted.subscribe({ "error" }, remember)


busted.subscribe({ "exit" }, function()
    for _, test in ipairs(failed) do
        print(("\nagain: make %s%s SPEC=\"%s%s\""):format(os.getenv "ZKLOCK_TARGET",
              SEED and " SEED=" .. SEED or "", test.spec, test.filter))
        for _, log in ipairs(test.logs) do print("log:   " .. log) end
    end
    return nil, true
end)
