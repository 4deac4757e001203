--- A Redis master and its replica. Clients use the address of a relay, which leads to the replica
--- after its promotion. A second relay can cut the replica off from the master.
---
---     local pair = redis_pair.start(reaper)
---     pair:cut()              -- later writes do not reach the replica
---     pair:kill_master()
---     pair:promote()          -- the replica is master, without those writes

local redis = require "zklock.seckill.throwaway.redis"
local relays = require "zklock.throwaway.relay"
local wait_for = require "zklock.throwaway.wait_for"


local READY = 30 -- seconds until the replica must follow the master


---@class zklock.seckill.throwaway.RedisPair
---@field address string  for clients
---@field master zklock.seckill.throwaway.Redis
---@field replica zklock.seckill.throwaway.Redis
---@field door zklock.throwaway.Relay  from clients to the master
---@field link zklock.throwaway.Relay  from the replica to the master
local Pair = {}
Pair.__index = Pair


local redis_pair = {}


local function replication(address) return redis.ask(address, "info", "replication").replication end


-- The first sync goes by way of the disk, because a diskless sync begins only a second after the
-- replica reports to the master.
local function start_servers(reaper)
    local master = redis.start(reaper, { arguments = { "--repl-diskless-sync", "no" } })
    local link = relays.start(reaper, master.address)
    local replica = redis.start(reaper, { arguments = {
        "--replicaof", "127.0.0.1", link.address:match "%d+$",
        "--repl-diskless-load", "on-empty-db",
    } })
    return master, link, replica
end


--- Returns when the replica follows the master.
function redis_pair.start(reaper)
    local master, link, replica = start_servers(reaper)
    local self = setmetatable({
        master = master, link = link, replica = replica,
        door = relays.start(reaper, master.address),
    }, Pair)
    self.address = self.door.address
    if not wait_for(function() return self:is_online() end, READY) then
        error("the Redis replica does not reach its master", 0)
    end
    return self
end


function Pair:is_online()
    local replica = replication(self.master.address).slave0
    return replica ~= nil and replica:find "state=online" ~= nil
end


--- Waits until the replica has all writes; false after the limit.
---@param limit number  seconds
---@return boolean
function Pair:replicated(limit)
    return wait_for(function()
        return replication(self.master.address).master_repl_offset
            == replication(self.replica.address).slave_repl_offset
    end, limit) == true
end


function Pair:cut() self.link:cut() end


function Pair:kill_master() self.master.process:kill() end


function Pair:promote()
    redis.ask(self.replica.address, "slaveof", "no", "one")
    self.door:lead_to(self.replica.address)
end


function Pair:close()
    if self.master.process:lives() then self.master.process:kill() end
    self.replica.process:kill()
    self.link:close()
    self.door:close()
end


return redis_pair
