--- A watcher: it tells a function of the user's how a node is, first, and after each change.

local failure = require "zklock.failure"

local pairs, setmetatable, sort = pairs, setmetatable, table.sort

---@class zklock.Watcher
---@field handle? userdata nil: it was stopped
local Watcher = {}
Watcher.__index = Watcher


-- Calls the function; then it was told, however that went. What ends this before that does not
-- undo anything: the session's next dispatch() tells it.
local function told(self, handle, ...)
    self.session:protect(self.fn, ...)
    if self.handle == handle then handle:told() end
end


--- Tells what there is to tell, if there is anything.
function Watcher:tell()
    local handle = self.handle
    if not handle then return end
    local code, data, version = handle:look()
    if code == "ok" then return told(self, handle, data, version) end
    if code == "no_node" then return told(self, handle, nil) end
    if code then return told(self, handle, failure(code, self.path, data)) end
end


function Watcher:stop()
    local handle = self.handle
    if not handle then return end
    self.handle = nil
    self.session.watchers[self.id] = nil
    handle:drop()
end


--- The watchers of the session, as a list: telling may change the set.
function Watcher.all(session)
    local all = {}
    for _, watcher in pairs(session.watchers) do all[#all + 1] = watcher end
    sort(all, function(a, b) return a.id < b.id end)
    return all
end


--- The session refers to it until it is stopped.
function Watcher.new(session, handle, path, fn)
    local self = setmetatable({
        session = session,
        handle = handle,
        id = handle:id(),
        path = path,
        fn = fn,
    }, Watcher)
    session.watchers[self.id] = self
    return self
end


return Watcher
