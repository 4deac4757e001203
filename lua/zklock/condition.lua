--- A condition of a lock: whoever holds the lock waits in it for a signal, and gives the
-- lock up meanwhile. Who waits is in a folder beside the lock's path, in order of arrival.

local Lease = require "zklock.lease"
local Request = require "zklock.request"
local core = require "zklock.core"
local failure = require "zklock.failure"
local misuse = require "zklock.misuse"
local options = require "zklock.options"
local receiver = require "zklock.receiver"
local wait = require "zklock.wait"

local now = core.now
local getmetatable, ipairs = getmetatable, ipairs
local setmetatable, type = setmetatable, type
local max, min = math.max, math.min
local remove = table.remove

local SIGNAL = core.signal_data
local AT_ONCE = 1000 -- writes in one transaction

---@class zklock.Condition
---@field folder string
local Condition = {}
Condition.__index = Condition
Condition.__name = "zklock.condition"


-- "lost" or "released", if it has come to that; by what is known here.
local function end_of(lease)
    local state = lease:state()
    return (state == "lost" or state == "released") and state
end


-- Why this lease cannot be used with it: nil, message, code; the last two are nil, too, if
-- it can.
local function refusal(self, lease, method)
    local lock = self.lock
    if getmetatable(lease) ~= Lease then
        misuse.refuse("condition:%s takes a lease of its lock first, not %s", method,
                      type(lease))
    end
    if lock.session:forked() then return failure("forked", self.folder) end
    local own = lease.session == lock.session and lease.path == lock.path
    if not own or lease.kind ~= lock.kind then return failure("not_owner", self.folder) end
    local ended = end_of(lease)
    if ended then return failure(ended, self.folder) end
    return nil, wait.refusal(lock.session)
end


local function take_wait(request, lease, folder, timeout)
    local code, detail = request.handle:result()
    if code == "ok" and lease.handle:state() == "released" then code = "released" end
    if code == "ok" then return true end
    if code == "timeout" then detail = ("waited %g s"):format(timeout) end
    return failure(code, folder, detail)
end


--- Gives the lock up, waits for a signal, and has the lock again. One deadline for all of it.
-- Others may have come between: test what was waited for, and wait again.
---@param lease zklock.Lease of this lock; all handles of the grant are given up, and had again
---@param timeout? number seconds; nil: for ever
---@return true? ok the lease is held, with a new token
---@return string? message
---@return string? code "timeout", "interrupted", "expired", "closed": the lease is released;
-- "lost", "released": it was before; "auth", "too_many", "not_owner": nothing was done
function Condition:wait(lease, timeout)
    options.timeout(timeout)
    local _, message, code = refusal(self, lease, "wait")
    if code then return nil, message, code end
    local session = self.lock.session
    local request = Request.new(session, lease.handle:wait(self.folder, timeout), lease.owner)
    return wait.wait(session, request, timeout, take_wait, lease, self.folder, timeout)
end


local function take_queue(request, folder)
    local code, detail = request.handle:result()
    if code ~= "ok" then return failure(code, folder, detail) end
    return request.handle:queue()
end


-- Those who wait, in order; `brief`: only their names.
local function waiters(self, deadline, brief)
    local session, left = self.lock.session, max(deadline - now(), 0)
    local handle = session.handle:queue(self.folder, "mutex", left, brief)
    return session:await(handle, left, take_queue, self.folder)
end


-- Gives the code, which of the writes was refused, and what failure() takes.
local function take_writes(request)
    local handle = request.handle
    local code, detail = handle:result()
    return code, handle:refused(), detail
end


local function write(lease, writes, deadline)
    local left = max(deadline - now(), 0)
    return lease.session:await(lease.handle:guard(writes, left), left, take_writes)
end


-- A signal of that waiter, unless it has one.
local function to(self, waiter)
    return { "set", self.folder .. "/" .. waiter.name, SIGNAL, 0 }
end


-- It is gone, or has a signal: the next one.
local passed_over = { conflict = true, no_node = true }


-- Gives "ok" and 1 or 0, or what failure() takes.
local function signal_first(self, lease, queue, deadline)
    for _, waiter in ipairs(queue) do
        local code, refused, detail = write(lease, { to(self, waiter) }, deadline)
        if code == "ok" then return "ok", 1 end
        if refused == 0 or not passed_over[code] then return code, 0, detail end
    end
    return "ok", 0
end


-- The same of some at once; those that are passed over leave the list.
local function signal_these(lease, writes, deadline)
    while #writes > 0 do
        local code, refused, detail = write(lease, writes, deadline)
        if code == "ok" then break end
        if refused == 0 or not passed_over[code] then return code, 0, detail end
        remove(writes, refused)
    end
    return "ok", #writes
end


local function signal_all(self, lease, queue, deadline)
    local total = 0
    for first = 1, #queue, AT_ONCE do
        local writes = {}
        for i = first, min(first + AT_ONCE - 1, #queue) do
            if queue[i].data ~= SIGNAL then writes[#writes + 1] = to(self, queue[i]) end
        end
        local code, count, detail = signal_these(lease, writes, deadline)
        if code ~= "ok" then return code, 0, detail end
        total = total + count
    end
    return "ok", total
end


-- A signal whose answer is lost is sent again: whoever has it already is passed over.
local function signal(self, lease, timeout, method, brief, give)
    local _, message, code = refusal(self, lease, method)
    if code then return nil, message, code end
    local deadline = now() + options.timeout(timeout, self.lock.session:timeout())
    local queue, count, detail
    repeat
        queue, message, code = waiters(self, deadline, brief)
        if not queue then break end
        code, count, detail = give(self, lease, queue, deadline)
    until code ~= "timeout" or now() >= deadline
    -- With nobody to wake no write has asked the server for the lease.
    local ended = (code == "expired" or count == 0) and end_of(lease)
    if ended then return failure(ended, self.folder) end
    if not queue then return nil, message, code end
    if code == "ok" then return count end
    return failure(code, self.folder, detail)
end


--- Wakes the one that has waited longest; it goes on when it has the lock.
---@param lease zklock.Lease of this lock; it is checked with the same request
---@param timeout? number seconds, default: the session timeout
---@return integer? count 1, or 0: nobody waits
---@return string? message
---@return string? code "lost": nobody was woken by it. (0 may come from a lease that is lost and
-- does not know: nothing is written then.)
function Condition:signal(lease, timeout)
    return signal(self, lease, timeout, "signal", true, signal_first)
end


--- Wakes all who wait, in their order.
---@param lease zklock.Lease of this lock; it is checked with the same request
---@param timeout? number seconds, default: the session timeout
---@return integer? count
---@return string? message
---@return string? code
function Condition:broadcast(lease, timeout)
    return signal(self, lease, timeout, "broadcast", false, signal_all)
end


function Condition:__tostring()
    return ("zklock.condition (%s)"):format(self.folder)
end


receiver(Condition, Condition, "condition")


function Condition.new(lock, name)
    local folder = options.path(("%s-condition-%s"):format(lock.path, options.segment(name)))
    return setmetatable({ lock = lock, folder = folder }, Condition)
end


return Condition
