--- Programs in processes of their own, because a spec itself can neither end, be stopped, be
-- traced, nor run beside a broken library. A program that hangs is killed, so no spec waits for
-- ever.

local assert = require "luassert"
local files = require "spec.files"
local rig = require "spec.rig"

local program = {}

--- The interpreter's sanitizer, "asan" or "tsan", or nil.
program.sanitizer = (os.getenv("ZKLOCK_LUA") or ""):match("%f[%w][at]san%f[%W]")

local LUA = os.getenv("ZKLOCK_LUA") or "lua5.4"
local BUILD = os.getenv("BUILD") or "build"

local PRELUDE = [[
local HOSTS = %q
local zklock = require "zklock"
local function say(...) print(...) io.stdout:flush() end
]]

-- Prints the pid, waits, and records how the program ended, which LuaJIT's popen does not tell. The
-- alarm outlives exec. A stopped process does not hear it.
local LAUNCHER = [[
    $| = 1;
    my ($status, $seconds, @command) = @ARGV;
    my $pid = fork;
    if (!$pid) { print "$$\n"; alarm $seconds; exec @command; }
    $SIG{ALRM} = sub { kill KILL => $pid };
    alarm $seconds + 5;
    1 until waitpid($pid, 0) == $pid;
    open my $file, ">", $status;
    print $file $? & 127 ? 128 + ($? & 127) : $? >> 8;]]

-- Signals act the same however the specs were started, even by nohup.
local COMMAND = "env --default-signal LD_PRELOAD='%s' %s %s %s %s"

-- Puts a sanitizer's own library first.
local function preloaded(library)
    if not library then return "" end
    if not program.sanitizer then return library end
    local own = rig.shell("${CC:-cc} -print-file-name=lib%s.so", program.sanitizer)
    return own:match("%S+") .. ":" .. library
end


local Program = {}
Program.__index = Program


--- Writes a file for a program or a preloaded library; returns its path.
program.write = files.write


local function temporary(content)
    return program.write(os.tmpname(), content)
end


--- Runs Lua source with `zklock`, `HOSTS` and `say` (prints a line at once) defined. options:
-- prefix (a command before Lua, such as valgrind), preload (a library), environment
-- ("NAME=value"), input (it reads what tell() writes), seconds (until it is killed; default 120).
function program.start(hosts, source, options)
    options = options or {}
    local self = setmetatable({}, Program)
    self.source = temporary(PRELUDE:format(hosts) .. source)
    self.stderr = temporary("")
    self.status = temporary("")
    local fifo = options.input and os.tmpname()
    if fifo then rig.shell("rm %s && mkfifo %s", fifo, fifo) end
    local command = COMMAND:format(preloaded(options.preload), options.environment or "",
                                   options.prefix or "", LUA, self.source)
    self.output = assert(io.popen(("exec perl -e '%s' %s %d %s 2>%s%s"):format(
        LAUNCHER, self.status, options.seconds or 120, command, self.stderr,
        fifo and " <" .. fifo or "")))
    if fifo then
        self.input = assert(io.open(fifo, "w"))
        self.input:setvbuf("no")
        os.remove(fifo)
    end
    self.pid = self.output:read("*n", "*l")
    return self
end


local function end_input(self)
    if io.type(self.input) == "file" then self.input:close() end
end


--- Writes a line to its input; nil ends the input, if it has not ended.
function Program:tell(line)
    if line then self.input:write(line, "\n") else end_input(self) end
end


--- Returns its next line, nil at the end.
function Program:line()
    return self.output:read("*l")
end


function Program:says(...)
    for _, line in ipairs{ ... } do assert.equal(line, self:line()) end
end


function Program:signal(name)
    rig.signal(name, self.pid)
end


--- Waits for the end. Returns the rest of its output, its stderr, and its exit status; after a
-- signal, 128 and the signal's number.
function Program:finish()
    local rest = self.output:read("*a")
    self.output:close()
    end_input(self)
    local errors, status = assert(files.read(self.stderr)), tonumber(files.read(self.status))
    os.remove(self.source)
    os.remove(self.stderr)
    os.remove(self.status)
    return rest, errors, status
end


--- Waits for the end, and checks that no output was left, and the status, 0 by default.
function Program:ends(status)
    local rest, errors, got = self:finish()
    assert.same({ "", "", status or 0 }, { rest, errors, got })
end


local libraries = {} -- paths, by name

--- Compiles spec/fault/NAME.c into a library for this Lua, once, in the folder of builds. Returns
-- its path. Specs that run at the same time may use the same file.
function program.library(name)
    if libraries[name] then return libraries[name] end
    local lua = jit and "luajit-2.1" or "lua5.4" -- luacheck: globals jit
    local folder = ("%s/fault/%s"):format(BUILD, lua)
    folder = rig.shell("mkdir -p %s && cd %s && pwd", folder, folder):match("[^\n]+")
    local path = ("%s/%s.so"):format(folder, name)
    local made = os.execute(("${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -shared -fPIC " ..
                             "-I/usr/include/%s -o %s.%d spec/fault/%s.c -ldl && mv %s.%d %s")
                            :format(lua, path, rig.pid, name, path, rig.pid, path))
    assert(made == true or made == 0, "cannot compile " .. name)
    libraries[name] = path
    return path
end


--- Returns the module of spec/fault/system.c.
function program.system()
    return assert(package.loadlib(program.library("system"), "luaopen_system"))()
end


return program
