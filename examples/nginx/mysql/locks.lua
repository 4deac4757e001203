--- The session of this worker with ZooKeeper, shared by all its requests.

local zklock = require "zklock"

local _M = {}
local session


-- Runs in a timer, which no client can end. Tries again each second until ZooKeeper answers.
local function open(premature)
    if premature then return end
    local message
    session, message = zklock.connect(os.getenv "ZK_HOSTS" or "127.0.0.1:2181", {
        drain = 10, -- at a reload the old worker's requests get their locks
        recover = os.getenv "RECOVER" or "/dev/shm/shop", -- after a crash: locks are soon free
    })
    if session then return end
    ngx.log(ngx.ERR, message)
    ngx.timer.at(1, open)
end


--- In init_worker_by_lua, where nothing can wait.
function _M.start()
    ngx.timer.at(0, open)
end


--- The session. The first requests of a new worker wait for it, as long as connect() waits.
function _M.session()
    for _ = 1, 500 do
        if session then return session end
        ngx.sleep(0.01)
    end
end


--- In log_by_lua. Releases all that the request still holds, however it ended.
function _M.finish()
    if session then session:release_all() end
end


return _M
