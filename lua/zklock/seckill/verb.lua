--- The verb `zklock seckill`, the command line of the flash-sale laboratory.

local connect = require "zklock.command.connect"
local missing = require "zklock.system.missing"
local refusal = require "zklock.command.refusal"

local error, pcall, require = error, pcall, require

local seckill = {
    summary = "The flash-sale laboratory.",
    description = "The options of the laboratory stand behind this verb: zklock seckill --help. "
        .. "Without --hosts and ZK_HOSTS it starts a ZooKeeper of its own where one is needed.",
    tail = "all",
}


function seckill.describe(parser)
    parser:argument "OPTION":argname "OPTION":args "*"
end


--- Declares the laboratory's options for completion by shells. Raises an error in a Lua that cannot
--- load the laboratory.
function seckill.describe_tail(parser)
    require("zklock.seckill.command_line").describe(parser, require "zklock.seckill.environment")
end


local function with_zookeeper(words, hosts)
    local all = { "--zookeeper", hosts }
    for i, word in ipairs(words) do all[i + 2] = word end
    return all
end


local function sell(laboratory, given, out, err)
    local words = given.tail
    if given.named then words = with_zookeeper(words, connect.hosts(given)) end
    if not laboratory.lacks_zookeeper(words) then return laboratory.main(words, out, err) end
    local ok, result = pcall(require("zklock.throwaway.zookeeper").with, function(hosts)
        return laboratory.main(with_zookeeper(words, hosts), out, err)
    end)
    if ok then return result end
    if missing.is(result) then refusal.raise(laboratory.MISSING, "%s", result) end
    error(result, 0)
end


function seckill.run(given, out, err)
    local laboratory = require "zklock.seckill.laboratory" -- large, and some Luas cannot load it
    local result = sell(laboratory, given, out, err)
    if result == laboratory.INTERRUPTED then refusal.raise_signal(2) end
    return result
end


return seckill
