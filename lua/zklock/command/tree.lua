--- Reads nodes, locks and their contenders from ZooKeeper.

local failure = require "zklock.value.failure"
local join = require("zklock.value.path").join

local ipairs = ipairs

local OWN = "/zookeeper" -- ZooKeeper's own nodes

local _M = {
    FIXED = "lock", -- the one node of order = "none"
}

local FIXED = _M.FIXED


local function take_names(request, path)
    local code, detail = request.handle:result()
    if code ~= "ok" then return failure(code, path, detail) end
    local names = {}
    for name in request.handle:data():gmatch("%Z+") do names[#names + 1] = name end
    table.sort(names)
    return names
end


---@param session zklock.Session
---@return string[]? names
---@return string? message
---@return string? code "no_node", "auth", "timeout"
function _M.children(session, path)
    local timeout = session:timeout()
    return session:await(session.handle:children(path, timeout), timeout, take_names, path)
end


-- A contender's name ends in a server's counter. Others may, such as order-1700000000.
local function is_numbered(name)
    return name:find("[-_]%d%d%d%d%d%d%d%d%d%d$") ~= nil
        or name:find("[-_]%-%d%d%d%d%d%d%d%d%d%d?$") ~= nil
end


local function has_fixed(names)
    for _, name in ipairs(names) do
        if name == FIXED then return true end
    end
    return false
end


-- Tells the client's language by the form of the name. A zklock node begins with its session's id.
local function language(entry)
    local name, session = entry.name, ("0"):rep(16 - #entry.session) .. entry.session
    local uuid = name:match("^_c_(%x+%-%x+%-%x+%-%x+%-%x+)%-")
    if name == FIXED or uuid and uuid:gsub("%-", ""):sub(1, 16) == session then return "Lua" end
    if uuid then return "Java" end
    if name:find("^_c_%x+%-") then return "Go" end
    return name:find("^%x+[-_]") and #name:match("^%x+") == 32 and "Python" or nil
end


--- The lock at a path, of any kind, and its queue, with each contender's `language` if known.
---@param names? string[] the path's children, if known
---@return zklock.Lock? lock
---@return table|string queue or message
---@return string? code "no_node", also with a lock: there is no node at the path
function _M.lock(session, path, names)
    local message, code, queue, absent
    if not names then
        names, message, code = _M.children(session, path)
        if code == "no_node" then names, absent = {}, code end
        if not names then return nil, message, code end
    end
    local lock = session:mutex(path)
    queue, message, code = lock:queue()
    if queue and not queue[1] and has_fixed(names) then
        lock = session:mutex(path, { order = "none" })
        queue, message, code = lock:queue()
        -- a node of that name without a session is another program's
        if queue and queue[1] and queue[1].session == "0" then queue = {} end
    end
    if not queue then return nil, message, code end
    for _, entry in ipairs(queue) do entry.language = language(entry) end
    return lock, queue, absent
end


-- The identity, unless it is empty or a request to give way has overwritten it.
local function identity(entry)
    return entry.identity ~= "" and not entry.revoked and entry.identity or nil
end


---@return string
function _M.name_of(entry) return identity(entry) or "0x" .. entry.session end


---@return table? entry nil without a holder
---@return string? name
function _M.holder(queue)
    local first = queue[1]
    if not (first and first.held) then return nil end
    return first, identity(first) or "session " .. _M.name_of(first)
end


local function may_be_lock(names)
    for _, name in ipairs(names) do
        if name == FIXED or is_numbered(name) then return true end
    end
    return false
end


local add_locks

-- Ephemeral contenders are left out, because they have no children.
local function add_locks_below(session, path, names, queue, locks, unreadable)
    local contends = {}
    for _, entry in ipairs(queue) do contends[entry.name] = entry.session ~= "0" end
    for _, name in ipairs(names) do
        local child = join(path, name)
        if not contends[name] and child ~= OWN then
            local ok, message, code = add_locks(session, child, locks, unreadable)
            if code == "auth" then unreadable[#unreadable + 1] = child
            elseif not ok and code ~= "no_node" then return nil, message, code end
        end
    end
    return true
end


function add_locks(session, path, locks, unreadable)
    local names, message, code = _M.children(session, path)
    if not names then return nil, message, code end
    local queue = {}
    if path ~= "/" and may_be_lock(names) then
        local lock, result, why = _M.lock(session, path, names)
        if not lock then return nil, result, why end
        queue = result
        if queue[1] then locks[#locks + 1] = { path = path, queue = queue } end
    end
    return add_locks_below(session, path, names, queue, locks, unreadable)
end


--- All locks with contenders at a path and below it, as { path, queue }, and the paths that may not
-- be read. Leaves out nodes that disappear meanwhile.
---@return table[]? locks
---@return string[]|string unreadable or message
---@return string? code "no_node", also with locks: there is no node at the path
function _M.locks(session, path)
    local locks, unreadable = {}, {}
    local ok, message, code = add_locks(session, path, locks, unreadable)
    if ok or code == "no_node" then return locks, unreadable, code end
    return nil, message, code
end


return _M
