--- What the prompt of zklock repl has: globals, on purpose.

local completions = require "zklock.command.completions"
local show = require "zklock.command.show"
local sorted_names = require "zklock.sorted_names"
local tree = require "zklock.command.tree"
local zklock = require "zklock"

local getenv, pairs, print, tostring = os.getenv, pairs, print, tostring

local HELP = [[
zklock              the library; docs/reference.md has all of it
session             a session with %s
queue "/path"       the line of a lock
stats()             what the session counted
help()              this

lock = session:mutex "/locks/a"
lease = lock:acquire(3)     keep it in a variable: one that nothing refers to is released
lease:state(), lease.token
lease:release()]]


local function given(name, convert)
    local text = getenv("ZKLOCK_REPL_" .. name)
    if text and text ~= "" then return convert(text) end
end


local hosts = given("HOSTS", tostring)
local session = assert(zklock.connect(hosts, {
    timeout = given("TIMEOUT", tonumber), auth = given("AUTH", tostring),
}))


local function stats()
    local counted = session:stats()
    for _, name in ipairs(sorted_names(counted)) do
        print(("%-20s %s"):format(name, tostring(counted[name])))
    end
end


local function queue(path)
    local lock, line = tree.lock(session, path)
    io.write(lock and show.text(line) or line .. "\n")
end


local function help()
    print(HELP:format(hosts))
end


local globals = { zklock = zklock, session = session, stats = stats, queue = queue, help = help }
for name, value in pairs(globals) do rawset(_G, name, value) end

completions.install()
print(("zklock %s, %s; help() says what there is"):format(zklock._VERSION, tostring(session)))
