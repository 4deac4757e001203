--- Wipes servers, cuts off and ends sessions, and checks failed calls, for the specs of faults.

local assert = require "luassert"
local rig = require "spec.rig"

local fault = {}


--- Changes nodes as another program (see foreign.pl).
function fault.foreign(server, ...)
    return rig.foreign(server:host(), ...)
end


--- Returns the czxid of a node, as text, or nil without the node.
function fault.czxid(server, node)
    return fault.foreign(server, "stat %s", node):match("czxid=(%d+)")
end


function fault.wipe(server)
    server:kill()
    rig.shell("rm -rf %s/1/data/version-2", server.dir)
    server:restart()
end


--- Waits until the session has reconnected `count` times or more.
function fault.wait_for_reconnects(session, count)
    rig.wait_for("a reconnect", function()
        return session:stats().reconnects >= count and session:state() == "connected"
    end)
end


--- Cuts the proxy's connections, refuses new ones until heal(), and waits until the session knows.
function fault.suspend(proxy, session)
    proxy:shut()
    rig.becomes(session, "suspended")
end


function fault.heal(proxy)
    for _, command in ipairs{ "accept", "flow", "delay 0" } do proxy:command(command) end
end


--- Cuts the session off until the shared server has ended it, calls meanwhile(), if given, and lets
-- the session learn of its end.
function fault.expire(proxy, session, meanwhile)
    local expiries, id = session:stats().expiries, "0x" .. session:id()
    proxy:command("blackhole")
    rig.wait_for("the session's end", function() -- the connection may be listed for longer
        return not rig.shared():ask("dump"):match("(.-)Connections dump"):find(id, 1, true)
    end)
    if meanwhile then meanwhile() end
    proxy:command("flow")
    rig.wait_for("the expiry", function()
        session:dispatch()
        return session:stats().expiries > expiries
    end)
end


--- Returns how many sockets and pipes a new command inherits. Its own output is one.
function fault.count_inherited()
    local _, count = rig.shell("exec ls -l /proc/self/fd"):gsub("%-> %a+:%[", "")
    return count
end


--- Asserts a failed call, as in fails("lost", lease:check(20)).
function fault.fails(code, result, message, got)
    assert.is_nil(result)
    assert.equal(code, got, message)
end


--- Asserts that fn(...) fails with timeout after these seconds, no sooner and not much later.
function fault.times_out(seconds, fn, ...)
    fault.fails("timeout", rig.takes(seconds - 0.01, seconds + 5, fn, ...))
end


return fault
