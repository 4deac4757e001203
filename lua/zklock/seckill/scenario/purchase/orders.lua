--- S3's purchase, which tells what becomes of its node.

local zklock = require "zklock"


-- How often a client looks whether it has been queued.
local POLL = 0.002


-- Own node and the one before it, from the lock's queue.
local function neighbours(lock)
    local ahead
    for _, entry in ipairs(lock:queue()) do
        if entry.mine then return entry, ahead end
        ahead = entry
    end
end


local function name_of(identity) return (identity:gsub("^server ", "Thread-")) end

-- Notes the own node once, and the node that it watches.
local function look(buyer, progress)
    local own, ahead = neighbours(buyer.strategy:lock(buyer.lock))
    if not own or progress.looked then return end
    progress.looked = true
    buyer:note("created " .. own.name)
    if ahead then buyer:note("watches " .. ahead.name .. " of " .. name_of(ahead.identity)) end
end


-- Waits until this client stands in line, and looks.
local function watch(buyer, progress)
    while not progress.queued do
        if progress.granted then return end
        zklock.sleep(POLL)
    end
    look(buyer, progress)
end


local function contend(buyer, progress)
    local entered = buyer:enter{ on_queued = function() progress.queued = true end }
    progress.granted = true
    if not entered then return end
    look(buyer, progress)
    if progress.queued then buyer:note "heard the node deletion event!" end
    buyer:note "got the lock"
    buyer:try_to_buy()
    buyer:note "releases the lock"
    buyer:leave()
end


return function(buyer)
    local progress = {}
    zklock.run(
        function() contend(buyer, progress) end,
        function() watch(buyer, progress) end)
end
