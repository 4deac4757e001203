--- A member is a node that its user keeps in a folder. It is made again when it is gone.

local Caller = require "zklock.waiting.caller"
local failure = require "zklock.value.failure"
local options = require "zklock.value.options"
local strict_methods = require "zklock.value.strict_methods"
local wait = require "zklock.waiting.wait"

local ipairs, select, setmetatable = ipairs, select, setmetatable
local remove = table.remove

---@class zklock.Member
---@field handle? userdata nil after leave()
---@field public path string of its node
---@field callbacks table[] in the order in which they were registered
---@field caller zklock.Caller of all callbacks
local Member = {}
Member.__index = Member
Member.__name = "zklock.member"


local TAKEN = "that name is taken by another node; use another name, or wait until that node " ..
              "is gone"
local OURS = "that name is taken by an earlier join of this session; use another name, or let " ..
             "that member leave"

local function describe(code, path, detail)
    if code == "conflict" and detail ~= OURS then detail = TAKEN end
    return select(2, failure(code, path, detail))
end


-- Returns the state, a message and how often the state has changed.
local function look(self)
    local handle = self.handle
    if not handle then return "left" end
    local gone = self.session:gone()
    if gone then return gone, describe(gone, self.path) end
    local state, detail, changes = handle:state()
    if not state then return "left" end -- by a finalizer, just now
    local alive = state == "joined" or state == "joining"
    return state, not alive and describe(state, self.path, detail) or nil, changes
end


--- Returns "joined"; "joining" while the node is made again; "left"; or the code of a failure:
-- "conflict" when another session made a node of that name, "auth", "closed", "expired", ...
---@return "joined"|"joining"|"left"|zklock.Code state
---@return string? message of a code
function Member:state()
    local state, message = look(self)
    return state, message
end


-- Runs later, so the callback may have been stopped, or told newer news. Also tells that the node
-- came back.
local function call(self, callback)
    local state, message, changes = look(self)
    if not callback.fn or not changes or callback.told_changes == changes then return end
    callback.told_changes = changes
    self.session:protect(callback.fn, state, message)
end


local function call_each(self)
    local callbacks = {}
    for i, callback in ipairs(self.callbacks) do callbacks[i] = callback end
    for _, callback in ipairs(callbacks) do call(self, callback) end
end


function Member:tell()
    self.caller:call(call_each, self)
end


--- Calls fn(state, message) after each change of the state, except by leave(). It runs inside any
-- wait or session:dispatch().
---@param fn fun(state: string, message: string?)
---@return fun() stop ends the calls
function Member:on_change(fn)
    local callback = { fn = options.callback(fn, "on_change's argument") }
    local callbacks = self.callbacks
    local state, _, changes = look(self)
    callbacks[#callbacks + 1] = callback
    if state == "joined" then callback.told_changes = changes
    elseif self.handle then self.session:call(self, self.tell, self) end
    return function()
        callback.fn = nil
        for i = #callbacks, 1, -1 do
            if callbacks[i] == callback then remove(callbacks, i) end
        end
    end
end


local function take_set(request, path)
    local code, detail = request.handle:result()
    if code == "ok" then return true end
    return nil, describe(code, path, detail), code
end


--- Writes other data to the node. However the wait ends, the data are written as soon as possible,
-- and each new node gets them.
---@param data string
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "closed": it has left; "timeout", "conflict", "auth", ...
function Member:set(data, timeout)
    local session, path = self.session, self.path
    data, timeout = options.member_data(data), options.timeout(timeout, session:timeout())
    if session:gone() then return failure(session:gone(), path) end
    local refusal, code = wait.refusal(session)
    if refusal then return nil, refusal, code end
    local request = self.handle and self.handle:set(data, timeout)
    if not request then return failure("closed", path, "the member has left") end
    return session:await(request, timeout, take_set, path)
end


--- Removes the node. Does not wait for the server.
---@return true
function Member:leave()
    local handle = self.handle
    if not handle then return true end
    self.handle, self.callbacks = nil, {}
    self.session.watchers[self.id] = nil
    handle:drop()
    return true
end

Member.__close = Member.leave


function Member:__tostring()
    return ("zklock.member (%s, %s)"):format(self.path, (self:state()))
end


strict_methods(Member, Member, "member")


-- Returns the member of a join, or nil, message, code. A collected member leaves.
function Member.new(request, session, path)
    local self = setmetatable({
        session = session,
        handle = false,
        id = false,
        path = path,
        callbacks = {},
        caller = Caller.new(),
    }, Member)
    local code, detail = request.handle:result()
    if code == "conflict" and not detail then detail = OURS end -- no server was asked
    if code ~= "ok" then return nil, describe(code, path, detail), code end
    self.handle, self.id = request.handle:member()
    return self
end


return Member
