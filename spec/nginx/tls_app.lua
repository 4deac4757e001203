--- The application of tls_phases_spec.lua, in nginx, during handshakes of TLS.

local files = require "spec.files"
local ssl = require "ngx.ssl"
local zklock = require "zklock"

local app = {}
local session
local kept = {} -- leases that last as long as the worker


local function open()
    if not session then session = assert(zklock.connect(os.getenv("ZK_HOSTS"))) end
    return session
end


local function append(path, text)
    local file = assert(io.open(path, "a"))
    file:write(text)
    file:close()
end


-- --- a wait, in whatever phase ---------------------------------------------------------------

--- Holds the lock for a moment, and notes this phase in the file.
function app.wait(path, file)
    assert(open():mutex(path):with(20, function()
        append(file, ngx.get_phase() .. "\n")
    end))
end


--- Notes in the file how a wait in this phase is refused.
function app.refused(path, file)
    local _, message, code
    if session then _, message, code = session:mutex(path):acquire(0)
    else _, message, code = zklock.connect(os.getenv("ZK_HOSTS")) end
    append(file, ("%s: %s: %s\n"):format(ngx.get_phase(), code, message))
end


-- --- owners ----------------------------------------------------------------------------------

--- Holds the lock for as long as the worker lives.
function app.hold(path)
    kept[#kept + 1] = open():mutex(path):acquire(0)
end


--- Tries the lock, and answers with the result. A request's ngx.ctx shows its handshake's.
function app.try()
    local lease, _, code = open():mutex(ngx.var.arg_path):acquire(0)
    kept[#kept + 1] = lease
    ngx.say(lease and "acquired" or code)
end


-- --- a certificate ---------------------------------------------------------------------------

-- Renews the certificate as ACME clients do. Only the handshake that found it due waits.
local function renew(folder)
    ngx.sleep(0.2)
    append(folder .. "/renewals", "one\n")
    files.write(folder .. "/current.new", "new")
    assert(os.rename(folder .. "/current.new", folder .. "/current"))
end


--- Serves the current certificate. When it is due, one handshake of all hosts renews it, and the
-- other handshakes serve the old one meanwhile.
function app.certificate(folder)
    if files.read(folder .. "/current") == "old" then
        open():mutex("/certificates/shop"):with(0, function()
            if files.read(folder .. "/current") == "old" then renew(folder) end
        end)
    end
    local current = folder .. "/" .. files.read(folder .. "/current")
    assert(ssl.clear_certs())
    assert(ssl.set_der_cert(assert(ssl.cert_pem_to_der(files.read(current .. ".pem")))))
    assert(ssl.set_der_priv_key(assert(ssl.priv_key_pem_to_der(files.read(current .. ".key")))))
end


function app.ping()
    ngx.say("pong")
end


return app
