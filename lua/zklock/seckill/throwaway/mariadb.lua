--- A throwaway MariaDB in a folder of the run, with a socket in that folder. It ends with the
--- reaper.

local core = require "zklock.core"
local database = require "zklock.seckill.database"
local missing = require "zklock.system.missing"
local process = require "zklock.system.process"
local shell = require "zklock.system.shell"
local zklock = require "zklock"


-- Seconds
local READY = 30 -- until it must answer
local POLL = 0.05 -- between attempts to connect

-- An empty folder is enough, because without privilege tables no account is needed. No other user
-- can reach the socket in the folder.
local SERVER = [[mkdir -p "$0/data" && exec mariadbd --no-defaults --user="$(id -un)" \
    --datadir="$0/data" --socket="$0/socket" --pid-file="$0/pid" --skip-networking \
    --skip-grant-tables --skip-name-resolve --max-connections=50 \
    --innodb-flush-log-at-trx-commit="$1" --innodb-doublewrite="$2" \
    --innodb-buffer-pool-size=32M --performance-schema=OFF >"$0/log" 2>&1]]

-- Settings for flushing the log and for writing pages twice. A quick server's data need not survive
-- a power failure. A durable server uses MariaDB's defaults.
local QUICK, DURABLE = { "2", "0" }, { "1", "1" }


local mariadb = {}


local function url_of(folder)
    return ("mysql://root:@localhost/?socket=%s/socket"):format(database.encoded(folder))
end


local function wait_until_ready(folder, running)
    local url = url_of(folder)
    local due = core.now() + READY
    repeat
        local ok, connection = pcall(database.open, url)
        if ok then
            connection:close()
            return url
        end
        zklock.sleep(POLL)
    until core.now() > due or not running:lives()
    error("MariaDB did not start: " .. (shell.first_line(
        ("grep -m1 ERROR %s/log"):format(shell.quote(folder))) or "its log is silent"), 0)
end


--- Starts a server, with its earlier data if it ran before.
---@param reaper zklock.system.Reaper
---@param options { name: string?, durable: boolean? }?  name: of its folder; durable: commits wait
---for the disk
---@return string url
---@return zklock.system.Process process
function mariadb.start(reaper, options)
    if shell.succeeds "! command -v mariadbd >/dev/null" then
        missing.raise("no MariaDB could be started: apt install mariadb-server, or give mysql = "
            .. "\"mysql://USER:PASSWORD@HOST:PORT\"")
    end
    options = options or {}
    local folder = reaper.folder .. "/" .. (options.name or "mariadb")
    local settings = options.durable and DURABLE or QUICK
    local running = process.start("MariaDB",
        { "sh", "-c", SERVER, folder, settings[1], settings[2] }, nil, reaper)
    return wait_until_ready(folder, running), running
end


return mariadb
