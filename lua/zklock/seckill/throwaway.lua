--- What sales are made with and what ends with them: a folder, processes, and servers of
--- ZooKeeper, MariaDB and Redis where the user names none. Each is started when it is first
--- needed, and serves all sales after that.

local mariadb = require "zklock.seckill.mariadb"
local reapers = require "zklock.seckill.reaper"
local redis = require "zklock.seckill.redis"
local shell = require "zklock.seckill.shell"


local TICK = 200 -- milliseconds; a session lasts two of them at least

-- Beside this file.
local SCRIPT = debug.getinfo(1, "S").source:match "^@(.*)throwaway%.lua$" .. "zookeeper.sh"


---@class zklock.seckill.Throwaway
---@field reaper zklock.seckill.Reaper
---@field folder string
local Throwaway = {}
Throwaway.__index = Throwaway


local throwaway = {}


---@param reaper zklock.seckill.Reaper?  default: of its own
---@return zklock.seckill.Throwaway
function throwaway.open(reaper)
    reaper = reaper or reapers.open()
    return setmetatable({ reaper = reaper, folder = reaper.folder, redis_servers = {} },
        Throwaway)
end


-- The script stops the server when this process is no more.
function Throwaway:start_zookeeper()
    local log = self.folder .. "/zookeeper.log"
    local pipe = assert(io.popen(("sh %s start -t %d -w $PPID 2>%s"):format(shell.quote(SCRIPT),
        TICK, shell.quote(log))))
    local answer = pipe:read "*a"
    pipe:close()
    local folder, hosts = answer:match "dir=(%S+)", answer:match "hosts=(%S+)"
    if not hosts then
        error(("no ZooKeeper could be started (%s): apt install zookeeper, or give zookeeper = "
            .. "\"HOST:PORT\""):format(shell.first_line("tail -1 " .. shell.quote(log)) or
            "no message"), 0)
    end
    self.zookeeper_folder = folder:gsub("^'(.*)'$", "%1")
    return (hosts:gsub("^'(.*)'$", "%1"))
end


--- The address of a ZooKeeper.
---@return string hosts
function Throwaway:zookeeper()
    self.zookeeper_hosts = self.zookeeper_hosts or self:start_zookeeper()
    return self.zookeeper_hosts
end


--- The URL of a MariaDB.
---@return string url
function Throwaway:mysql()
    if not self.mysql_url then
        if not shell.succeeds "command -v mariadbd >/dev/null" then
            error("no MariaDB could be started: apt install mariadb-server, or give mysql = "
                .. "\"mysql://USER:PASSWORD@HOST:PORT\"", 0)
        end
        self.mysql_url = mariadb.start(self.reaper)
    end
    return self.mysql_url
end


--- The addresses of so many Redis servers.
---@param count integer
---@return string addresses  "HOST:PORT,HOST:PORT"
function Throwaway:redis(count)
    local servers, addresses = self.redis_servers, {}
    for i = 1, count do
        servers[i] = servers[i] or redis.start(self.reaper)
        addresses[i] = servers[i].address
    end
    return table.concat(addresses, ",")
end


--- Ends all of it.
function Throwaway:close()
    self.reaper:close()
    if self.zookeeper_folder then
        shell.succeeds(("sh %s stop %s"):format(shell.quote(SCRIPT),
            shell.quote(self.zookeeper_folder)))
        self.zookeeper_folder = nil
    end
end


return throwaway
