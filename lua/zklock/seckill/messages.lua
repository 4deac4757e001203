--- Shortens the messages between servers and ZooKeeper in a simulated sale for its record. Messages
--- about paths outside the locks' folder are left out.

local messages = {}


---@class zklock.seckill.Message
---@field server integer   the number of the server; ZooKeeper is the other end
---@field kind "request" | "answer" | "event"
---@field sent number      seconds since the sale began
---@field arrived number?  nil if the message was lost
---@field lock string?     name of the lock
---@field text string      "create lock", "get and watch #3", "#3 was deleted", with a node's number


local function short_node(node)
    local number = node:match "(%d%d%d%d%d%d%d%d%d%d)$"
    if number then return ("#%d"):format(tonumber(number)) end
    return (node:gsub("^_c_%x+%-%x+%-%x+%-%x+%-%x+%-", ""):gsub("%-$", ""))
end


local function unescaped(name)
    return (name:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end


-- Returns the shortened text of a message and the name of its lock; nil if its path is outside the
-- folder.
local function shortened(text, folder)
    local before, path, after = text:match "^(.-)(/[^%s:]*)(.*)$"
    if not path then return text end
    if path:sub(1, #folder) ~= folder then return nil end
    local lock, node = path:sub(#folder + 1):match "^([^/]+)/?(.*)$"
    if not lock then return nil end
    local word = node == "" and "the folder" or short_node(node)
    return before .. word .. after, unescaped(lock)
end


local SESSION_ANSWERS = { connected = true, closed = true, expired = true }

local function kind_of(message)
    if message.up then return "request" end
    local is_answer = SESSION_ANSWERS[message.text] or message.text:find "^answer to "
    return is_answer and "answer" or "event"
end


---@param list zklock.Message[]
---@param folder string  of the locks, with a trailing slash
---@return zklock.seckill.Message[]
function messages.of(list, folder)
    local kept = {}
    for _, each in ipairs(list) do
        local text, lock = shortened(each.text, folder)
        local server = (each.process or ""):match "^server (%d+)$"
        if text and server then
            kept[#kept + 1] = {
                server = tonumber(server), kind = kind_of(each), sent = each.sent,
                arrived = each.arrived, lock = lock, text = text,
            }
        end
    end
    return kept
end


return messages
