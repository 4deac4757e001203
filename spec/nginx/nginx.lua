--- A throwaway nginx with its own folder, port and configuration, on 127.0.0.1. It ends with this
-- process, also after a kill.

local files = require "spec.files"
local rig = require "spec.rig"

local nginx = {}
nginx.__index = nginx

local NGINX = os.getenv("NGINX") or "nginx"
local MODULES = os.getenv("NGINX_MODULES") or "/usr/lib/nginx/modules"
-- Folders of Lua modules, such as resty.core, that come before the machine's.
local LUA = os.getenv("NGINX_LUA") and os.getenv("NGINX_LUA") .. "/?.lua;" or ""
local here = rig.shell("pwd"):match("[^\n]+")
local started = {}


local write = files.write

local function read(path) return files.read(path) or "" end

nginx.read, nginx.write = read, write


-- Picks a port below the ephemeral ports, where no connection takes one.
local FREE_PORT = [[perl -MIO::Socket::INET -e '
    open my $range, "<", "/proc/sys/net/ipv4/ip_local_port_range";
    my ($first, $low) = (10000, split " ", $range ? <$range> : 0);
    my $socket;
    until ($socket) {
        my $wish = $low >= $first + 1000 ? $first + int rand($low - $first) : 0;
        $socket = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $wish, Listen => 1);
    }
    print $socket->sockport']]

function nginx.free_port() return tonumber(rig.shell("%s", FREE_PORT)) end


function nginx.two_ports()
    local first = nginx.free_port()
    local second
    repeat second = nginx.free_port() until second ~= first
    return first, second
end


-- Loads the Lua module where it is not compiled in.
local function load_modules()
    local lines = {}
    for _, name in ipairs{ "ndk_http_module", "ngx_http_lua_module" } do
        local path = MODULES .. "/" .. name .. ".so"
        if read(path) ~= "" then lines[#lines + 1] = ("load_module %s;"):format(path) end
    end
    return table.concat(lines, "\n")
end


local template = [==[
@modules
worker_processes @workers;
daemon off;
user @user;
error_log @dir/error.log info;
pid @dir/pid;
env TMPDIR;
env ZK_HOSTS;
@main
events { worker_connections 4096; @events }
http {
    access_log @dir/access.log;
    client_body_temp_path @dir/body;
    proxy_temp_path @dir/proxy;
    fastcgi_temp_path @dir/fastcgi;
    uwsgi_temp_path @dir/uwsgi;
    scgi_temp_path @dir/scgi;
    lua_package_path "@here/?.lua;@here/lua/?.lua;@here/lua/?/init.lua;;";
    lua_package_cpath "@here/build/5.1/?.so;;";
    lua_code_cache @code_cache;
    @http
    server {
        listen 127.0.0.1:@port reuseport;
        @server
        location ~ ^/(\w+)$ {
            @location
            content_by_lua_block { require("@app")[ngx.var[1]]() }
        }
    }
}
]==]


local defaults = {
    app = "spec.nginx.app", workers = 1, user = "root", code_cache = "on",
    main = "", events = "", http = "", server = "", location = "",
}


local function new()
    local dir = rig.shell("mktemp -d"):match("[^\n]+")
    rig.shell("chmod 755 %s; mkdir -m 1777 %s/tmp", dir, dir)
    local self = setmetatable({ port = nginx.free_port(), dir = dir }, nginx)
    started[#started + 1] = self
    return self
end


function nginx:configure(text)
    write(self.dir .. "/conf", (text:gsub('lua_package_path "', "%0" .. LUA)))
end


-- Unsets NGINX, in which nginx looks for inherited sockets.
local function launch(self, environment, path)
    local command = "exec env -u NGINX TMPDIR=%s/tmp %s setpriv --pdeathsig TERM %s -p %s -c conf "
        .. ">%s/output 2>&1"
    self.output = assert(io.popen(command:format(self.dir, environment or "", NGINX, self.dir,
                                                 self.dir)))
    local answers = rig.eventually(function()
        return self:master() and self:get(path or "/ping").status > 0
    end)
    if not answers then error("nginx did not start: " .. read(self.dir .. "/output"), 3) end
    return self
end


--- Starts an nginx with the options { workers, user, main, events, http, server, location,
-- code_cache = "off", app = the module that it serves, environment = "NAME=value", expected = text
-- of trouble in its log }.
function nginx.start(options)
    local self = new()
    options = options or {}
    local values = { modules = load_modules(), here = here, dir = self.dir, port = self.port }
    self:configure(template:gsub("@([%w_]+)", function(name)
        return values[name] or options[name] or defaults[name]
    end))
    self.environment, self.expected = options.environment, options.expected
    return launch(self, options.environment)
end


--- A location /code for `server`. A request runs these lines of Lua, with the worker's session and
-- the lock of its path, and is answered with the results.
function nginx.code(text)
    return [[location = /code { content_by_lua_block {
        local app, zklock = require "spec.nginx.app", require "zklock"
        local session, lock = app.open(), app.lock()
        app.answer((function() ]] .. text .. [[ end)())
    } }]]
end


function nginx:kill()
    local pids = { self:master(), unpack(self:workers()) }
    for _, pid in ipairs(pids) do self:signal("KILL", pid) end
    for _, pid in ipairs(pids) do assert(nginx.wait_until_gone(pid), "the process lives on") end
    self.output:close()
    os.remove(self.dir .. "/pid")
end


function nginx:start_again()
    return launch(self, self.environment)
end


--- Starts an example of the documentation, on another port and with files of its own: { folder =
-- the example's, modules = folders of its modules, environment = "NAME=value", edit = a function
-- that changes its configuration }.
function nginx.example(options)
    options = options or {}
    local self, folder = new(), options.folder or "examples/nginx"
    rig.shell("cp %s/*.lua %s", folder, self.dir)
    for _, each in ipairs(options.modules or {}) do rig.shell("cp -r %s/. %s", each, self.dir) end
    local text = read(folder .. "/nginx.conf"):gsub("80[89]0", self.port)
        :gsub("error_log stderr", "error_log error.log"):gsub("/tmp/[%w-]+%.pid", "pid")
        :gsub("/tmp/", self.dir .. "/temp-"):gsub("/usr/lib/nginx/modules", MODULES)
    self:configure(options.edit and options.edit(text) or text)
    return launch(self, options.environment, "/buy")
end


-- --- processes ----------------------------------------------------------------------

function nginx:master()
    return tonumber((read(self.dir .. "/pid"):match("%d+")))
end


function nginx:workers()
    local pids = {}
    for pid in rig.shell("pgrep -P %d", self:master()):gmatch("%d+") do
        pids[#pids + 1] = tonumber(pid)
    end
    return pids
end


--- Sends a signal to that process, by default to the master.
function nginx:signal(name, pid)
    if name == "TERM" then self.told_at = self.told_at or #self:log() + 1 end
    os.execute(("kill -%s %d"):format(name, pid or self:master()))
end


--- A zombie does not live.
function nginx.lives(pid)
    return read(("/proc/%d/stat"):format(pid)):find "%) [^ZX]" ~= nil
end


function nginx.wait_until_gone(pid, seconds)
    return rig.eventually(function() return not nginx.lives(pid) end, seconds)
end


function nginx:log()
    return read(self.dir .. "/error.log")
end


--- The number of requests about a lock path that have ended.
function nginx:count_ended(path)
    local pattern = path:gsub("%p", "%%%0")
    return select(2, read(self.dir .. "/access.log"):gsub(pattern .. "%f[^%w]", ""))
end


-- An alert of a worker that TERM ends while semaphores are in use. Its memory ends with it.
local ALERT_AT_END = "lua sema mm: freeing a block"

function nginx:is_expected(line, at)
    local is_at_end = self.told_at and at >= self.told_at and line:find(ALERT_AT_END, 1, true)
    return is_at_end or self.expected and line:find(self.expected, 1, true)
end


--- Lines of the log that tell of unexpected trouble.
function nginx:troubles()
    local troubles = {}
    for at, line in self:log():gmatch("()([^\n]+)") do
        local is_bad = line:find("%[e[mr]") or line:find("%[crit%]") or line:find("%[alert%]")
        if is_bad and not self:is_expected(line, at) then troubles[#troubles + 1] = line end
    end
    return troubles
end


function nginx:temporary() return rig.shell("ls -A %s/tmp", self.dir) end


-- Returns the troubles that the log tells of, also at the end.
local function stop(self)
    if self:master() then self:signal("TERM") end
    self.output:close()
    local troubles, left = self:troubles(), self:temporary()
    rig.shell("rm -rf %s", self.dir)
    return troubles, left ~= "" and "left behind: " .. left or nil
end


--- Closes the rig's sessions, and ends every nginx. Fails if temporary files are left, or the log
-- of `host` tells of trouble.
function nginx.stop_all(host)
    rig.close_sessions()
    local troubles = {}
    for _, each in ipairs(started) do
        local told, left = stop(each)
        for _, line in ipairs(each == host and told or {}) do troubles[#troubles + 1] = line end
        troubles[#troubles + 1] = left
    end
    started = {}
    if troubles[1] then error(table.concat(troubles, "\n"), 2) end
end


-- --- requests -----------------------------------------------------------------------

local function answer_of(line)
    local path, status, seconds, body = line:match("^(%S+) (%d+) (%S+) (.-) ?$")
    return { path = path, status = tonumber(status), seconds = tonumber(seconds), body = body }
end


--- Begins requests, all at once, with the arguments of http.pl. nginx.finish(begun) returns the
-- answers.
function nginx:begin(...)
    local words = {}
    for i = 1, select("#", ...) do
        words[i] = (select(i, ...)):gsub("/%S*", function(path) return "'" .. path .. "'" end)
    end
    return assert(io.popen(("exec perl %s/spec/nginx/http.pl %d %s")
        :format(here, self.port, table.concat(words, " "))))
end


function nginx.finish(begun)
    local answers = {}
    for line in begun:lines() do answers[#answers + 1] = answer_of(line) end
    begun:close()
    return answers
end


--- Requests a path. Returns the answer: { status, seconds, body }.
function nginx:get(path)
    return nginx.finish(self:begin(path))[1]
end


function nginx.bodies(answers)
    local counts = {}
    for _, each in ipairs(answers) do counts[each.body] = (counts[each.body] or 0) + 1 end
    return counts
end


return nginx
