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
---@field sold_before integer?  number of answers "sold" to earlier requests of this buyer
---@field writes table[]?     for other products, { product =, left =, quantity =, at = }
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
    local file = assert(io.open(path_of(folder, server), "a"))
    file:setvbuf "line" -- no partial lines
    return setmetatable({ file = file }, Record)
end


local function one_line(text) return (tostring(text):gsub("[%c]+", " ")) end

function Record:write(buyer, word, details)
    self.file:write(("%.6f %d %s"):format(runtime.now(), buyer, word),
        details ~= nil and " " .. one_line(details) or "", "\n")
end


local apply = {}

-- A buyer's new request replaces its earlier request and grant.
function apply.asked(purchase, at, lock)
    if purchase.outcome == "sold" then
        purchase.sold_before = (purchase.sold_before or 0) + 1
    end
    purchase.asked, purchase.lock = at, lock
    purchase.granted, purchase.released, purchase.shared = nil, nil, nil
    purchase.suspect, purchase.lost, purchase.patience = nil, nil, nil
    purchase.told, purchase.outcome = nil, "unanswered"
end

function apply.wants(purchase, _, details)
    local wants = {}
    for product, quantity in details:gmatch "(%S+) (%d+)" do wants[product] = tonumber(quantity) end
    purchase.wants, purchase.quantity = wants, wants[purchase.product] or 0
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

-- A write to the buyer's own product sets fields of the purchase; other writes go to `writes`.
function apply.written(purchase, at, details)
    local left, product, quantity = details:match "^(%S+) ?(%S*) ?(%S*)$"
    purchase.written = at
    if product == purchase.product or product == "" then
        purchase.left = tonumber(left)
        local pieces = tonumber(quantity)
        purchase.pieces = pieces ~= purchase.quantity and pieces or nil
    else
        purchase.writes = purchase.writes or {}
        purchase.writes[#purchase.writes + 1] = {
            product = product, left = tonumber(left), quantity = tonumber(quantity), at = at,
        }
    end
end

function apply.released(purchase, at) purchase.released = at end

function apply.told(purchase, at, outcome)
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
