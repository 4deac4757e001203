--- A helper of busted: tells at the end, of each test that failed, how to run it alone, and where
-- the logs of its servers are. ZKLOCK_TARGET names the target of make that runs these specs.

local busted = require "busted"

local LOGS = (os.getenv "BUILD" or "build") .. "/logs"

local SEED = os.getenv "ZKLOCK_SERVER" == "memory" and os.getenv "SEED" -- of a world

local failed = {}


-- Keeps the logs of the servers that run while the test fails: they go with them.
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


-- The full name, as a filter for this test alone: a pattern, in quotes of the shell.
local function filter_of(test)
    local names = { test.name }
    local parent = busted.parent(test)
    while parent.descriptor ~= "file" do
        table.insert(names, 1, parent.name or parent.descriptor)
        parent = busted.parent(parent)
    end
    return " --filter='^" .. table.concat(names, " "):gsub("[^%w ]", ".") .. "'"
end


-- What fails before its tests are known is run with all of its file.
local function file_of(element)
    while element.descriptor ~= "file" do element = busted.parent(element) end
    return element.name
end


local function remember(element, _, _, trace)
    if not element.descriptor or element.descriptor == "output" then return nil, true end
    local spec = file_of(element):gsub("^%./", "")
    local line = (element.trace or trace).currentline or 0 -- a file's
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
