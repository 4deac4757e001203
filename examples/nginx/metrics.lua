--- The metrics of all workers at one address, for Prometheus. See nginx.conf and
-- docs/monitoring.md.

local zklock = require "zklock"

local _M = {}
local LIFETIME = 5 -- seconds that a dead worker's metrics are shown


-- Any worker may be asked, so each puts its text where all can read it.
local function publish()
    local worker = ngx.worker.id()
    local ok, problem = ngx.shared.metrics:set(worker, zklock.metrics{ worker = worker }, LIFETIME)
    if not ok then ngx.log(ngx.ERR, "metrics: ", problem) end
end


--- In init_worker_by_lua.
function _M.start()
    ngx.timer.at(0, publish)
    ngx.timer.every(1, publish)
end


-- All samples of a metric stand together, behind its one HELP and TYPE.
local function join(texts)
    local names, lines, name = {}, {}, nil
    for line in table.concat(texts):gmatch("[^\n]+") do
        local comment, metric = line:match("^# (%u+) (%S+)")
        name = metric or name
        if not lines[name] then
            names[#names + 1], lines[name] = name, {}
        end
        if not (comment and lines[name][comment]) then table.insert(lines[name], line) end
        if comment then lines[name][comment] = true end
    end
    for i, each in ipairs(names) do names[i] = table.concat(lines[each], "\n") .. "\n" end
    return table.concat(names)
end


--- In content_by_lua.
function _M.say()
    local texts = {}
    for worker = 0, ngx.worker.count() - 1 do
        texts[#texts + 1] = ngx.shared.metrics:get(worker)
    end
    ngx.header.content_type = "text/plain; version=0.0.4"
    ngx.print(join(texts))
end


return _M
