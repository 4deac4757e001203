--- DEMO-11: 15 clients, each a process with a session of its own, want one of
--- 10 orders (S3): 10 get one, 5 are refused. The journal shows the line of
--- waiters as the seed's log does.

local store = require "zklock.seckill.store"
local zklock = require "zklock"


local CLIENTS = 15

-- How often a client looks whether it has been queued.
local POLL = 0.002


local orders = {}


-- in the demo -----------------------------------------------------------------------------------

-- The lines of the first two that got the lock: the seed's walk-through.
local function first_two(journal)
    local chosen, count, lines = {}, 0, {}
    for _, entry in ipairs(journal) do
        if entry.line == "got the lock" and count < 2 then
            chosen[entry.who], count = true, count + 1
        end
    end
    for _, entry in ipairs(journal) do
        if chosen[entry.who] then lines[#lines + 1] = entry end
    end
    return lines
end


local function judge(records)
    local sold, refused = records:told "sold", records:told "refused"
    local left = records:orders_left()
    local journal = records:journal()
    local right = sold == store.ORDERS and refused == CLIENTS - store.ORDERS and left == 0
    local finding = ("%d sold, %d refused, %d left"):format(sold, refused, left)
    if right and not records:tokens_grow "answer" then
        right, finding = false, "tokens do not grow"
    end
    return { right = right, finding = finding, log = journal, glimpse = first_two(journal) }
end


local function play(_, run)
    for client = 1, CLIENTS do
        run:start("orders", "Thread-" .. client)
    end
    run:open_barrier()
    run:finish()
    return judge(run.store)
end


orders.scenarios = {
    {
        id = "DEMO-11", title = "15 clients, 10 orders",
        expect = "right", zookeeper = true, play = play,
    },
}


-- in a client -----------------------------------------------------------------------------------

-- Own node and the one before it, from the lock's queue.
local function neighbours(lock)
    local ahead
    for _, entry in ipairs(lock:queue()) do
        if entry.mine then return entry, ahead end
        ahead = entry
    end
end


-- Notes the own node once, and whom it watches.
local function look(worker, lock, progress)
    local own, ahead = neighbours(lock)
    if not own or progress.looked then return end
    progress.looked = true
    worker:note("created " .. own.name)
    if ahead then worker:note("watches " .. ahead.name .. " of " .. ahead.identity) end
end


-- Waits until this client stands in line, and looks.
local function watch(worker, lock, progress)
    while not progress.queued do
        if progress.granted then return end
        zklock.sleep(POLL)
    end
    look(worker, lock, progress)
end


-- S3's purchase: no transaction, the lock alone keeps it right.
local function buy(worker, lease)
    local left = worker.store:orders_left()
    zklock.sleep(worker.pause)
    local sold = left > 0 and worker.store:set_orders_left(left - 1)
    worker.store:tell(worker.name, worker.name, sold and "sold" or "refused",
        lease:token_string())
end


local function contend(worker, lock, progress)
    local lease = assert(lock:acquire {
        on_queued = function() progress.queued = true end,
    })
    progress.granted = true
    look(worker, lock, progress)
    if progress.queued then worker:note("heard the node deletion event!", lease) end
    worker:note("got the lock", lease)
    buy(worker, lease)
    worker:note("releases the lock", lease)
    assert(lease:release())
end


---@param worker zklock.seckill.Worker
function orders.act(worker)
    local lock = worker:connect():mutex(worker:path "/LOCK")
    local progress = {}
    worker:wait_for_start()
    zklock.run(
        function() contend(worker, lock, progress) end,
        function() watch(worker, lock, progress) end)
end


return orders
