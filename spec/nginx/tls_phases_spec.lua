--- Locks in the phases of nginx before a request, during handshakes of TLS and in server_rewrite.
-- Handshakes are real, by curl and openssl.

local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"
local zklock = require "zklock"

local APP = 'require("spec.nginx.tls_app")'


describe("before the request, in nginx #nginx #context", function()
    local server, host, path, folder

    setup(function() server = rig.shared() end)
    before_each(function()
        path = rig.path()
        folder = rig.shell("mktemp -d"):match("%S+")
        for _, name in ipairs{ "old", "new" } do
            rig.shell("examples/tls/certificates %s localhost", folder)
            rig.shell("cd %s && mv server.pem %s.pem && mv server.key %s.key", folder, name, name)
        end
        nginx.write(folder .. "/current", "old")
    end)
    after_each(function()
        zklock.driver(nil)
        nginx.stop_all(host)
        rig.shell("rm -rf %s", folder)
    end)

    -- Starts a host with a server for TLS, with lines for its http and its server.
    local function start(http, lines)
        local port = nginx.free_port()
        local started = nginx.start{ app = "spec.nginx.tls_app", environment = "ZK_HOSTS=" ..
            server.hosts, http = ([[
            ssl_session_tickets off;
            %s
            server {
                listen 127.0.0.1:%d ssl http2;
                ssl_certificate %s/old.pem;
                ssl_certificate_key %s/old.key;
                %s
                location = /try { content_by_lua_block { %s.try() } }
                location = /ping { content_by_lua_block { %s.ping() } }
            }]]):format(http, port, folder, folder, lines or "", APP, APP) }
        started.tls = port
        return started
    end

    local function url(target, text) return ("https://127.0.0.1:%d%s"):format(target.tls, text) end

    local function curl(text) return rig.shell("curl -sk %s 2>&1", text) end

    local directives = { server_rewrite = "server_rewrite", ssl_cert = "ssl_certificate" }
    for phase, directive in pairs(directives) do
        it("a wait is possible in " .. phase, function()
            host = start("", ('%s_by_lua_block { %s.wait("%s", "%s/phases") }')
                :format(directive, APP, path, folder))
            local lease = rig.hold(rig.session(server.hosts):mutex(path))
            local begun = assert(io.popen("curl -sk " .. url(host, "/ping")))
            server:wait_for_nodes(path, 2)
            rig.release(lease)
            assert.equal("pong\n", begun:read("*a"))
            begun:close()
            assert.equal(phase .. "\n", nginx.read(folder .. "/phases"))
            server:wait_for_nodes(path, 0)
        end)
    end

    -- Debian's nginx lacks OpenResty's patches, so a handshake cannot wait in these phases.
    it("a wait in ssl_client_hello or ssl_session_fetch is refused with context, and no " ..
       "handshake hangs", function()
        local line = ('_by_lua_block { %s.refused("%s", "%s/phases") }'):format(APP, path, folder)
        host = start("ssl_session_fetch" .. line, "ssl_client_hello" .. line)
        local session = folder .. "/session"
        for _, way in ipairs{ "out", "in" } do
            rig.shell("echo | openssl s_client -tls1_2 -connect 127.0.0.1:%d -sess_%s %s 2>&1",
                      host.tls, way, session)
        end
        local said = nginx.read(folder .. "/phases")
        for _, phase in ipairs{ "ssl_client_hello", "ssl_session_fetch" } do
            assert.truthy(said:find(phase .. ": context: .-OpenResty's own nginx"), said)
        end
    end)

    it("a handshake and the requests on its connection are different owners", function()
        host = start("", ('ssl_certificate_by_lua_block { %s.hold("%s") }'):format(APP, path))
        local own = rig.path()
        local said = curl(("--http2 '%s' '%s' '%s'"):format(
            url(host, "/try?path=" .. path), url(host, "/try?path=" .. own),
            url(host, "/try?path=" .. own)))
        assert.equal("busy\nacquired\nbusy\n", said)
        assert.equal(1, #server:nodes(path)) -- the handshake's
    end)

    it("a certificate is renewed once by two hosts, which serve the old one meanwhile", function()
        local lines = ('ssl_certificate_by_lua_block { %s.certificate("%s") }'):format(APP, folder)
        host = start("", lines)
        local other = start("", lines)
        local said = rig.shell("for n in $(seq 20); do for at in %s %s; do curl -sk $at & done; "
            .. "done; wait", url(host, "/ping"), url(other, "/ping"))
        assert.equal(("pong\n"):rep(40), said)
        assert.equal("one\n", nginx.read(folder .. "/renewals"))
        local function serial(target)
            return rig.shell("openssl s_client -connect 127.0.0.1:%d </dev/null 2>/dev/null | "
                .. "openssl x509 -noout -serial", target.tls)
        end
        local new = rig.shell("openssl x509 -noout -serial -in %s/new.pem", folder)
        assert.equal(new, serial(host))
        assert.equal(new, serial(other))
    end)
end)
