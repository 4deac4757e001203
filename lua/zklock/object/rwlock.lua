--- The read-write lock, for many readers or one writer, in order of arrival.

local Lock = require "zklock.object.lock"
local strict_methods = require "zklock.value.strict_methods"

local setmetatable = setmetatable

---@class zklock.RWLock
local RWLock = {}
RWLock.__index = RWLock
RWLock.__name = "zklock.rwlock"


--- The lock that readers share.
---@return zklock.Lock
function RWLock:read()
    return self.reader
end


--- The lock for one writer alone.
---@return zklock.Lock
function RWLock:write()
    return self.writer
end


function RWLock:__tostring()
    return ("zklock.rwlock (%s)"):format(self.path)
end


strict_methods(RWLock, RWLock, "rwlock")


function RWLock.new(session, path, opts)
    return setmetatable({
        path = path,
        reader = Lock.new(session, path, "read", opts),
        writer = Lock.new(session, path, "write", opts),
    }, RWLock)
end


return RWLock
