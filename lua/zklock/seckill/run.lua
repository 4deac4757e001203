--- A run: one attempt at a scenario, and the sales that it makes. They have the command's options
--- where the scenario gives none, and share their throwaway servers.

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


-- Seconds: the session timeout of a sale without faults, which waits for no session's end. It
-- outlasts what a busy machine does to a process.
local CALM = 20

--- Carries out a sale.
---@param options table  of seckill.sale
---@return zklock.seckill.Sale
function Run:sale(options)
    local own = self.options
    local all = {
        pause = own.pause, zookeeper = own.zookeeper, lua = own.lua, quiet = true,
        session = options.faults and own.session or math.max(own.session, CALM),
    }
    for name, value in pairs(options) do all[name] = value end
    return seckill.sale(all, self.throwaway)
end


--- The session timeout that the server grants.
function Run:session_timeout()
    local options = self.options
    local session = assert(zklock.connect(options.zookeeper, { timeout = options.session }))
    local granted = session:timeout()
    session:close()
    return granted
end


--- A sale ends its own processes.
function Run.close() end


return run
