--- Finds, after the end of all clients, nodes left behind, and the servers' own records of events.

local rig = require "spec.rig"

local aftermath = {}


local function count_servers(server)
    return select(2, server.hosts:gsub("[^,]+", ""))
end


-- Every server knows all sessions' nodes; in an ensemble, the leader knows them first.
local function count_nodes(server)
    local n = count_servers(server) == 1 and 1 or server:leader()
    return n and select(2, (server:ask("dump", n) or ""):gsub("\n%s+/", ""))
end


local function count_watches(server)
    local watches = 0
    for n = 1, count_servers(server) do
        local count = (server:ask("wchs", n) or ""):match("watches:(%d+)")
        watches = watches + (tonumber(count) or 1)
    end
    return watches
end


--- Records the nodes left after at most `seconds`, which sessions of killed processes may need to
-- expire.
function aftermath.residue(server, writer, seconds)
    local nodes, watches
    rig.eventually(function()
        nodes = count_nodes(server)
        if not nodes then return false end
        watches = count_watches(server)
        return nodes == 0 and watches == 0
    end, seconds)
    writer:record("residue", nil, { nodes = nodes or "?", watches = watches or "?" })
end


--- Starts to record how the time of day moves; the caller closes it before truth().
function aftermath.clocks(folder)
    return assert(io.popen("exec perl spec/torture/clocks.pl " .. folder .. "/clocks", "w"))
end


--- Writes ZooKeeper's transactions as events to FOLDER/history/zookeeper.
function aftermath.truth(server, folder)
    local servers, dirs = count_servers(server), {}
    for n = 1, servers do dirs[n] = ("%s/%d"):format(server.dir, n) end
    rig.wait_for("servers at rest", function()
        local zxid
        for n = 1, servers do
            local of_server = (server:ask("srvr", n) or ""):match("Zxid: (%S+)")
            if not of_server or of_server ~= (zxid or of_server) then return false end
            zxid = of_server
        end
        return true
    end, 20)
    rig.shell("CLOCKS=%s/clocks perl spec/torture/truth.pl %s > %s/history/zookeeper", folder,
              table.concat(dirs, " "), folder)
end


--- Keeps the servers' logs in OUTPUT/logs/N, for the study of a violation.
function aftermath.keep_logs(server, output)
    rig.shell("rm -rf %s/logs", output)
    for n = 1, count_servers(server) do
        rig.shell("mkdir -p %s/logs/%d && cp --sparse=always -r %s/%d/data %s/logs/%d/", output, n,
                  server.dir, n, output, n)
    end
end


--- Writes all events under FOLDER/history, sorted by time, to one file, OUTPUT/history.
function aftermath.gather(folder, output)
    rig.shell("mkdir -p %s && sort -s -n -k 1,1 %s/history/* > %s/history", output, folder, output)
end


return aftermath
