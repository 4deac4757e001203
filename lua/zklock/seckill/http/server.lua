--- Starts an nginx of the sale, asks for its state, and kills all its processes.

local client = require "zklock.seckill.http.client"
local conf = require "zklock.seckill.http.conf"
local core = require "zklock.core"
local dependency = require "zklock.system.dependency"
local process = require "zklock.system.process"
local shell = require "zklock.system.shell"
local zklock = require "zklock"


local WORKERS = 2 -- processes; a lock may exclude workers of a server, but not other servers
local LIMIT, PAUSES = 60, 150 -- a server is ended in any case after LIMIT seconds and PAUSES pauses
local READY = 30 -- seconds until a server must be ready, or quiet after a sale
local POLL = 0.02 -- seconds between requests for its state


---@class zklock.seckill.http.Server
---@field port integer
---@field folder string   with its workers' records
---@field process zklock.system.Process?  nil after a kill
---@field killed_at number?  time by zklock's clock
---@field pids integer[]  of its workers
local Server = {}
Server.__index = Server


local server = { WORKERS = WORKERS }


-- If nginx could not even start, the log is empty and its output has the message.
local function first_complaint(folder)
    local complaint = shell.first_line(
        ([[cat %s/error.log %s/output 2>/dev/null | grep -m1 -E '\[(emerg|error)\]|not found']])
        :format(shell.quote(folder), shell.quote(folder)))
    return complaint and complaint:match "%[%l+%] (.*)" or complaint
end


---@param folder string  to create for the server
---@param port integer
---@param options table<string, any>  for the app: name, store, strategy, pause, root, …
---@param reaper zklock.system.Reaper
---@return zklock.seckill.http.Server
function server.start(folder, port, options, reaper)
    assert(shell.succeeds("mkdir " .. shell.quote(folder)))
    local file = assert(io.open(folder .. "/conf", "w"))
    local user = shell.first_line "id -u" == "0" and "root" or nil
    file:write(conf.text(folder, port, WORKERS, user, options))
    file:close()
    local program = os.getenv "NGINX" or "nginx"
    return setmetatable({
        port = port, folder = folder, root = options.root, pids = {}, reaper = reaper,
        process = process.start("nginx on port " .. port, { "sh", "-c",
            -- nginx would take sockets to inherit from the variable NGINX.
            ('unset NGINX; exec %s -p "$0" -c conf -e error.log >"$0/output" 2>&1')
                :format(shell.quote(program)),
            folder }, math.ceil(LIMIT + PAUSES * options.pause), reaper),
    }, Server)
end


-- The server's answer to /mall/state; nil without an answer, or if another run's server answers.
function Server:state()
    local status, body = client.once(self.port, "GET", "/mall/state")
    local state = status == 200 and dependency.load("dkjson").decode(body)
    return state and state.root == self.root and state or nil
end


function Server:await(what, is_wanted)
    local due = core.now() + READY
    repeat
        local state = self:state()
        if state and is_wanted(state) then return state end
        zklock.sleep(POLL)
    until core.now() > due or not self.process:lives()
    error(("nginx on port %d is not %s: %s"):format(self.port, what,
        first_complaint(self.folder) or "its log is silent"), 0)
end


function Server:await_ready()
    self.pids = self:await("ready", function(state) return #state.pids == WORKERS end).pids
    for _, pid in ipairs(self.pids) do self.reaper:hold(tostring(pid)) end
end


--- Waits until no purchase is under way, so that the store shows the final result.
function Server:await_quiet()
    self:await("quiet", function(state) return state.inside == 0 end)
end


--- kill -9. The master is first, because it would restart workers. If the workers are not known
--- yet, SIGTERM to the master ends them.
function Server:kill()
    local running = self.process
    if not running then return end
    self.process, self.killed_at = nil, core.now()
    if self.pids[1] then
        shell.succeeds(("kill -KILL %s %s 2>/dev/null"):format(running.pid,
            table.concat(self.pids, " ")))
    else
        shell.succeeds(("kill -TERM %s 2>/dev/null"):format(running.pid))
    end
    running:finish()
    for _, pid in ipairs(self.pids) do self.reaper:let_go(tostring(pid)) end
end


return server
