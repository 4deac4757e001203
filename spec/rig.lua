--- Real servers, a fault proxy, child processes, and waiting with a deadline, for all specs. All
-- that starts here ends with this process, however it ends.

local apart = require "spec.apart"
local core = require "zklock.core"
local files = require "spec.files"
local current = require "zklock.world.current"
local runtime = require "zklock.waiting.runtime"
local zklock = require "zklock"

local now = runtime.now
local unpack = table.unpack or unpack -- luacheck: globals unpack

local rig = {}
local opened = {} -- sessions
local proxies, servers = {}, {} -- of the running test
local folders = { os.getenv "ZK_DIR" } -- of the started servers

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local PROXY = os.getenv("ZKLOCK_PROXY") or "build/rig/proxy"


local function own_pid()
    local stat = assert(io.open("/proc/self/stat"))
    local pid = stat:read("*n")
    stat:close()
    return pid
end

rig.pid = own_pid()


--- Whether the shared server is in memory (see rig.shared).
rig.in_memory = os.getenv("ZKLOCK_SERVER") == "memory"


-- Ends a test that needs a real server and lacks the tag #server.
local function needs_server(what)
    error(what .. " needs a real server: tag the test #server", 0)
end


function rig.shell(command, ...)
    local pipe = assert(io.popen(command:format(...)))
    local output = pipe:read("*a")
    pipe:close()
    return output
end


local LONG = 30 -- seconds; the default deadline


--- Waits until condition() is true, `seconds` at most, and returns its result. Other tasks and
-- callbacks run meanwhile.
function rig.eventually(condition, seconds)
    local deadline = now() + (seconds or LONG)
    repeat
        local result = condition()
        if result then return result end
        zklock.sleep(0.01)
    until now() > deadline
    return condition()
end


--- Returns the true result of condition(), or raises after `seconds`.
function rig.wait_for(what, condition, seconds)
    local result = rig.eventually(condition, seconds)
    if not result then error("waited in vain: " .. what, 2) end
    return result
end


--- Sleeps without dispatching.
function rig.sleep_apart(seconds)
    if not current.world() then return core.sleep(seconds) end
    apart(function() zklock.sleep(seconds) end)
end


--- Is wait_for() without dispatching.
function rig.wait_apart(what, condition)
    local deadline = now() + LONG
    while not condition() do
        if now() > deadline then error("waited in vain: " .. what, 2) end
        rig.sleep_apart(0.01)
    end
end


-- The thread states that these signals lead to.
local AFTER = { STOP = "TtZ", KILL = "ZX" }

--- Sends a signal, and returns once the process has stopped (STOP) or is dead (KILL).
function rig.signal(name, pid)
    os.execute(("kill -%s %d 2>/dev/null"):format(name, pid))
    if not AFTER[name] then return end
    rig.wait_apart(name .. " does its work", function()
        local threads = rig.shell("cat /proc/%d/task/*/stat 2>/dev/null", pid)
        return not threads:find("%) [^" .. AFTER[name] .. "]")
    end)
end


--- Seconds that a difference of two times may lose by rounding.
rig.ROUNDED = 2e-9

--- Returns the seconds that fn(...) takes, then its results.
function rig.timed(fn, ...)
    local begin = now()
    local function finish(...)
        return now() - begin + rig.ROUNDED, ...
    end
    return finish(fn(...))
end


--- Returns the results of fn(...), which must take from `least` to less than `most` seconds.
function rig.takes(least, most, fn, ...)
    local function judge(seconds, ...)
        if seconds < least or seconds >= most then error(("it took %.2f s"):format(seconds), 2) end
        return ...
    end
    return judge(rig.timed(fn, ...))
end


--- Runs `count` tasks fn(n), and each further function, in zklock.run().
function rig.run(count, fn, ...)
    local tasks = {}
    for n = 1, count do tasks[n] = function() return fn(n) end end
    for _, last in ipairs{ ... } do tasks[#tasks + 1] = last end
    zklock.run(unpack(tasks))
end


--- Returns a function alone(seconds) for tasks. It raises when another task is inside it.
function rig.alone()
    local inside = 0
    return function(seconds)
        inside = inside + 1
        if inside > 1 then error("two hold", 2) end
        zklock.sleep(seconds or 0.001)
        inside = inside - 1
    end
end


-- --- refusals -------------------------------------------------------------------

local function must_have(text, message, level)
    if text and not message:find(text, 1, true) then
        error(message .. "\nlacks: " .. text, level + 1)
    end
end


--- Checks a refusal (nil, message, code) for its code and a text in its message. Returns the
-- message.
function rig.check_refused(code, text, result, message, why)
    if result ~= nil then error("it is not refused: " .. tostring(result), 2) end
    if why ~= code then error(("%s, not %s: %s"):format(why, code, message), 2) end
    must_have(text, message, 2)
    return message
end


function rig.error_of(fn, ...)
    local ok, problem = pcall(fn, ...)
    if ok then error("it raises nothing", 2) end
    return problem
end


--- Checks that fn(...) raises a message that contains the text and blames the line of fn. Returns
-- the message without its position.
function rig.blames(text, fn, ...)
    local ok, message = pcall(fn, ...)
    if ok then error("it is not refused", 2) end
    local place = debug.getinfo(fn, "S")
    local source, line, rest = tostring(message):match("^(.-):(%d+): (.*)$")
    line = tonumber(line)
    if source ~= place.short_src or line < place.linedefined or line > place.lastlinedefined then
        error("it blames another line: " .. tostring(message), 2)
    end
    must_have(text, rest, 2)
    return rest
end


-- --- servers --------------------------------------------------------------------

local Server = {}
Server.__index = Server


--- Starts servers: { n = 1|3, tick = milliseconds, links = true, fsync = true, environment =
-- "NAME=value" }. With links, the servers of an ensemble can be cut off from each other.
function rig.server(options)
    if rig.in_memory then needs_server("rig.server()") end
    options = options or {}
    local output = rig.shell("%s rig/zookeeper start -w %d -n %d -t %d %s %s",
                             options.environment or "", rig.pid, options.n or 1,
                             options.tick or 200, options.links and "-l" or "",
                             options.fsync and "-f" or "")
    local self = setmetatable({}, Server)
    self.dir = assert(output:match("dir='([^']*)'"), "no server: " .. output)
    self.hosts = output:match("hosts='([^']*)'")
    folders[#folders + 1] = self.dir
    return self
end


function rig.server_logs()
    local logs = {}
    for _, folder in ipairs(folders) do
        for log in rig.shell("ls %s/[1-9]/log 2>/dev/null", folder):gmatch "[^\n]+" do
            logs[#logs + 1] = log
        end
    end
    return logs
end


--- Returns a server whose next node below the path gets this number.
function rig.server_at(path, number)
    local self = rig.server()
    self:kill()
    rig.shell("perl spec/fault/counter.pl %s/1/data %s %d", self.dir, path, number)
    self:restart()
    return self
end


--- Starts a server, or server_at(path, number). rig.close_sessions() stops it.
function rig.server_for_test(path, number)
    servers[#servers + 1] = path and rig.server_at(path, number) or rig.server()
    return servers[#servers]
end


--- Returns the address of server n, to connect to it alone.
function Server:host(n)
    local index = 0
    for host in self.hosts:gmatch("[^,]+") do
        index = index + 1
        if index == (n or 1) then return host end
    end
end


-- The methods of a Server in memory, for specs that need no real server.
local Memory = {}


function Memory.__index(_, name)
    return Memory[name] or needs_server("server:" .. name)
end


local NUMBER = ("%d"):rep(10)

-- Adds the lock nodes below a path, with and without a number (order = "none").
local function add_nodes(memory, path, nodes)
    for _, name in ipairs(memory:children(path) or {}) do
        local child = path .. "/" .. name
        if name:find("[-_]" .. NUMBER .. "$") or name == "lock" then nodes[#nodes + 1] = child end
        add_nodes(memory, child, nodes)
    end
end


function Memory:nodes(path)
    local nodes = {}
    add_nodes(self.memory, path, nodes)
    return nodes
end


local words_of = { create = 3, delete = 2, set = 3 } -- verb, path, data

-- Turns a command for foreign.pl into a list of writes for guard().
local function writes_of(command)
    local words, writes, at = {}, {}, 1
    for word in command:gmatch("%S+") do words[#words + 1] = (word:gsub("'", "")) end
    while words[at] do
        local count = words_of[words[at]] or needs_server("foreign " .. words[at])
        writes[#writes + 1] = { words[at], words[at + 1], count == 3 and words[at + 2] or nil }
        at = at + count
    end
    return writes
end


--- Makes a foreign client's writes, by a guard.
function Memory:foreign(command, ...)
    local writes = writes_of(command:format(...))
    apart(function()
        local lock = rig.session(self.hosts):mutex("/spec/foreign") -- keeps the tree
        assert(lock:with(20, function(lease) assert(lease:guard(writes)) end))
    end)
    local path = writes[#writes][2]
    return path, path:match("[^/]*$")
end


function Memory:wait_for_nodes(path, count)
    rig.wait_for(count .. " nodes", function() return #self:nodes(path) == count end)
end


function rig.memory(name)
    return setmetatable({ hosts = "memory:" .. name, memory = zklock.memory(name) }, Memory)
end


local has_parent = false

--- Returns the server that most specs share. `make test-lua` runs them under one.
function rig.shared()
    if rig.in_memory then return rig.memory "spec" end
    local hosts, dir = os.getenv("ZK_HOSTS"), os.getenv("ZK_DIR")
    if not hosts then error("run the specs with make test-lua, or under rig/zookeeper run --") end
    local server = setmetatable({ dir = dir, hosts = hosts }, Server)
    -- /spec is open to all, otherwise it would get the ACL of the first session that uses it.
    -- Created once a file, because that takes a process.
    if not has_parent then pcall(server.foreign, server, "create /spec ''") end
    has_parent = true
    return server
end


function Server:pid(n)
    local file = assert(io.open(("%s/%d/pid"):format(self.dir, n or 1)))
    local pid = file:read("*n")
    file:close()
    return pid
end


function Server:signal(name, n)
    rig.signal(name, self:pid(n))
end


function Server:pause(n) self:signal("STOP", n) end
function Server:resume(n) self:signal("CONT", n) end
function Server:kill(n) rig.shell("rig/zookeeper kill %s %d", self.dir, n or 1) end
function Server:restart(n) rig.shell("rig/zookeeper restart %s %d", self.dir, n or 1) end
--- Starts server n unless it runs, without waiting for it.
function Server:launch(n) rig.shell("rig/zookeeper launch %s %d", self.dir, n) end
function Server:stop() rig.shell("rig/zookeeper stop %s", self.dir) end


local function tell_links(server, verb, n)
    local answer = rig.shell("rig/zookeeper %s %s %d 2>&1 && echo done", verb, server.dir, n)
    if answer ~= "done\n" then error(answer, 3) end
end


--- Cuts server n off from the other servers, both ways; clients still reach it. With "reset" (the
-- default) its connections break. With "silence" nothing passes, and the server serves its clients
-- until it notices.
function Server:isolate(n, how)
    tell_links(self, how == "silence" and "silence" or "cut", n)
end


--- Ends isolate(). Bytes kept back by a silence arrive.
function Server:rejoin(n) tell_links(self, "heal", n) end


--- Returns the number of the server that says it leads, or nil.
function Server:leader()
    for n = 1, select(2, self.hosts:gsub("[^,]+", "")) do
        if self:ask("srvr", n):find("Mode: leader") then return n end
    end
end


--- Returns the server's answer to a four-letter word, "" after 10 s of silence.
function Server:ask(word, n)
    local connection = assert(require("socket").tcp())
    connection:settimeout(10)
    local host, port = self:host(n):match("^(.*):(%d+)$")
    if connection:connect(host, port) then
        connection:send(word)
        connection:shutdown("send")
    end
    local answer, _, part = connection:receive("*a")
    connection:close()
    return answer or part or ""
end


--- Returns the ephemeral nodes under a path, as the server lists them. The list may show half a
-- transaction: 2 of 100 lists beside a busy writer did.
function Server:nodes(path)
    local nodes = {}
    for line in self:ask("dump"):gmatch("[^\n]+") do
        local node = line:match("^%s+(/.*)$")
        if node and node:sub(1, #path + 1) == path .. "/" then nodes[#nodes + 1] = node end
    end
    return nodes
end


function Server:wait_for_nodes(path, count)
    rig.wait_for(count .. " nodes", function() return #self:nodes(path) == count end)
end


--- Makes a foreign client's writes, which may be refused; returns a line for each command (see
-- foreign.pl).
function rig.foreign(host, command, ...)
    return rig.shell("perl spec/foreign.pl %s " .. command .. " 2>&1", host, ...)
end


--- Is rig.foreign(), but raises a refusal. Returns the path and name of the last new node, if any.
function Server:foreign(command, ...)
    local output = rig.foreign(self:host(), command, ...)
    assert(not ("\n" .. output):find("\n[^o]"), output)
    return output:match(".*ok (/[^\n]-([^\n/]*))\n")
end


function Server:watches()
    return tonumber(self:ask("wchs"):match("Total watches:(%d+)"))
end


--- Waits until the server has `count` watches or fewer.
function Server:wait_for_watches(count)
    rig.wait_for(count .. " watches", function() return self:watches() <= count end)
end


-- --- programs that do as they are told ----------------------------------------------

local Servant = {}
Servant.__index = Servant

-- The running servants. Otherwise Lua's collector would wait in vain for the end of a servant that
-- a failed test forgot, because later processes hold its fifo open.
local running = {}


--- Starts a program that prints a greeting (see greet), then reads a command a line and answers
-- each with a line, "ok" or "ok ANSWER". It ends with this process.
function rig.servant(program)
    local fifo = os.tmpname()
    os.remove(fifo)
    rig.shell("mkfifo %s", fifo)
    local self = setmetatable({}, Servant)
    self.output = assert(io.popen(
        ("exec setpriv --pdeathsig KILL %s < %s"):format(program, fifo)))
    self.input = assert(io.open(fifo, "w"))
    self.input:setvbuf("no")
    os.remove(fifo)
    running[self] = true
    return self
end


function Servant:greet()
    self.greeting = self.greeting or self.output:read("*l")
    return self.greeting or error("it did not start", 2)
end


--- Sends a command without waiting for its answer.
function Servant:tell(text, ...)
    self.input:write(text:format(...), "\n")
end


function Servant:answer()
    local answer = self.output:read("*l") or "error: it ended"
    return answer:match("^ok ?(.*)$") or error(answer, 2)
end


function Servant:command(text, ...)
    self:tell(text, ...)
    return self:answer()
end


-- Says "quit", because later processes hold the fifo open, too.
function Servant:stop()
    if not running[self] then return end
    running[self] = nil
    self:command("quit")
    self.input:close()
    self.output:close()
end


-- --- the fault proxy ------------------------------------------------------------

local Proxy = setmetatable({}, Servant)
Proxy.__index = Proxy


--- Starts a proxy before a server; clients connect to proxy.hosts (see rig/proxy.c).
function rig.proxy(hosts)
    if rig.in_memory then needs_server("a proxy") end
    local self = setmetatable(rig.servant(PROXY .. " " .. hosts), Proxy)
    self.hosts = "127.0.0.1:" .. self:greet()
    return self
end


-- Cuts connections and delays answers on a server in memory, as a proxy does.
local MemoryProxy = {}
MemoryProxy.__index = MemoryProxy


local function memory_proxy(hosts)
    return setmetatable({ hosts = hosts, memory = zklock.memory(hosts:match "^memory:(.*)$"),
                          cut = {} }, MemoryProxy)
end


function MemoryProxy:command(text, ...)
    local verb, number = text:format(...):match("^(%l+) ?(%d*)$")
    if verb == "delay" then return self.memory:delay(tonumber(number) / 1000) end
    if verb ~= "accept" then needs_server("a proxy's " .. verb) end
    for _, session in ipairs(self.cut) do self.memory:heal(session) end
    self.cut = {}
end


function MemoryProxy:pass()
    self:command("accept")
    self:command("delay 0")
end


--- Starts a proxy that rig.close_sessions() stops after the sessions.
function rig.proxy_for_test(hosts)
    proxies[#proxies + 1] = rig.in_memory and memory_proxy(hosts) or rig.proxy(hosts)
    return proxies[#proxies]
end


--- Returns the number of requests of each kind since reset(): { create2 = 1, ... }.
function Proxy:counts()
    local counts = {}
    for name, count in self:command("counts"):gmatch("(%S+)=(%d+)") do
        counts[name] = tonumber(count)
    end
    return setmetatable(counts, { __index = function() return 0 end })
end


--- Returns counts() without the kinds that were not seen, and without pings, which come by time.
function Proxy:seen()
    local seen = {}
    for name, count in pairs(self:counts()) do
        if count > 0 and name ~= "ping" then seen[name] = count end
    end
    return seen
end


--- Returns the bytes of frames since reset(): to the server, to the clients.
function Proxy:bytes()
    local up, down = self:command("bytes"):match("^up=(%d+) down=(%d+)$")
    return tonumber(up), tonumber(down)
end


function Proxy:reset() self:command("reset") end


function Proxy:pass()
    self:command("accept")
    self:command("flow")
end


function Proxy:shut()
    self:command("refuse")
    self:command("cut")
end


--- Cuts the session off for good. Nothing is dispatched meanwhile.
function Proxy:break_off(session)
    self:shut()
    rig.wait_apart("suspended", function() return session:state() == "suspended" end)
end


function MemoryProxy:break_off(session)
    self.memory:cut(session)
    self.cut[#self.cut + 1] = session
    rig.wait_apart("suspended", function() return session:state() == "suspended" end)
end


--- Closes the rig's sessions first, while the proxy still answers them.
function Proxy:stop()
    self:pass()
    for _, session in ipairs(opened) do
        if session.hosts == self.hosts then session:close() end
    end
    Servant.stop(self)
end


--- Opens a session of the shared server that can be cut off: { session =, cut =, heal =, stop = }.
-- On a real server, a proxy does that.
function rig.fragile(server, options)
    if rig.in_memory then
        local session = rig.session(server.hosts, options)
        return { session = session, stop = function() session:close() end,
                 cut = function() server.memory:cut(session) end,
                 heal = function() server.memory:heal(session) end }
    end
    local proxy = rig.proxy_for_test(server.hosts)
    return { session = rig.session(proxy.hosts, options), stop = function() proxy:stop() end,
             cut = function() proxy:command("blackhole") end,
             heal = function() proxy:command("flow") end }
end


-- --- child processes --------------------------------------------------------------

local Child = {}
Child.__index = Child


local function literal_key(key)
    return type(key) == "number" and ("[%d]"):format(key) or ("[%q]"):format(key)
end


--- Returns a plain value, or a table of them, as Lua source.
function rig.literal(value)
    if type(value) == "string" then return ("%q"):format(value) end
    if type(value) ~= "table" then return tostring(value) end
    local items = {}
    for key, each in pairs(value) do
        items[#items + 1] = literal_key(key) .. " = " .. rig.literal(each)
    end
    return "{ " .. table.concat(items, ", ") .. " }"
end


--- Runs Lua source in a process of its own, with `zklock`, `HOSTS` and `say` (prints a line at
-- once) defined. child:line() reads a line that it says.
function rig.child(hosts, source)
    local prelude = ("local HOSTS = %q\nlocal zklock = require 'zklock'\n" ..
                     "local function say(...) print(...) io.stdout:flush() end\n"):format(hosts)
    local path = files.write(os.tmpname(), prelude .. source)
    local self = setmetatable({ path = path }, Child)
    self.output = assert(io.popen(
        ("echo $$; exec setpriv --pdeathsig KILL %s %s 2>&1"):format(LUA, path)))
    self.pid = self.output:read("*n", "*l")
    return self
end


function Child:line()
    return self.output:read("*l")
end


function Child:signal(name)
    rig.signal(name, self.pid)
end


--- Waits for the end; returns the rest of the output, and the exit status.
function Child:finish()
    local rest = self.output:read("*a")
    local ok, _, status = self.output:close()
    os.remove(self.path)
    return rest, status or (ok and 0 or nil)
end


-- --- sessions ------------------------------------------------------------------------

--- Opens a session that after_each() closes. By default its leases stay certain for ten seconds,
-- through the stops of a busy machine.
function rig.session(hosts, options)
    options = options or {}
    options.timeout = options.timeout or 20
    local session = assert(zklock.connect(hosts, options))
    opened[#opened + 1] = session
    return session
end


function rig.sessions(count, hosts, options)
    local list = {}
    for n = 1, count do list[n] = rig.session(hosts, options) end
    return list
end


--- Opens a session behind a proxy of the test's own; returns both.
function rig.behind_proxy(hosts, options)
    local proxy = rig.proxy_for_test(hosts)
    return rig.session(proxy.hosts, options), proxy
end


--- Waits until a session or a lease reports that state.
function rig.becomes(one, state, seconds)
    rig.wait_for(state, function() return one:state() == state end, seconds)
end


--- Waits until `count` acquires of the session wait; each part of a multi-lock counts.
function rig.wait_for_waits(session, count)
    rig.wait_for(count .. " waits", function() return session:stats().waits == count end)
end


--- Waits until every request of these sessions is answered.
function rig.settle(...)
    for _, session in ipairs{ ... } do
        rig.wait_for("all answers", function() return session:stats().in_flight == 0 end)
    end
end


--- Waits until the session's stats() match: { watches = 2, in_flight = 0 }.
function rig.wait_for_stats(session, expected)
    rig.wait_for(rig.literal(expected), function()
        local stats = session:stats()
        for name, count in pairs(expected) do
            if stats[name] ~= count then return false end
        end
        return true
    end)
end


--- Waits until these sessions know of everything at the server, and have called the callbacks for
-- it.
function rig.catch_up(...)
    for _, session in ipairs{ ... } do
        rig.wait_for("an answer", function() return session:get("/", 5) end)
        rig.settle(session)
        session:dispatch()
    end
end


--- Waits until these sessions have no claim and no request any more.
function rig.come_to_rest(...)
    for _, session in ipairs{ ... } do
        rig.wait_for("the session at rest", function()
            local stats = session:stats()
            return stats.claims == 0 and stats.in_flight == 0
        end)
    end
end


--- Ends all sessions, leases, proxies and servers that the test opened.
function rig.close_sessions()
    for _, proxy in ipairs(proxies) do
        if running[proxy] or rig.in_memory then proxy:pass() end
    end
    for _, session in ipairs(opened) do session:close() end
    for _, proxy in ipairs(proxies) do Servant.stop(proxy) end
    for _, server in ipairs(servers) do server:stop() end
    opened, proxies, servers, rig.kept = {}, {}, {}, {}
end


-- --- locks ---------------------------------------------------------------------------

local function mutex_with(given)
    return function(session, path, reentrant)
        local options = { reentrant = reentrant }
        for name, value in pairs(given) do options[name] = value end
        return session:mutex(path, options)
    end
end


local function side_of_rwlock(name)
    return function(session, path, reentrant)
        local rw = session:rwlock(path, { reentrant = reentrant })
        return rw[name](rw)
    end
end


--- The functions make(session, path, reentrant) by the kind of lock that they return. A semaphore
-- has one permit, and a multi-lock a second part below the path; both ignore `reentrant`.
rig.kinds = {
    ["a mutex"] = mutex_with{},
    ["a mutex in turns"] = mutex_with{ order = "turns" },
    ["an unfair mutex"] = mutex_with{ order = "none" },
    ["a kept mutex"] = mutex_with{ keep = 0.5 },
    ["a write lock"] = side_of_rwlock "write",
    ["a read lock"] = side_of_rwlock "read",
    ["a semaphore"] = function(session, path) return session:semaphore(path, 1) end,
    ["a multi-lock"] = function(session, path)
        return session:multi{ session:mutex(path), session:mutex(path .. "/second") }
    end,
    ["a multi-lock of one"] = function(session, path)
        return session:multi{ session:mutex(path) }
    end,
}

-- For a kind whose locks do not exclude each other, a kind that excludes them.
local KEPT_OUT_BY = { ["a read lock"] = "a write lock" }

--- Returns a lock for each session, which exclude each other, the second of that kind.
function rig.excluding(kind, first_session, second_session, path)
    local first_kind = KEPT_OUT_BY[kind] or kind
    return rig.kinds[first_kind](first_session, path), rig.kinds[kind](second_session, path)
end


-- --- news of nodes ---------------------------------------------------------------------

--- Watches a node. Returns a growing list of reports (data, code or "none"), stop(), and a list of
-- each report's version or message.
function rig.watch(session, path)
    local told, more = {}, {}
    local stop = assert(session:watch(path, function(data, version, code)
        told[#told + 1] = data or code or "none"
        more[#told] = version
    end))
    return told, stop, more
end


local function words_of_members(list)
    local words = {}
    for i, each in ipairs(list) do words[i] = each.name .. "=" .. tostring(each.data) end
    return table.concat(words, " ")
end


--- Follows a folder. Returns a growing list of reports ("name=data ..." or a code), stop(), and
-- newest(), which returns the last list of members.
function rig.follow(session, folder)
    local told, newest = {}, nil
    local stop = assert(session:members(folder, function(list, _, code)
        newest = list
        told[#told + 1] = code or words_of_members(list)
    end))
    return told, stop, function() return newest end
end


--- Waits until a growing list has `count` entries and ends with `last`.
function rig.hears(list, last, count)
    local has_come = rig.eventually(function()
        return #list >= (count or 1) and list[#list] == last
    end, 2 * LONG)
    if has_come then return end
    error(("waited in vain: %s, after: %s"):format(last, table.concat(list, "; ")), 2)
end


function rig.join(session, folder, name, data)
    return assert(session:join(folder, { name = name, data = data, timeout = 20 }))
end


-- --- leases --------------------------------------------------------------------------

--- Leases kept until the sessions close, because a lease without a reference is released.
rig.kept = {}

function rig.keep(lease, ...)
    assert(lease, ...)
    rig.kept[#rig.kept + 1] = lease
    return lease
end


function rig.hold(lock, arg)
    return rig.keep(lock:acquire(arg or 20))
end


--- Returns a lease of another session on the lock.
function rig.hold_elsewhere(server, path)
    return rig.hold(rig.session(server.hosts):mutex(path))
end


--- Returns the code and message with which acquire(arg) fails.
function rig.code_of(lock, arg)
    local lease, message, code = lock:acquire(arg)
    assert(lease == nil, "it is free")
    return code, message
end


--- Releases the lease, and waits for the server's answer.
function rig.release(lease)
    assert(lease:release{ wait = 20 } == true)
end


--- Acquires and releases the lock, so that its path exists.
function rig.use(lock)
    rig.release(assert(lock:acquire(20)))
    return lock
end


--- Returns a growing list of the states that on_lost reports of a lease.
function rig.note_losses(lease, list)
    list = list or {}
    lease:on_lost(function(which, state)
        assert(which == lease)
        list[#list + 1] = state
    end)
    return list
end


--- Checks by every method of the lease that it is over and in that state.
function rig.check_over(lease, state)
    local why = select(3, lease:check(20))
    if lease:state() ~= state or lease:held() or lease:remaining() ~= 0 or why ~= state then
        error(("it is not over: %s, check gives %s"):format(tostring(lease), tostring(why)), 2)
    end
end


--- Deletes the first node below a lock's path as a foreign client.
function rig.delete_node(server, path)
    server:foreign("delete %s", server:nodes(path)[1])
end


--- Runs `during` once the acquire waits in line; returns the acquire's results.
function rig.wait_while(lock, arg, during)
    local queued, lease, message, code
    arg.on_queued = function() queued = true end
    zklock.run(function() lease, message, code = lock:acquire(arg) end, function()
        rig.wait_for("the place in line", function() return queued end)
        during()
    end)
    if lease then rig.keep(lease) end
    return lease, message, code
end


-- Returns the lock and the options of an acquire, which is a lock or { lock, option = value, … }.
local function parts_of(acquire, owner, timeout)
    local options = { owner = owner, timeout = timeout }
    if acquire.acquire then return acquire, options end
    for name, value in pairs(acquire) do options[name] = value end
    options[1] = nil
    return acquire[1], options
end


--- Lets owner n call acquires[n] once the acquire before waits in line. When all wait, calls
-- fn(order). Each owner releases after hold(n, lease), or after fn if `hold` is true. Returns the
-- owners' numbers, or codes of failed acquires, as they were decided, and the arguments of each
-- on_queued.
function rig.line_up(acquires, fn, hold)
    local order, told, queued, done = {}, {}, 0, false
    if hold == true then
        hold = function() rig.wait_for("the end of fn", function() return done end) end
    end
    rig.run(#acquires, function(n)
        local lock, options = parts_of(acquires[n], n, 60)
        options.on_queued = function(...)
            queued = queued + 1
            told[n] = { ... }
        end
        rig.wait_for("turn to come", function() return queued == n - 1 end, 4 * LONG)
        local lease, _, code = lock:acquire(options)
        order[#order + 1] = lease and n or code
        if lease and hold then hold(n, lease) end
        if lease then lease:release() end
    end, function()
        rig.wait_for("the whole line", function() return queued == #acquires end)
        fn(order)
        done = true
    end)
    assert(queued == #acquires, "on_queued told twice")
    return order, told
end


--- Lets owner n hold the lock of acquires[n] for a moment, `times` times, and raises if two owners
-- hold at once.
function rig.never_two(acquires, times)
    local alone = rig.alone()
    rig.run(#acquires, function(n)
        local lock, options = parts_of(acquires[n], n, 60)
        for _ = 1, times do assert(lock:with(options, function() alone() end)) end
    end)
end


local path_count = 0

--- Returns a lock path that no other test uses. Every spec file has a rig of its own.
function rig.path()
    path_count = path_count + 1
    return ("/spec/%d-%.0f-%d"):format(rig.pid, now() * 1e9, path_count)
end


--- Returns a mutex of a new path in a new session of the shared server, the session and the path.
function rig.mutex(options)
    local session, path = rig.session(rig.shared().hosts, options), rig.path()
    return session:mutex(path), session, path
end


--- Returns the shared server, a new path, and this number of sessions.
function rig.begin(session_count)
    local server = rig.shared()
    return server, rig.path(), unpack(rig.sessions(session_count, server.hosts))
end


return rig
