--- The record of a sale. Each server writes a line for each event as it happens, so a killed server
--- leaves its record, too.
---
--- A line has a time, a buyer's number, a word, and its details:
---
---     12.345600 17 wants bun 2 tea 1    instead of the product in the sale's options
---     12.345678 17 asked 10000001       the lock's name
---     12.345679 17 patience 0            seconds to wait, if not the sale's timeout
---     12.400123 17 granted 8589934595   the token, or "-"
---     12.400125 17 shared               others may hold the lock, too
---     12.400300 17 read 100 10000001   stock, product
---     12.421000 17 written 99 10000001 1  stock, product, pieces sold
---     12.421100 17 retries              after a refused write
---     12.421200 17 returned 1 10000001  pieces given back, product
---     12.421300 17 lost                 the lease's new state; also "suspect"
---     12.421321 17 released
---     12.421400 17 told sold
---     12.421500 17 note - thanks        the token of a holder, or "-", and a text
---
--- Times are by zklock's clock, which all processes of a machine share. A simulated sale keeps its
--- events in memory instead of lines.

local runtime = require "zklock.waiting.runtime"


---@class zklock.seckill.Purchase
---@field buyer integer
---@field server integer      the number of the server
---@field product string
---@field lock string         name of the product's lock, or of the only lock
---@field shared boolean?     held together with others (a read lock)
---@field asked number?       seconds since the sale began; nil if the buyer never asked
---@field patience number?    seconds to wait, if not the sale's timeout
---@field granted number?     when the buyer got the lock
---@field retries integer?    number of writes refused for an old version
---@field released number?    when the buyer released the lock
---@field suspect number?     when the lease became suspect
---@field lost number?        when the lease was lost
---@field ended number?       when the server ended during the hold
---@field token string?       the digits of the fencing token
---@field read integer?       the stock of the last read
---@field left integer?       the stock after the buyer's write
---@field written number?     when the buyer wrote
---@field quantity integer    wanted pieces of `product`
---@field wants table<string, integer>?  wanted pieces by product, if not `quantity` of `product`
---@field pieces integer?     ordered pieces, if not `quantity`
---@field returned table<string, integer>?  pieces given back, by product
---@field earlier zklock.seckill.Purchase[]?  the buyer's earlier requests and answers
---@field writes table[]?     other writes, { product =, left =, quantity =, at = }
---@field outcome string      the answer: "sold", "refused", a code of zklock, "late", "conflict",
---"error", "hung" or "untold"; else "unanswered"
---@field told number?        when the buyer got the answer


---@class zklock.seckill.Record
---@field write fun(self, buyer: integer, word: string, details: any?)
local Record = {}
Record.__index = Record


local record = {}


local function path_of(folder, server) return ("%s/record-%d"):format(folder, server) end


---@param folder string   the sale's
---@param server integer
---@return zklock.seckill.Record
function record.create(folder, server)
    return setmetatable({ file = assert(io.open(path_of(folder, server), "a")) }, Record)
end


local function one_line(text) return (tostring(text):gsub("[%c]+", " ")) end

function Record:write(buyer, word, details)
    self.file:write(("%.6f %d %s"):format(runtime.now(), buyer, word),
        details ~= nil and " " .. one_line(details) or "", "\n")
    local written, problem = self.file:flush() -- setvbuf "line" would hide a full disk
    if not written then error("the sale's record cannot be written: " .. problem, 0) end
end


local apply = {}

local OF_HOLD = {
    "asked", "patience", "granted", "shared", "released", "suspect", "lost", "token", "retries",
}
local OF_WRITE = { "read", "left", "pieces", "written", "writes" }

local next_wants = setmetatable({}, { __mode = "k" }) -- of a purchase's next request

local function move(fields, from, to)
    for _, name in ipairs(fields) do to[name], from[name] = from[name], nil end
end

local function set_wants(purchase, wants)
    purchase.wants, purchase.quantity = wants, wants[purchase.product] or 0
end

-- Puts the request and its answer among the buyer's earlier ones, with these fields.
local function set_aside(purchase, ...)
    local aside = {
        buyer = purchase.buyer, server = purchase.server, product = purchase.product,
        lock = purchase.lock, quantity = purchase.quantity, wants = purchase.wants,
        told = purchase.told, outcome = purchase.told and purchase.outcome or nil,
    }
    for _, fields in ipairs{ ... } do move(fields, purchase, aside) end
    purchase.earlier = purchase.earlier or {}
    table.insert(purchase.earlier, aside)
    purchase.told, purchase.outcome = nil, "unanswered"
    if next_wants[purchase] then set_wants(purchase, next_wants[purchase]) end
    next_wants[purchase] = nil
    return aside
end

function apply.asked(purchase, at, lock)
    if purchase.asked or purchase.told then
        local aside = set_aside(purchase, OF_HOLD, OF_WRITE)
        if not aside.released then aside.granted = nil end -- the buyer asks during its hold
    end
    purchase.asked, purchase.lock, purchase.outcome = at, lock, "unanswered"
end

-- After an answer a wish is of the next request, unless it is to want nothing any more.
function apply.wants(purchase, _, details)
    local wants = {}
    for product, quantity in details:gmatch "(%S+) (%d+)" do wants[product] = tonumber(quantity) end
    if purchase.told and next(wants) then
        next_wants[purchase] = wants
    else
        set_wants(purchase, wants)
    end
end

function apply.patience(purchase, _, seconds) purchase.patience = tonumber(seconds) end

-- After a refused write the buyer waits again.
function apply.retries(purchase)
    purchase.granted, purchase.shared = nil, nil
    purchase.retries = (purchase.retries or 0) + 1
end

function apply.returned(purchase, _, details)
    local quantity, product = details:match "^(%d+) (%S+)$"
    purchase.returned = purchase.returned or {}
    purchase.returned[product] = (purchase.returned[product] or 0) + tonumber(quantity)
end

function apply.granted(purchase, at, token)
    purchase.granted, purchase.token = at, token ~= "-" and token or nil
end

function apply.suspect(purchase, at) purchase.suspect = purchase.suspect or at end
function apply.lost(purchase, at) purchase.lost = purchase.lost or at end
function apply.shared(purchase) purchase.shared = true end

function apply.read(purchase, _, details)
    local stock, product = details:match "^(%S+) (%S+)$"
    if product == purchase.product then purchase.read = tonumber(stock) end
end

local function add_write(purchase, product, left, quantity, at)
    purchase.writes = purchase.writes or {}
    table.insert(purchase.writes, { product = product, left = left, quantity = quantity, at = at })
end

-- The last write to the buyer's own product sets fields of the purchase; others go to `writes`.
function apply.written(purchase, at, details)
    local left, product, quantity = details:match "^(%S+) ?(%S*) ?(%S*)$"
    if product == purchase.product or product == "" then
        if purchase.left then
            add_write(purchase, purchase.product, purchase.left,
                purchase.pieces or purchase.quantity, purchase.written)
        end
        purchase.left = tonumber(left)
        local pieces = tonumber(quantity)
        purchase.pieces = pieces ~= purchase.quantity and pieces or nil
    else
        add_write(purchase, product, tonumber(left), tonumber(quantity), at)
    end
    purchase.written = at
end

function apply.released(purchase, at) purchase.released = at end

-- A buyer that was told "sold", and is told again in the same hold, has bought before. "sold" again
-- without a write in between repeats the answer.
function apply.told(purchase, at, outcome)
    if purchase.told and purchase.outcome == "sold" then
        local wrote_again = (purchase.written or 0) > purchase.told
        if wrote_again then
            set_aside(purchase)
        elseif outcome ~= "sold" then
            set_aside(purchase, OF_WRITE)
        end
    end
    purchase.told, purchase.outcome = at, outcome
end


---@class zklock.seckill.Note
---@field at number      seconds since the sale began
---@field buyer integer
---@field server integer
---@field token string?  if the buyer held the lock
---@field line string

local function note_of(at, buyer, server, details)
    local token, line = details:match "^(%S+) ?(.*)$"
    return {
        at = at, buyer = buyer, server = server, line = line,
        token = token ~= "-" and token or nil,
    }
end


local function apply_event(purchases, notes, server, at, buyer, word, details)
    if word == "note" then
        notes[#notes + 1] = note_of(at, buyer, server, details)
    else
        apply[word](purchases[buyer], at, details)
    end
end


local InMemory = {}
InMemory.__index = InMemory

function InMemory:write(buyer, word, details)
    apply_event(self.purchases, self.notes, self.server, runtime.now() - self.began_at, buyer, word,
        details ~= nil and one_line(details) or "")
end


--- A server's record for a simulated sale that began at `began_at`. It updates purchases directly.
---@param purchases table<integer, zklock.seckill.Purchase>  by buyer
---@param notes zklock.seckill.Note[]
---@param server integer
---@param began_at number
---@return zklock.seckill.Record
function record.in_memory(purchases, notes, server, began_at)
    return setmetatable({
        purchases = purchases, notes = notes, server = server, began_at = began_at,
    }, InMemory)
end


function record.purchases(plan)
    local purchases = {}
    for i, assignment in ipairs(plan.assignments) do
        purchases[i] = {
            buyer = i, server = assignment.server, product = assignment.product,
            lock = assignment.lock, quantity = assignment.quantity, outcome = "unanswered",
        }
    end
    return purchases
end


--- The purchases, and the earlier requests of their buyers.
---@param purchases zklock.seckill.Purchase[]
---@return zklock.seckill.Purchase[]
function record.requests(purchases)
    local requests = {}
    for _, purchase in ipairs(purchases) do
        for _, earlier in ipairs(purchase.earlier or {}) do requests[#requests + 1] = earlier end
        requests[#requests + 1] = purchase
    end
    return requests
end


--- Sets the end of each unreleased hold to the end of its server.
---@param purchases zklock.seckill.Purchase[]
---@param end_of fun(server: integer): number  end of the server in seconds since the sale began
function record.end_holds(purchases, end_of)
    for _, purchase in ipairs(purchases) do
        if purchase.granted and not purchase.released then
            purchase.ended = end_of(purchase.server)
        end
    end
end


---@param folder string
---@param server integer
---@param began_at number  the time when the sale began
---@param purchases table<integer, zklock.seckill.Purchase>  by buyer
---@param notes zklock.seckill.Note[]  receives the server's notes
---@return number? last  time of the last line in seconds since then
function record.read(folder, server, began_at, purchases, notes)
    local file = io.open(path_of(folder, server))
    if not file then return nil end
    local last
    for line in file:read("*a"):gmatch "([^\n]*)\n" do -- skips a partial last line
        local at, buyer, word, details = line:match "^(%S+) (%d+) (%l+) ?(.*)$"
        if at then
            at, buyer = tonumber(at) - began_at, tonumber(buyer)
            last = at
            apply_event(purchases, notes, server, at, buyer, word, details)
        end
    end
    file:close()
    return last
end


--- The buyer's number and the word of the last event in a server's record; nil without an event.
function record.last_event(folder, server)
    local file = io.open(path_of(folder, server))
    if not file then return nil end
    local line = file:read "*a":match "([^\n]*)\n[^\n]*$" or ""
    file:close()
    local buyer, word = line:match "^%S+ (%d+) (%l+)"
    return tonumber(buyer), word
end


--- Returns a function that counts the lines with this word that were added since its last call.
function record.counter(folder, server, word)
    local file = assert(io.open(path_of(folder, server)))
    local pattern = "\n%S+ %d+ " .. word .. "%f[^%l]"
    local rest = "\n"
    return function()
        local text = rest .. (file:read "*a" or "")
        local whole = text:match "^(.*)\n" or ""
        rest = text:sub(#whole + 1)
        return select(2, whole:gsub(pattern, ""))
    end
end


return record
