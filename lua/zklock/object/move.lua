--- Moves a live session to other servers, once a server there has confirmed the session.

local failure = require "zklock.value.failure"
local misuse = require "zklock.value.misuse"
local options = require "zklock.value.options"
local split = require("zklock.value.hosts").split


local DETAILS = {
    conflict = "a server there does not know this session, which has expired, or belongs to "
        .. "another ensemble; close it, and connect",
    unsupported = "when it connected, the process could not listen on a loopback address",
}


local MEANINGS = { too_many = "no thread is free" }


local function take(request, session, text)
    local code = request.handle:result()
    if code ~= "ok" then return failure(code, text, DETAILS[code], MEANINGS[code]) end
    session.hosts = text
    return true
end


return function(session, text, timeout)
    local hosts = split(text)
    if hosts.chroot ~= session.chroot then
        misuse.refuse("set_hosts: the chroot must stay %s, not %s",
                      misuse.show(session.chroot), misuse.show(hosts.chroot))
    end
    if session:gone() then return failure(session:gone(), text) end
    timeout = options.timeout(timeout, session:timeout())
    local handle = not hosts.in_memory and session.handle:set_hosts(hosts.hosts, timeout)
    if not handle then return failure("unsupported", text, "only sessions of ZooKeeper move") end
    return session:await(handle, timeout, take, session, text)
end
