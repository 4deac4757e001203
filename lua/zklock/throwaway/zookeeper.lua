--- Throwaway ZooKeepers, one or three. zookeeper.sh starts them, and ends them when this process is
-- gone.

local clocks = require "zklock.throwaway.clock"
local dependency = require "zklock.system.dependency"
local missing = require "zklock.system.missing"
local reapers = require "zklock.system.reaper"
local relay = require "zklock.throwaway.relay"
local shell = require "zklock.system.shell"
local wait_for = require "zklock.throwaway.wait_for"
local zklock = require "zklock"


local TICK = 200 -- milliseconds; a session lasts two of them at least
local READY = 30 -- seconds
local ANSWER = 10


local SCRIPT = debug.getinfo(1, "S").source:match "^@(.*)zookeeper%.lua$" .. "zookeeper.sh"


---@class zklock.throwaway.ZooKeeper
---@field hosts string     addresses, with commas
---@field addresses string[]
---@field folder string
---@field clock zklock.throwaway.Clock?
---@field relays zklock.throwaway.Relay[]?  in front of the servers
---@field killed table<integer, boolean>
local ZooKeeper = {}
ZooKeeper.__index = ZooKeeper


local zookeeper = {}


local function run(log, environment, ...)
    local pipe = assert(io.popen(("%s sh %s %s 2>%s"):format(environment, shell.quote(SCRIPT),
        table.concat({ ... }, " "), shell.quote(log))))
    local answer = pipe:read "*a"
    pipe:close()
    return answer
end


-- The value of a line as a shell reads it.
local function value(answer, name)
    local quoted = answer:match(name .. "='([^\n]*)'\n")
    return quoted and quoted:gsub([['\'']], "'")
end


local function with_clock(clock)
    return clock and ("PATH=%s:$PATH"):format(shell.quote(
        clock:program "java":match "^(.*)/")) or ""
end


local function start_relays(self, reaper)
    local hosts = {}
    self.relays = {}
    for number, address in ipairs(self.addresses) do
        self.relays[number] = relay.start(reaper, address)
        hosts[number] = self.relays[number].address
    end
    self.hosts = table.concat(hosts, ",")
end


---@param reaper zklock.system.Reaper
---@param options { servers: 1|3|nil, clock: boolean?, relays: boolean? }?  clock: may jump
---@return zklock.throwaway.ZooKeeper
function zookeeper.start(reaper, options)
    options = options or {}
    local clock = options.clock and clocks.new(reaper) or nil
    local log = reaper.folder .. "/zookeeper.log"
    local answer = run(log, with_clock(clock), "start", "-n", options.servers or 1, "-t", TICK,
        "-w $PPID")
    local hosts = value(answer, "hosts")
    if not hosts then
        missing.raise(("no ZooKeeper could be started (%s): apt install zookeeper, or give "
            .. "zookeeper = \"HOST:PORT\""):format(
            shell.first_line("tail -1 " .. shell.quote(log)) or "no message"))
    end
    local addresses = {}
    for address in hosts:gmatch "[^,]+" do addresses[#addresses + 1] = address end
    local self = setmetatable({
        hosts = hosts, addresses = addresses, folder = value(answer, "dir"), clock = clock,
        killed = {},
    }, ZooKeeper)
    if options.relays then start_relays(self, reaper) end
    return self
end


---@param number integer
---@param word string
---@return string?
function ZooKeeper:ask(number, word)
    local host, port = self.addresses[number]:match "^(.*):(%d+)$"
    local socket = dependency.load "socket".connect(host, port)
    if not socket then return nil end
    socket:settimeout(ANSWER)
    socket:send(word)
    local answer = socket:receive "*a"
    socket:close()
    return answer
end


---@return integer?
function ZooKeeper:leader()
    for number in ipairs(self.addresses) do
        local answer = self:ask(number, "srvr")
        if answer and answer:find "Mode: leader" then return number end
    end
end


-- The script says why it fails.
local function tell(self, verb, number)
    local command = ("sh %s %s %s %s >/dev/null"):format(shell.quote(SCRIPT), verb,
        shell.quote(self.folder), number or "")
    if not shell.succeeds(command) then error("zookeeper.sh " .. verb .. " failed", 0) end
end


---@param number integer?  default: 1
function ZooKeeper:kill(number)
    self.killed[number or 1] = true
    tell(self, "kill", number or 1)
end


--- Restarts a server with its data. Returns when it serves or, without a quorum, answers.
---@param number integer?
function ZooKeeper:restart(number)
    tell(self, "restart", number or 1)
    self.killed[number or 1] = nil
end


local function signal(self, number, name)
    local pid = ("%s/%d/pid"):format(shell.quote(self.folder), number or 1)
    shell.succeeds(("kill -%s $(cat %s) 2>/dev/null"):format(name, pid))
end


--- Stops a server (SIGSTOP). Its connections stay open, but it does not answer.
---@param number integer?
function ZooKeeper:pause(number) signal(self, number, "STOP") end

---@param number integer?
function ZooKeeper:resume(number) signal(self, number, "CONT") end


local function relay_of(self, number)
    if not self.relays then error("this ZooKeeper was started without relays", 0) end
    return self.relays[number or 1]
end


--- Cuts a server off from its clients. Present and new connections end.
---@param number integer?
function ZooKeeper:cut(number) relay_of(self, number):cut() end

---@param number integer?
function ZooKeeper:heal(number) relay_of(self, number):lead_to(self.addresses[number or 1]) end


function ZooKeeper:mend()
    for number in ipairs(self.addresses) do
        if self.killed[number] then self:restart(number) end
    end
end


---@return integer killed
---@return integer leader
function ZooKeeper:kill_leader()
    local killed = wait_for(function() return self:leader() end, READY)
    if not killed then error("no ZooKeeper leads", 0) end
    self:kill(killed)
    local leader = wait_for(function() return self:leader() end, READY)
    if not leader then error("no other ZooKeeper came to lead", 0) end
    return killed, leader
end


--- Seconds by the server's wall clock, which shows in the start of a new session.
---@return number
function ZooKeeper:time()
    local session, message = zklock.connect(self.addresses[1])
    if not session then error(message, 0) end
    local latest = 0
    for est in (self:ask(1, "cons") or ""):gmatch "est=(%d+)" do
        latest = math.max(latest, tonumber(est) / 1000)
    end
    session:close()
    return latest
end


function ZooKeeper:close()
    for _, each in ipairs(self.relays or {}) do each:close() end
    self.relays = nil
    tell(self, "stop")
end


function zookeeper.with(fn)
    local reaper, started = reapers.open(), nil
    local ok, result = pcall(function()
        started = zookeeper.start(reaper)
        return fn(started.hosts)
    end)
    reaper:close()
    if started then started:close() end
    if not ok then error(result, 0) end
    return result
end


return zookeeper
