std = "min"
max_line_length = 100
-- `not (x >= 0)` is meant: it is true for NaN.
ignore = { "581" }

local later = { "ngx", "loadstring", "unpack", "table.unpack", "math.type", "coroutine.close",
                "coroutine.isyieldable" }
-- Its first lines are read by a shell, too.
files["bin/zklock"] = { globals = { "_" } }
files["lua"] = { read_globals = later }
files["bench"] = { read_globals = later }
files["spec"] = { std = "min+busted", read_globals = later }
files["bench/nginx_app.lua"] = { globals = { "ngx" } }
files["docs"] = { globals = { "ngx" } }
files["examples"] = { globals = { "ngx" }, read_globals = { "table.unpack", "unpack" } }
files["docs/seckill/sale_spec.lua"] = { std = "min+busted" }
files["docs/testing-your-code/simulated_spec.lua"] = { std = "min+busted" }
files["lua/zklock/seckill/lessons/workshop/*_spec.lua"] = { std = "min+busted" }
files["docs/testing-your-code/sale_spec.lua"] = { std = "min+busted" }
files["lua/zklock/seckill/http/app.lua"] = { globals = { "ngx" } }
files["lua/zklock/waiting/nginx_task.lua"] = { globals = { "ngx" } }
files["spec/nginx/app.lua"] = { globals = { "ngx" } }
files["spec/nginx/resty_lock_app.lua"] = { globals = { "ngx" } }
files["spec/nginx/exit_app.lua"] = { globals = { "ngx" } }
