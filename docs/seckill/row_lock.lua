--- A strategy of one's own: a lock is a row of an SQLite file, which only one can insert.

local core = require "zklock.core" -- has the clock
local sqlite = require("luasql.sqlite3").sqlite3()
local zklock = require "zklock"

local RowLock = {}
RowLock.__index = RowLock


function RowLock.open(server)
    local database = assert(sqlite:connect(server.folder .. "/locks.db"))
    database:execute "CREATE TABLE IF NOT EXISTS held (name text PRIMARY KEY)"
    return setmetatable({ database = database, timeout = server.timeout }, RowLock)
end


function RowLock:enter(lock, _, wish)
    local due = core.now() + (wish and wish.timeout or self.timeout)
    while not self.database:execute(("INSERT INTO held VALUES ('%s')"):format(lock)) do
        if core.now() > due then return nil, "waited too long for the row", "timeout" end
        zklock.sleep(0.005)
    end
    return lock
end


function RowLock:leave(lock)
    while not self.database:execute(("DELETE FROM held WHERE name = '%s'"):format(lock)) do
        zklock.sleep(0.005)
    end
end


return RowLock
