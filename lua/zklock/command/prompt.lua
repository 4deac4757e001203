--- The prompt of zklock repl. Its names are globals on purpose.

local console = require "zklock.command.console"
local help_on = require "zklock.command.help"
local options = require "zklock.value.options"
local printable = require "zklock.command.printable"
local shell = require "zklock.system.shell"
local show = require "zklock.command.show"
local sorted_names = require "zklock.value.sorted_names"
local status = require "zklock.command.status"
local tree = require "zklock.command.tree"
local variable = require "zklock.system.variable"
local zklock = require "zklock"

local ipairs, pairs, print = ipairs, pairs, print
local tostring, type = tostring, type

local HELP = [[
zklock              the library; docs/reference has all of it
session             a session with %s
queue "/path"       the queue of a lock
stats()             the session's counters
help "rwlock"       on %s
exit                ends the prompt, as Ctrl-D does; Ctrl-C ends what runs

lock = session:mutex "/locks/a"
lease = lock:acquire(3)     keep it in a variable; an unreferenced lease is released
lease:state(), lease.token
lease:release()]]


local TOPICS_WIDTH = 56


local function given(name) return variable("ZKLOCK_REPL_" .. name) end

local hosts = given "HOSTS"

local function connect()
    local opened, message, code = zklock.connect(hosts, {
        timeout = tonumber(given "TIMEOUT"), auth = given "AUTH" or variable "ZK_AUTH",
        acl = given "ACL",
    })
    if opened then return opened end
    io.stderr:write("zklock: ", printable.line(message), "\n")
    os.exit(status.of(code))
end

local session = connect()


local LOST = given "SHARED" and "%s does not answer; it ends with the prompt that "
    .. "started it\n" or "%s does not answer\n"

local told_state = "connected"

local function notice()
    local state = session:state()
    if state ~= told_state and state == "suspended" then io.stderr:write(LOST:format(hosts)) end
    told_state = state
end


local function value_text(value)
    if type(value) ~= "number" then return tostring(value) end
    return (value % 1 == 0 and "%d" or "%.3g"):format(value)
end


-- Prints each field in a line, also an inner table: "wait  count 1, max 0.052, ...".
local function print_fields(prefix, values)
    local words = {}
    for _, name in ipairs(sorted_names(values)) do
        local value = values[name]
        if type(value) ~= "table" then
            if prefix == "" then print(("%-20s %s"):format(name, value_text(value)))
            else words[#words + 1] = name .. " " .. value_text(value) end
        elseif name ~= "buckets" then print_fields(prefix .. name .. ".", value) end
    end
    if words[1] then print(("%-20s %s"):format(prefix:sub(1, -2), table.concat(words, ", "))) end
end


local function stats()
    print_fields("", session:stats())
end


local function queue(path)
    options.path(path)
    local lock, queue_or_message, code = tree.lock(session, path)
    io.write(lock and show.text(queue_or_message, code)
        or printable.line(queue_or_message) .. "\n")
end


local function topics_text()
    local lines, line = {}, nil
    for _, name in ipairs(help_on.topics) do
        if line and #line + #name > TOPICS_WIDTH then lines[#lines + 1], line = line .. ",", nil end
        line = line and line .. ", " .. name or name
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n" .. (" "):rep(23))
end


local function help(topic)
    if topic == nil then return print(HELP:format(hosts, topics_text())) end
    local said, meant = help_on.text_of(topic)
    print(said or meant and ("did you mean help %q?"):format(meant)
        or "there is help on " .. topics_text())
end


local function exit()
    local ok, reason = io.stdout:flush()
    if not ok then io.stderr:write("zklock: the output cannot be written: ", reason, "\n") end
    os.exit(ok and status.OK or status.SOFTWARE, true)
end


-- Functions that are also called when their names are typed alone.
local words = { help = help, exit = exit, quit = exit }

local globals = {
    zklock = zklock, session = session, stats = stats, queue = queue, help = help, exit = exit,
    quit = exit,
}
for name, value in pairs(globals) do rawset(_G, name, value) end

local jit = rawget(_G, "jit")
print(("zklock %s, %s, %s; help says what there is"):format(
    zklock._VERSION, jit and jit.version or _VERSION, tostring(session)))
console.run(shell.succeeds "test -t 0", words, notice)
exit()
