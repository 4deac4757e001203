--- A run is one attempt at a scenario. Its sales take their defaults from the command's options,
--- and share throwaway servers.

local seckill = require "zklock.seckill"
local zklock = require "zklock"


---@class zklock.seckill.Run
---@field options zklock.seckill.Options
---@field throwaway zklock.seckill.Throwaway
local Run = {}
Run.__index = Run


local run = {}


function run.open(_, options)
    return setmetatable({ options = options, throwaway = options.throwaway }, Run)
end


-- Least session timeout in seconds for sales without faults. It outlasts delays of a busy machine.
local CALM_SESSION = 20

---@param options table  options of seckill.sale
---@return zklock.seckill.Sale
function Run:sale(options)
    local own = self.options
    local all = {
        pause = own.pause, zookeeper = own.zookeeper, lua = own.lua, quiet = true,
        session = options.faults and own.session or math.max(own.session, CALM_SESSION),
    }
    for name, value in pairs(options) do all[name] = value end
    return seckill.sale(all, self.throwaway)
end


function Run:session_timeout()
    local options = self.options
    local session = assert(zklock.connect(options.zookeeper, { timeout = options.session }))
    local granted = session:timeout()
    session:close()
    return granted
end


--- Nothing to do, because a sale ends its own processes.
function Run.close() end


return run
