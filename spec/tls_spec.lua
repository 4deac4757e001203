--- [lua] ZooKeeper over TLS by stunnel, with the files of examples/tls, and the signs of mistakes.
-- `make test-tls` runs other specs over it.

local files = require "spec.files"
local program = require "spec.fault.program"
local rig = require "spec.rig"
local zklock = require "zklock"

local PORTS = [[perl -MIO::Socket::INET -e '
    until (@taken == 2) {
        push @taken, IO::Socket::INET->new(LocalAddr => "127.0.0.1",
            LocalPort => 10000 + int rand 20000, Listen => 1) // ();
    }
    print join " ", map { $_->sockport } @taken']]
local LISTENS = "perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(\"127.0.0.1:%d\")'"


describe("a session over TLS #server #zklock.connect", function()
    local server = rig.shared()
    local folder, server_port, client_port, stunnels

    local function general_part(name)
        return (files.read("examples/tls/" .. name):gsub("\n%[.*", "\n"))
    end

    local function start(name, service, port, environment)
        files.write(("%s/%s"):format(folder, name), general_part(name) .. service)
        stunnels[#stunnels + 1] = assert(io.popen(
            ("cd %s && echo $$ && exec env %s setpriv --pdeathsig KILL stunnel4 %s >%s.log 2>&1")
                :format(folder, environment or "", name, name)))
        rig.wait_for("stunnel", function()
            return rig.shell(LISTENS .. " && echo yes", port) == "yes\n"
        end)
    end

    local function certificates(host, days)
        rig.shell("examples/tls/certificates %s %s %s", folder, host, days or "")
    end

    local function start_server()
        start("server.conf", ("[zookeeper]\naccept = 127.0.0.1:%d\nconnect = %s\n"):format(
            server_port, server.hosts), server_port)
    end

    local function start_client(host, environment)
        local service = files.read("examples/tls/client.conf"):match "\n(%[zk1%].-\n)\n"
            :gsub("(accept = )%C+", "%1127.0.0.1:" .. client_port)
            :gsub("(connect = )%C+", "%1" .. (host or "127.0.0.1") .. ":" .. server_port)
            :gsub("(checkHost = )%C+", "%1localhost")
        start("client.conf", service, client_port, environment)
    end

    before_each(function()
        folder, stunnels = rig.shell("mktemp -d"):match("%S+"), {}
        server_port, client_port = rig.shell("%s", PORTS):match("(%d+) (%d+)")
        server_port, client_port = tonumber(server_port), tonumber(client_port)
    end)
    after_each(function()
        rig.close_sessions()
        for _, each in ipairs(stunnels) do
            rig.shell("kill %d", each:read("*n"))
            each:close()
        end
        rig.shell("rm -rf %s", folder)
    end)

    it("a session over TLS has locks", function()
        certificates("localhost")
        start_server()
        start_client()
        rig.hold(rig.session("127.0.0.1:" .. client_port):mutex(rig.path()))
    end)

    local function check_refused(port)
        local hosts = "127.0.0.1:" .. port
        local seconds, session, message, code = rig.timed(zklock.connect, hosts,
                                                          { connect_timeout = 2 })
        rig.check_refused("connection", "closed before an answer", session, message, code)
        assert.is_true(seconds < 10, seconds)
    end

    it("a server that gets another address under its name is found", function()
        certificates("localhost")
        start_server()
        local function move_to(port) files.write(folder .. "/zk1", "127.0.0.1:" .. port) end
        move_to(1)
        local library = program.library "names"
        start_client("zk1.test", ("NAMES=%s LD_PRELOAD=%s"):format(folder, library))
        local hosts = "127.0.0.1:" .. client_port
        assert.equal("connection", select(3, zklock.connect(hosts, { connect_timeout = 2 })))
        move_to(server_port)
        rig.hold(rig.session("127.0.0.1:" .. client_port):mutex(rig.path()))
    end)

    -- The refused certificates, by their flaw. more() runs before the client starts.
    for flaw, row in pairs{
        ["another authority"] = { "certificate verify failed", "localhost", more = function()
            rig.shell("rm %s/ca.*", folder)
            certificates("localhost")
        end },
        ["the past"] = { "certificate has expired", "localhost", -1 },
        ["another host"] = { "Subject checks failed", "zk1.example.com" },
    } do
        it(("a certificate of %s is refused #slow"):format(flaw), function()
            certificates(row[2], row[3])
            start_server()
            if row.more then row.more() end
            start_client()
            check_refused(client_port)
            local log = files.read(folder .. "/client.conf.log")
            assert.is_truthy(log:find(row[1], 1, true), log)
        end)
    end

    it("a client without TLS is refused #slow", function()
        certificates("localhost")
        start_server()
        check_refused(server_port)
    end)

    it("connect with an option for TLS names the recipe", function()
        rig.check_refused("unsupported", "docs/tls.md",
            zklock.connect(server.hosts, { tls = true }))
    end)
end)
