--- The configuration of an nginx of the sale.

-- Dynamic modules in $NGINX_MODULES or in Debian's folder. OpenResty has them built in.
local MODULES = { "ndk_http_module", "ngx_http_lua_module" }
local FOLDER = "/usr/lib/nginx/modules"

local TEMPLATE = [==[
@modules
@user
worker_processes @workers;
daemon off;
error_log "@folder/error.log" notice;
pid "@folder/pid";
env TMPDIR;
events { worker_connections 2048; }
http {
    access_log off;
    client_body_temp_path "@folder/body";
    proxy_temp_path "@folder/proxy";
    fastcgi_temp_path "@folder/fastcgi";
    uwsgi_temp_path "@folder/uwsgi";
    scgi_temp_path "@folder/scgi";

    lua_shared_dict locks 1m;
    lua_shared_dict mall 1m;
    init_by_lua_block { require("zklock.seckill.http.app").configure { @options } }
    init_worker_by_lua_block { require("zklock.seckill.http.app").start() }

    server {
        listen 127.0.0.1:@port;
        keepalive_requests 1000000;
        location = /mall/commodity/purchase {
            content_by_lua_block { require("zklock.seckill.http.app").purchase() }
            log_by_lua_block { require("zklock.seckill.http.app").finish() }
        }
        location = /mall/state {
            content_by_lua_block { require("zklock.seckill.http.app").state() }
        }
        location / {
            default_type application/json;
            return 404 '{"sold":false,"error":"not_found","message":"no such page"}\n';
        }
    }
}
]==]


local conf = {}


-- Escapes a path for a word in double quotes.
local function escaped(path) return (path:gsub('[\\"]', "\\%0")) end


local function load_modules()
    local lines = {}
    for _, name in ipairs(MODULES) do
        local path = (os.getenv "NGINX_MODULES" or FOLDER) .. "/" .. name .. ".so"
        local file = io.open(path)
        if file then
            file:close()
            lines[#lines + 1] = ('load_module "%s";'):format(escaped(path))
        end
    end
    return table.concat(lines, "\n")
end


local function lua_fields(options)
    local fields = {}
    for name, value in pairs(options) do
        fields[#fields + 1] = ("%s = %q"):format(name, tostring(value))
    end
    return table.concat(fields, ", ")
end


---@param folder string   for nginx's files
---@param port integer
---@param workers integer
---@param user string?    of the workers; nil for the current user
---@param options table<string, any>  for app.configure
---@return string
function conf.text(folder, port, workers, user, options)
    local values = {
        folder = escaped(folder), port = port, workers = workers, options = lua_fields(options),
        user = user and ("user %s;"):format(user) or "", modules = load_modules(),
    }
    return (TEMPLATE:gsub("@(%w+)", values))
end


return conf
