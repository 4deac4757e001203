--- The versions that a cell of the matrix runs with, as each program reports its own.

require "zklock.core" -- with libzookeeper

local files = require "spec.files"

local versions = {}

local SERVER = [[perl -MIO::Socket::INET -e '
    $server = IO::Socket::INET->new(PeerAddr => $ENV{ZK_HOSTS});
    print $server "srvr"; print <$server>']]


local function server()
    local pipe = io.popen(SERVER)
    local answer = pipe:read "*a"
    pipe:close()
    return answer:match "version: ([%d.]+)"
end


local function libzookeeper()
    local path = files.read("/proc/self/maps"):match "(/[^\n]*libzookeeper_mt[^\n]*)"
    return files.read(path):match "zookeeper C client ([%d.]+)"
end


-- 1026003: "1.26.3"
local function dotted(number)
    return ("%d.%d.%d"):format(number / 1e6, number / 1e3 % 1e3, number % 1e3)
end


--- "server 3.9.3, libzookeeper 3.9.3, Lua 5.4"
function versions.text()
    local text = ("server %s, libzookeeper %s, "):format(server(), libzookeeper())
    if not ngx then return text .. _VERSION end
    return ("%snginx %s, lua-nginx-module %s"):format(text, dotted(ngx.config.nginx_version),
                                                      dotted(ngx.config.ngx_lua_version))
end


--- Serves the versions of an nginx as /tell.
function versions.tell() ngx.print(versions.text()) end


return versions
