--- Parses hosts, "host:port,host:port/chroot" or "memory:name/chroot".

local check = require "zklock.value.check"
local misuse = require "zklock.value.misuse"
local path_rules = require "zklock.value.path"
local utf8 = require "zklock.value.utf8"

local tonumber, type = tonumber, type
local flaw = path_rules.flaw
local refuse, show = misuse.refuse, misuse.show

local NAME_SIZE = 4096 -- bytes

local _M = {}


local function entry_flaw(entry)
    if entry == "" then return "an entry is empty" end
    if entry:find("[%s%c]") then return "it contains a space" end
    if not utf8.is_valid(entry) then return ("%s is not UTF-8"):format(show(entry)) end
    local port = entry:match("^[^:%[%]]+(.*)$") or entry:match("^%[[%x.]*:[%x:.]*%](.*)$")
    if not port or port ~= "" and port:sub(1, 1) ~= ":" then
        return ("%s is no host, host:port or [v6]:port"):format(show(entry))
    end
    if port == ":" then return ("%s has no port after the :"):format(show(entry)) end
    local number = port:find("^:%d+$") and tonumber(port:sub(2))
    if port ~= "" and not (number and number >= 1 and number <= 65535) then
        return ("the port of %s is not a number from 1 to 65535"):format(show(entry))
    end
end


function _M.check_memory_name(name)
    check.type(name, "string", "the name of a server in memory")
    check.size(name, "the name of a server in memory", NAME_SIZE)
    if not name:find("^%a[%w._-]*$") then
        refuse("the name of a server in memory must be a letter, then letters, digits, " ..
               '"-", "_" or ".", not %s', show(name))
    end
    return name
end


-- "memory:2181" is a host of the name memory.
local function memory_name(hosts)
    local name = hosts:match("^memory:(.*)$")
    if name and not name:find("^%d") then return _M.check_memory_name(name) end
end


local function check_hosts(hosts, text, form)
    if hosts == "" then refuse("no host in %s; %s", show(text), form) end
    for entry in (hosts .. ","):gmatch("([^,]*),") do
        local why = entry_flaw(entry)
        if why then refuse("bad hosts %s: %s; %s", show(text), why, form) end
    end
end


function _M.split(text)
    local form = 'expected "host:port,host:port/chroot"'
    if type(text) ~= "string" then
        refuse("hosts must be a string, not %s; %s", show(text), form)
    end
    local hosts, chroot = text:match("^([^/]*)(.*)$")
    if chroot == "/" then chroot = "" end
    local memory = memory_name(hosts)
    if not memory then check_hosts(hosts, text, form) end
    check.size(chroot, "the chroot", check.PATH_SIZE)
    local why = chroot ~= "" and flaw(chroot)
    if why then refuse("the chroot %s %s", show(chroot), why) end
    return { text = text, hosts = memory or hosts, chroot = chroot, in_memory = memory ~= nil }
end


return _M
