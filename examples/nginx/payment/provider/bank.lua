--- A payment provider that charges each key once, and repeats its answer. See nginx.conf.

local _M = {}
local answers, next_charge = ngx.shared.answers, ngx.shared.next

local DELAY = tonumber(os.getenv "DELAY" or 0) -- seconds of each charge


--- Sets what goes wrong with the next charge, by delay (seconds), silent = 1 (no charge, no
-- answer), refuse = 1, or twice = 1 (two answers). Prints how many settings are unused.
function _M.next()
    for name, value in pairs(ngx.req.get_uri_args()) do next_charge:set(name, value) end
    ngx.say(#next_charge:get_keys())
end


local function take(name)
    local value = next_charge:get(name)
    next_charge:delete(name)
    return value
end


local function text_of(answer)
    return ("HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n"):format(answer)
end


function _M.charge()
    local key = ngx.req.get_headers()["Idempotency-Key"]
    local delay, silent = take "delay", take "silent"
    local times, answer = take "twice" and 2 or 1, take "refuse" and "402 Refused" or "200 Charged"
    if silent then return ngx.sleep(3600) end
    answers:safe_add(key, answer)
    ngx.sleep(tonumber(delay) or DELAY)
    ngx.req.socket(true):send(text_of(answers:get(key)):rep(times))
end


--- How many keys were charged.
function _M.charges()
    local count = 0
    for _, key in ipairs(answers:get_keys(0)) do
        if answers:get(key):find "^200" then count = count + 1 end
    end
    ngx.say(count)
end


return _M
