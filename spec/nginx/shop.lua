--- The servers of a shop of examples/nginx: a ZooKeeper and a MariaDB, with the example's tables
-- and a folder for its workers' recovery files.

local database = require "zklock.seckill.database"
local files = require "spec.files"
local mariadb = require "zklock.seckill.throwaway.mariadb"
local reapers = require "zklock.system.reaper"
local rig = require "spec.rig"

local shop = {}
shop.__index = shop


--- Opens the servers for the example in that folder. Returns { server, url and db of its database,
-- environment for nginx }.
function shop.open(example)
    local server, reaper = rig.server{ tick = 2000 }, reapers.open()
    local url = mariadb.start(reaper):gsub("/%?", "/shop?")
    rig.shell("chmod 755 %s", reaper.folder) -- the workers run as another user
    local folder = rig.shell "mktemp -d /dev/shm/zklock-XXXXXX":match "%S+"
    rig.shell("chown nobody %s", folder)
    database.create(url)
    local db = database.open(url)
    for statement in files.read(example .. "/schema.sql"):gmatch "([^;]+);" do
        db:execute(statement)
    end
    local environment = ("ZK_HOSTS=%s DB_SOCKET=%s RECOVER=%s"):format(
        server.hosts, database.parts(url).socket, folder)
    return setmetatable({ server = server, reaper = reaper, folder = folder, url = url, db = db,
                          environment = environment }, shop)
end


function shop:close()
    self.db:close()
    self.reaper:close()
    rig.shell("rm -rf %s", self.folder)
    self.server:stop()
end


return shop
