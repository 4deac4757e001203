--- The options of zklock.world and zklock.simulate.

local check = require "zklock.value.check"
local faults = require "zklock.world.faults"
local misuse = require "zklock.value.misuse"

local ipairs, pairs, tonumber, type = ipairs, pairs, tonumber, type
local huge = math.huge
local known = check.known
local refuse, show = misuse.refuse, misuse.show

local MOST = 2 ^ 53 -- all whole numbers up to it are exact
local DELAY = 0.001 -- seconds of a packet, at most
local SEEDS = 1000
local PREEMPTIONS, RUNS = 2, 10000 -- of a systematic search
local MOMENT_SEEDS = 100

local limits = { steps = 1e6, seconds = 86400 }
local MOST_SECONDS = 4e6 -- of a world, whose loop needs times that are exact to nanoseconds

local _M = {}


local function positive(value, what)
    if type(value) ~= "number" or not (value > 0 and value < huge) then
        refuse("%s must be a number above 0, not %s", what, show(value))
    end
    return value
end


function _M.whole(value, what)
    positive(value, what)
    if value % 1 ~= 0 or value > MOST then
        refuse("%s must be a whole number from 1 to 2^53, not %s", what, show(value))
    end
    return value
end

local whole = _M.whole


local function is_whole(value)
    return type(value) == "number" and value % 1 == 0 and value >= -MOST and value <= MOST
end


--- Checks the arguments of world:random.
function _M.range(m, n)
    local least, most = n == nil and 1 or m, n == nil and m or n
    local fits = is_whole(least) and is_whole(most) and least <= most and most - least < MOST
    if fits then return end
    refuse("random takes (), (m) or (m, n): whole numbers up to 2^53, m at least 1 or n at " ..
           "least m, not (%s%s)", show(m), n == nil and "" or ", " .. show(n))
end


function _M.name(name)
    if type(name) ~= "string" or name == "" then
        refuse("a process has a name, a string, not %s", show(name))
    end
    check.utf8_text(name, "the name of a process") -- its sessions' identity
end


function _M.time(seconds)
    if type(seconds) ~= "number" or not (seconds >= 0 and seconds < huge) then
        refuse("a time is seconds, 0 or more, and finite, not %s", show(seconds))
    end
end


---@class zklock.Faults
---@field stop? boolean|{ per_second?: number, longest?: number, most?: integer }
---@field kill? boolean|{ per_second?: number, most?: integer }
---@field cut? boolean|{ per_second?: number, longest?: number, most?: integer }
---@field expire? boolean|{ per_second?: number, most?: integer }
---@field delay? number longest way of a packet, in seconds; default 0.001

-- The settings of a kind of fault, given as true or as a table of changes to the defaults. A search
-- needs no rate.
local function settings_of(given, kind, decided)
    local default = faults.defaults[kind]
    if given == nil or given == false then return nil end
    if given == true then given = {} end
    known(given, default, "the fault " .. kind)
    if decided and given.per_second ~= nil then
        refuse("faults.%s has no per_second where all schedules are run: it may come at each step",
               kind)
    end
    local result = { more = given.per_second and 0 or faults.MORE }
    for name, value in pairs(default) do
        result[name] = given[name] == nil and value or
            (name == "most" and whole or positive)(given[name], kind .. "." .. name)
    end
    return result
end


local names = { delay = true }
for _, kind in ipairs(faults.kinds) do names[kind] = true end

---@param decided? boolean a search decides the faults
function _M.faults(given, decided)
    if given == nil then return { delay = DELAY } end
    known(given, names, "faults")
    local result = { delay = positive(given.delay or DELAY, "faults.delay") }
    for _, kind in ipairs(faults.kinds) do
        result[kind] = settings_of(given[kind], kind, decided)
    end
    return result
end


local function limit(given)
    if given == nil then return limits end
    known(given, limits, "limit")
    local seconds = positive(given.seconds or limits.seconds, "limit.seconds")
    if seconds > MOST_SECONDS then
        refuse("limit.seconds must be at most %d, not %s", MOST_SECONDS, show(seconds))
    end
    return { steps = whole(given.steps or limits.steps, "limit.steps"), seconds = seconds }
end


---@class zklock.WorldOptions
---@field seed? integer default 1
---@field faults? zklock.Faults
---@field limit? { steps?: integer, seconds?: number } default 1e6, 86400; at most 4e6 seconds

function _M.world(given)
    given = given == nil and {} or given
    known(given, { seed = true, faults = true, limit = true }, "the options of a world")
    return {
        seed = whole(given.seed or 1, "seed"),
        faults = _M.faults(given.faults),
        limit = limit(given.limit),
        story = true,
    }
end


-- The bounds of a systematic search, given as true or as a table of changes to the defaults.
local function bounds(given)
    if given == nil or given == false then return nil end
    if given == true then given = {} end
    known(given, { preemptions = true, runs = true }, "all")
    local preemptions = given.preemptions or PREEMPTIONS
    if not is_whole(preemptions) or preemptions < 0 then
        refuse("all.preemptions must be a whole number, 0 or more, not %s", show(preemptions))
    end
    return { preemptions = preemptions, runs = whole(given.runs or RUNS, "all.runs") }
end


local function schedule(name)
    if name == nil then return nil end
    if type(name) == "string" then
        local last, rest = 0, name .. " "
        local at, after = rest:match "^(%d+):%d+ ()"
        while at and tonumber(at) > last do
            last, rest = tonumber(at), rest:sub(after)
            at, after = rest:match "^(%d+):%d+ ()"
        end
        if rest == "" or name == "" then return name end
    end
    refuse("schedule must be first.schedule of a search, such as \"14:2 22:3\", not %s", show(name))
end


---@class zklock.SimulateOptions: zklock.WorldOptions
---@field seeds? integer how many, from 1; default 1000. Not with `seed`, `all` or `schedule`
---@field all? boolean|{ preemptions?: integer, runs?: integer } all schedules; default 2, 10000
---@field schedule? string a `first.schedule`
---@field pct? integer the depth of bugs, found by random priorities
---@field moment? integer|false seeds that go on from a step of a wrong schedule; default 100

function _M.simulation(given)
    given = given == nil and {} or given
    known(given, { all = true, faults = true, limit = true, moment = true, pct = true,
                   schedule = true, seed = true, seeds = true }, "the options of simulate")
    local all, name = bounds(given.all), schedule(given.schedule)
    if given.seeds ~= nil and (given.seed ~= nil or all or name) or all and name then
        refuse("simulate takes seeds, how many, or the one seed, and with that one all of its " ..
               "schedules, or a schedule of it; not both")
    end
    if given.pct ~= nil and (all or name) then
        refuse("simulate takes pct, or all of the schedules, or the one schedule, not both")
    end
    local first = given.seed and whole(given.seed, "seed") or 1
    return {
        first = first,
        pct = given.pct and whole(given.pct, "pct"),
        last = given.seed and first or whole(given.seeds or SEEDS, "seeds"),
        all = all,
        moment = given.moment ~= false and whole(given.moment or MOMENT_SEEDS, "moment"),
        schedule = name,
        faults = _M.faults(given.faults, all or name),
        limit = limit(given.limit),
    }
end


return _M
