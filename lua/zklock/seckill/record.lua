--- The record of a sale: what happened to each buyer, as its server wrote it down, line by line,
--- while it happened. What a server wrote is there also when it was killed.
---
--- A line is a time, a buyer's number, a word, and what belongs to it:
---
---     12.345600 17 wants bun 2 tea 1    it wants that instead of what the sale's options say
---     12.345678 17 asked 10000001       the lock of that name
---     12.345679 17 patience 0            seconds for which it waits, if that is its own
---     12.400123 17 granted 8589934595   its token; "-": it has none
---     12.400300 17 read 100 10000001   the stock, of which product
---     12.421000 17 written 99 10000001 1  the stock that it wrote, of which product; pieces sold
---     12.421100 17 retries              the write was refused: it tries again, or gives up
---     12.421200 17 returned 1 10000001  it gave that many pieces of that product back
---     12.421300 17 lost                 it learns that of its hold; "suspect"
---     12.421321 17 released
---     12.421400 17 told sold
---     12.421500 17 note - thanks        its token, if it has the lock; and a line of text
---
--- Times are those of zklock's clock, which all processes of a machine share. (In a simulated sale
--- nothing is written down; what happens is taken as a line of it would be.)

local runtime = require "zklock.waiting.runtime"


---@class zklock.seckill.Purchase
---@field buyer integer
---@field server integer      the number of the server
---@field product string
---@field lock string         name of the lock: the product's, or one for all
---@field shared boolean?     had with others (a read lock)
---@field asked number?       seconds since the sale began; nil: never came to ask
---@field patience number?    seconds for which it would wait; nil: the sale's timeout
---@field granted number?     when it had the lock
---@field retries integer?    how often its write was refused for an old version
---@field released number?    when it gave it up
---@field suspect number?     when it learned that of its hold
---@field lost number?        likewise
---@field ended number?       when its server ended while it had the lock
---@field token string?       the digits of the fencing token
---@field read integer?       the stock of its product that it read last
---@field left integer?       the stock that it wrote
---@field written number?     when
---@field quantity integer    pieces of its product that it wanted
---@field wants table<string, integer>?  what it wanted, if that is not `quantity` of `product`
---@field pieces integer?     pieces that it wrote an order of, if they are not `quantity`
---@field returned table<string, integer>?  pieces that it gave back, by product
---@field sold_before integer?  how often it was told "sold" before it asked again
---@field writes table[]?     of other products: { product =, left =, quantity =, at = }
---@field outcome string      "sold", "refused", a code of zklock, "late", "error" or "unanswered"
---@field told number?        when it was told that


---@class zklock.seckill.Record
---@field write fun(self, buyer: integer, word: string, about: any?)
local Record = {}
Record.__index = Record


local record = {}


local function path_of(folder, server) return ("%s/record-%d"):format(folder, server) end


--- Opens a server's record for writing.
---@param folder string   of the sale
---@param server integer
---@return zklock.seckill.Record
function record.create(folder, server)
    local file = assert(io.open(path_of(folder, server), "a"))
    file:setvbuf "line" -- a line is written whole, or not at all
    return setmetatable({ file = file }, Record)
end


local function one_line(text) return (tostring(text):gsub("[%c]+", " ")) end

function Record:write(buyer, word, about)
    self.file:write(("%.6f %d %s"):format(runtime.now(), buyer, word),
        about ~= nil and " " .. one_line(about) or "", "\n")
end


local apply = {}

-- A buyer that asks again begins anew: of several locks the last one stays.
function apply.asked(purchase, at, lock)
    if purchase.outcome == "sold" then
        purchase.sold_before = (purchase.sold_before or 0) + 1
    end
    purchase.asked, purchase.lock = at, lock
    purchase.granted, purchase.released, purchase.shared = nil, nil, nil
    purchase.suspect, purchase.lost, purchase.patience = nil, nil, nil
    purchase.told, purchase.outcome = nil, "unanswered"
end

function apply.wants(purchase, _, about)
    local wants = {}
    for product, quantity in about:gmatch "(%S+) (%d+)" do wants[product] = tonumber(quantity) end
    purchase.wants, purchase.quantity = wants, wants[purchase.product] or 0
end

function apply.patience(purchase, _, seconds) purchase.patience = tonumber(seconds) end

-- The buyer waits on, as with sql-optimistic.
function apply.retries(purchase)
    purchase.granted, purchase.shared = nil, nil
    purchase.retries = (purchase.retries or 0) + 1
end

function apply.returned(purchase, _, about)
    local quantity, product = about:match "^(%d+) (%S+)$"
    purchase.returned = purchase.returned or {}
    purchase.returned[product] = (purchase.returned[product] or 0) + tonumber(quantity)
end

function apply.granted(purchase, at, token)
    purchase.granted, purchase.token = at, token ~= "-" and token or nil
end

function apply.suspect(purchase, at) purchase.suspect = purchase.suspect or at end
function apply.lost(purchase, at) purchase.lost = purchase.lost or at end
function apply.shared(purchase) purchase.shared = true end

function apply.read(purchase, _, about)
    local stock, product = about:match "^(%S+) (%S+)$"
    if product == purchase.product then purchase.read = tonumber(stock) end
end

-- The stock that a purchase wrote is its product's; `writes` has others.
function apply.written(purchase, at, about)
    local left, product, quantity = about:match "^(%S+) ?(%S*) ?(%S*)$"
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
---@field token string?  the buyer had the lock then
---@field line string

local function note_of(at, buyer, server, about)
    local token, line = about:match "^(%S+) ?(.*)$"
    return {
        at = at, buyer = buyer, server = server, line = line,
        token = token ~= "-" and token or nil,
    }
end


-- What a line says.
local function take(purchases, notes, server, at, buyer, word, about)
    if word == "note" then
        notes[#notes + 1] = note_of(at, buyer, server, about)
    else
        apply[word](purchases[buyer], at, about)
    end
end


local InMemory = {}
InMemory.__index = InMemory

function InMemory:write(buyer, word, about)
    take(self.purchases, self.notes, self.server, runtime.now() - self.start, buyer, word,
        about ~= nil and one_line(about) or "")
end


--- A server's record of a simulated sale, which began at that time.
---@param purchases table<integer, zklock.seckill.Purchase>  by buyer
---@param notes zklock.seckill.Note[]
---@param server integer
---@param start number
---@return zklock.seckill.Record
function record.in_memory(purchases, notes, server, start)
    return setmetatable({ purchases = purchases, notes = notes, server = server, start = start },
        InMemory)
end


--- The purchases of a sale, before it.
function record.purchases(plan)
    local purchases = {}
    for i, wish in ipairs(plan.wishes) do
        purchases[i] = {
            buyer = i, server = wish.server, product = wish.product, lock = wish.lock,
            quantity = wish.quantity, outcome = "unanswered",
        }
    end
    return purchases
end


--- Those that had a lock when their server ended had it until then.
---@param purchases zklock.seckill.Purchase[]
---@param ended fun(server: integer): number  when it did, seconds since the sale began
function record.end_holds(purchases, ended)
    for _, purchase in ipairs(purchases) do
        if purchase.granted and not purchase.released then
            purchase.ended = ended(purchase.server)
        end
    end
end


--- Reads what a server wrote into the purchases of its buyers.
---@param folder string
---@param server integer
---@param start number  the time at which the sale began
---@param purchases table<integer, zklock.seckill.Purchase>  by buyer
---@param notes zklock.seckill.Note[]  gets the server's
---@return number? last  when the last line was written, seconds since the start
function record.read(folder, server, start, purchases, notes)
    local file = io.open(path_of(folder, server))
    if not file then return nil end
    local last
    for line in file:read("*a"):gmatch "([^\n]*)\n" do -- a last one without its end is none
        local at, buyer, word, about = line:match "^(%S+) (%d+) (%l+) ?(.*)$"
        if at then
            at, buyer = tonumber(at) - start, tonumber(buyer)
            last = at
            take(purchases, notes, server, at, buyer, word, about)
        end
    end
    file:close()
    return last
end


--- The last thing that a server wrote down; nil: nothing yet.
function record.last(folder, server)
    local file = io.open(path_of(folder, server))
    if not file then return nil end
    local line = file:read "*a":match "([^\n]*)\n[^\n]*$" or ""
    file:close()
    local buyer, word = line:match "^%S+ (%d+) (%l+)"
    return tonumber(buyer), word
end


--- Counts in a record that is being written: each call gives the lines with that word since the
--- call before.
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
