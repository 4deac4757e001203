--- A watcher tells a user's function the data of a node or the members of a folder, first and after
-- each change.

local Caller = require "zklock.waiting.caller"
local failure = require "zklock.value.failure"

local pairs, setmetatable, sort = pairs, setmetatable, table.sort

---@class zklock.Listed
---@field name string of a member of a folder
---@field data? string nil: it may not be read
---@field session? string that made it, hexadecimal; nil: it is not ephemeral, or may not be read
---@field since? number seconds since 1970

---@class zklock.Watcher
---@field handle? userdata nil: it was stopped
---@field caller zklock.Caller
local Watcher = {}
Watcher.__index = Watcher


-- Returns nothing without news, else true and fn's arguments.
local function look(self, handle)
    local code, data, version = handle:look()
    if code == "ok" then return true, data, version end
    if code == "no_node" then return true, nil end
    if code then return true, failure(code, self.path, data) end
end


-- The news is told even if the function fails, but not if an interrupt comes first; then the next
-- dispatch() tells it. A finalizer may have stopped the watcher during the look.
local function tell(self, handle, has_news, ...)
    if not has_news or self.handle ~= handle then return end
    self.session:protect(self.fn, ...)
    if self.handle == handle then handle:told() end
end


local function tell_news(self)
    local handle = self.handle
    if handle then tell(self, handle, look(self, handle)) end
end


function Watcher:tell()
    self.caller:call(tell_news, self)
end


function Watcher:stop()
    local handle = self.handle
    if not handle then return end
    self.handle = nil
    self.session.watchers[self.id] = nil
    handle:drop()
end


--- Returns a list, because telling may change the set.
function Watcher.all(session)
    local list = {}
    for _, watcher in pairs(session.watchers) do list[#list + 1] = watcher end
    sort(list, function(a, b) return a.id < b.id end)
    return list
end


--- The session refers to the watcher until it is stopped. The C watcher is made last, because a
-- finalizer may then deliver its news.
---@param verb "watch"|"members"
---@return zklock.Watcher?
---@return string? code
function Watcher.new(session, verb, path, fn)
    local self = setmetatable({
        session = session,
        handle = false,
        id = false,
        path = path,
        fn = fn,
        caller = Caller.new(),
    }, Watcher)
    local handle, id = session.handle[verb](session.handle, path)
    if not handle then return nil, id end -- the code
    self.handle, self.id = handle, id
    session.watchers[self.id] = self
    return self
end


return Watcher
