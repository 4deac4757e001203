--- The option `faults` of a sale, checked.

local misuse = require "zklock.value.misuse"
local option = require "zklock.seckill.option"

local refuse, show = misuse.refuse, misuse.show


local FORM = "a fault is as { at = 0.5, stop = \"holder\", length = 3 }, "
    .. "{ at = 1, kill = \"server 2\" } or { at = 1, pause = \"zookeeper\", length = 2 }"

local FIELDS = {
    at = true, stop = true, kill = true, restart = true, pause = true, cut = true, length = true,
    run = true, what = true, where = true, held = true, switch = true,
}

local KINDS = { "stop", "kill", "restart", "pause", "cut", "switch", "run" }
local LASTING = { stop = true, pause = true, cut = true }
local OF_SERVERS = { stop = true, kill = true, cut = true }

-- Methods of ZooKeeper that begin a fault and end it.
local OF_ZOOKEEPER = {
    kill = { "kill" }, restart = { "restart" }, pause = { "pause", "resume" },
    cut = { "cut", "heal" }, stop = { "pause", "resume" },
}


local fault_options = { FORM = FORM }


local function kind_of(given)
    local found
    for _, kind in ipairs(KINDS) do
        if given[kind] and found then return nil end
        found = given[kind] and kind or found
    end
    return found
end


local function wrong_switch(given, strategy)
    if not strategy.switch then return "the sale's strategy has no switch" end
    if type(given.switch) ~= "string" or given.switch:find "%c" then
        return "switch must be the name of an engine, or \"\" for the next in the order"
    end
end


local function wrong_run(given)
    if type(given.run) ~= "function" then return "run must be a function" end
    if type(given.what) ~= "string" or type(given.where) ~= "string" then
        return "a run has what and where, by which reports name it"
    end
end


local function wrong_target(kind, whom, servers)
    if OF_ZOOKEEPER[kind] and whom == "zookeeper" then return nil end
    local number = type(whom) == "string" and tonumber(whom:match "^server ([1-9]%d*)$")
    local known = whom == "holder" or number and number >= 1 and number <= servers
    if known and OF_SERVERS[kind] then return nil end
    local servers_too = OF_SERVERS[kind]
        and ("\"holder\", \"server 1\" to \"server %d\" and "):format(servers) or ""
    return ("a %s cannot strike %s: it strikes %s\"zookeeper\""):format(kind, show(whom),
        servers_too)
end


local function wrong_fields(given, kind, servers, strategy)
    if not kind then return "a fault has one of " .. table.concat(KINDS, ", ") end
    if (LASTING[kind] ~= nil) ~= (given.length ~= nil) then
        return "a stop, a pause and a cut have a length, and nothing else has one"
    end
    if kind ~= "run" and (given.what ~= nil or given.where ~= nil) then
        return "only a run has what and where"
    end
    if kind == "run" then return wrong_run(given) end
    if kind == "switch" then return wrong_switch(given, strategy) end
    if given[kind] ~= "zookeeper" and given.held ~= nil then
        return "no fault of a server has held"
    end
    return wrong_target(kind, given[kind], servers)
end


---@class zklock.seckill.Action  of a fault that is no signal
---@field run fun(play, number: integer?)  begins it
---@field finish fun(play, number: integer?)?  ends it after its length
---@field effect string?  shared with the faults that `finish` would end, too
---@field what string
---@field where string?   nil: the server

local function zookeeper_action(kind)
    local function call(method)
        return method and function(play) play.own_zookeeper[method](play.own_zookeeper) end
    end
    local begin, finish = OF_ZOOKEEPER[kind][1], OF_ZOOKEEPER[kind][2]
    return {
        run = call(begin), finish = call(finish), effect = begin,
        what = kind, where = "zookeeper",
    }
end


local CUT = { what = "cut", effect = "cut" } -- of a server

function CUT.run(play, number) play.relays[number]:cut() end

function CUT.finish(play, number) play.relays[number]:lead_to(play.own_zookeeper.hosts) end


local function switch_action(engine, strategy)
    return {
        run = function(play) strategy.switch(play, engine) end, where = "cerberus_engine",
        what = "switch to " .. (engine == "" and "the next" or engine),
    }
end


-- Returns an empty table if the fault is a signal.
---@return zklock.seckill.Action
local function action_of(given, kind, strategy)
    if kind == "run" then return { run = given.run, what = given.what, where = given.where } end
    if kind == "switch" then return switch_action(given.switch, strategy) end
    if given[kind] == "zookeeper" then return zookeeper_action(kind) end
    return kind == "cut" and CUT or {}
end


local function one_fault(given, servers, strategy)
    local function refuse_fault(problem) refuse("%s; %s", problem, FORM) end
    if type(given) ~= "table" then refuse_fault("a fault cannot be " .. show(given)) end
    for field in pairs(given) do
        if not FIELDS[field] then refuse_fault("a fault has no " .. show(field)) end
    end
    local at, length = option.seconds(given, "at", 0), option.seconds(given, "length")
    local held = option.flag(given, "held", false)
    local kind = kind_of(given)
    local problem = wrong_fields(given, kind, servers, strategy)
    if problem then refuse_fault(problem) end
    local action = action_of(given, kind, strategy)
    return {
        at = at, stop = not action.run and given.stop or nil,
        kill = not action.run and given.kill or nil,
        cut = kind == "cut" and given.cut ~= "zookeeper" and given.cut or nil,
        length = length, held = held or given.cut == "holder",
        run = action.run, finish = action.finish, effect = action.effect,
        what = action.what, where = action.where,
        zookeeper_kind = action.where == "zookeeper" and kind ~= "run" and kind or nil,
    }
end


---@param given any       the option
---@param servers integer
---@param strategy table
---@return table[]
function fault_options.read(given, servers, strategy)
    if given == nil then return {} end
    if type(given) ~= "table" then
        refuse("faults must be a list, not %s; %s", show(given), FORM)
    end
    for key in pairs(given) do
        if type(key) ~= "number" or key % 1 ~= 0 or key < 1 or key > #given then
            refuse("faults must be a list of faults, and it has %s; %s", show(key), FORM)
        end
    end
    local list = {}
    for i, each in ipairs(given) do list[i] = one_fault(each, servers, strategy) end
    return list
end


return fault_options
