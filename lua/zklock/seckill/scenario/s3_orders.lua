--- Seed article S3, where 15 clients with a session each want one of 10 orders (DEMO-11). 10 get
--- an order, 5 are refused. The log shows the queue as the seed article does.

local evidence = require "zklock.seckill.scenario.evidence"
local zklock = require "zklock"

local CLIENTS, ORDERS = 15, 10
local POLL = 0.002 -- seconds between checks whether the client is queued

local s3 = {}


local function own_and_ahead(lock)
    local ahead
    for _, entry in ipairs(lock:queue()) do
        if entry.mine then return entry, ahead end
        ahead = entry
    end
end


local function name_of(identity) return (identity:gsub("^server ", "Thread-")) end

local function note_node(buyer, progress)
    local own, ahead = own_and_ahead(buyer.strategy:lock(buyer.lock))
    if not own or progress.has_noted then return end
    progress.has_noted = true
    buyer:note("created " .. own.name)
    if ahead then buyer:note("watches " .. ahead.name .. " of " .. name_of(ahead.identity)) end
end


local function note_once_queued(buyer, progress)
    while not progress.queued do
        if progress.granted then return end
        zklock.sleep(POLL)
    end
    note_node(buyer, progress)
end


local function contend(buyer, progress)
    local entered = buyer:enter{ on_queued = function() progress.queued = true end }
    progress.granted = true
    if not entered then return end
    note_node(buyer, progress)
    if progress.queued then buyer:note "heard the node deletion event!" end
    buyer:note "got the lock"
    buyer:try_to_buy()
    buyer:note "releases the lock"
    buyer:leave()
end


function s3.order(buyer)
    local progress = {}
    zklock.run(
        function() contend(buyer, progress) end,
        function() note_once_queued(buyer, progress) end)
end


-- A client may note its node after its successors have noted theirs. So each note of a node gets a
-- time that is not after the notes of nodes with higher numbers.
local function put_in_order(notes)
    local created = {}
    for i, note in ipairs(notes) do
        local number = note.line:match "^created .*%-(%d+)$"
        note.position, note.node = i, tonumber(number) or math.huge
        if number then created[#created + 1] = note end
    end
    table.sort(created, function(a, b) return a.node > b.node end)
    for i = 2, #created do created[i].at = math.min(created[i].at, created[i - 1].at) end
    table.sort(notes, function(a, b)
        if a.at ~= b.at then return a.at < b.at end
        if a.node ~= b.node then return a.node < b.node end
        return a.position < b.position
    end)
    for _, note in ipairs(notes) do note.position, note.node = nil, nil end
end


-- The lines of the first two clients that got the lock, as in the seed article's walk-through.
local function first_two(log)
    local chosen, count, lines = {}, 0, {}
    for _, entry in ipairs(log) do
        if entry.line == "got the lock" and count < 2 then
            chosen[entry.who], count = true, count + 1
        end
    end
    for _, entry in ipairs(log) do
        if chosen[entry.who] then lines[#lines + 1] = entry end
    end
    return lines
end


local function play(_, run)
    local sale = run:sale{
        products = { ["1"] = ORDERS }, buyers = CLIENTS, servers = CLIENTS,
        strategy = "zookeeper", timeout = 60,
        purchase = "zklock.seckill.scenario.s3_orders:order",
    }
    local right = sale.verdict == "right" and sale.sold == ORDERS
        and sale.refused == CLIENTS - ORDERS
    local finding = ("%d sold, %d refused, %d left"):format(sale.sold, sale.refused, sale.left)
    if right and not evidence.tokens_grow(sale) then
        right, finding = false, "tokens do not grow"
    end
    put_in_order(sale.notes)
    local log = evidence.log(sale, "Thread-%d")
    return {
        right = right, finding = finding, sales = { sale }, log = log, glimpse = first_two(log),
    }
end


s3.scenarios = {
    {
        id = "DEMO-11", title = "15 clients, 10 orders",
        expect = "right", zookeeper = true, play = play,
        explanation = "Each client makes a node, watches the node before its own, and has the lock "
            .. "when that is gone.",
    },
}


return s3
