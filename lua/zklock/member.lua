--- A member: a node that is in a folder as long as its user wants it. It is made again when it is
-- gone, also after an expiry.

local failure = require "zklock.failure"
local options = require "zklock.options"
local receiver = require "zklock.receiver"

local ipairs, select, setmetatable = ipairs, select, setmetatable
local remove = table.remove

---@class zklock.Member
---@field handle? userdata nil: it has left
---@field path string of its node
---@field callbacks table[] in the order in which they were registered
local Member = {}
Member.__index = Member
Member.__name = "zklock.member"


local TAKEN = "that name is taken: by another session, or by another join of this one"

local function describe(code, path, detail)
    if code == "conflict" then detail = TAKEN end
    return select(2, failure(code, path, detail))
end


--- How it is: "joined"; "joining" while its node is made again; "left"; or why it was given up, a
-- code: "conflict" when another session made a node of its name, "auth", "closed", "expired", ...
---@return string state
---@return string? message of a code
function Member:state()
    local handle = self.handle
    if not handle then return "left" end
    if self.session:forked() then return "forked", describe("forked", self.path) end
    local state, detail = handle:state()
    if not state then return "left" end -- a finalizer just had it leave
    if state == "joined" or state == "joining" then return state end
    return state, describe(state, self.path, detail)
end


-- Where the host comes to the callback: one before it may have stopped it, or newer news be there.
local function call(self, callback)
    local state, message = self:state()
    if not callback.fn or callback.told == state then return end
    callback.told = state
    self.session:protect(callback.fn, state, message)
end


--- Tells each callback what it was not told yet.
function Member:tell()
    local all = {}
    for i, callback in ipairs(self.callbacks) do all[i] = callback end
    for _, callback in ipairs(all) do call(self, callback) end
end


--- Calls fn(state, message) after each change of the state, but for leave(). It runs inside any
-- wait or session:dispatch().
---@param fn fun(state: string, message: string?)
---@return function stop it is not called any more
function Member:on_change(fn)
    local callback = { fn = options.callback(fn, "on_change's argument"), told = "joined" }
    local callbacks = self.callbacks
    callbacks[#callbacks + 1] = callback
    if self.handle then self.session:call(self, self.tell, self) end
    return function()
        callback.fn = nil
        for i = #callbacks, 1, -1 do
            if callbacks[i] == callback then remove(callbacks, i) end
        end
    end
end


--- Has the node removed. Does not wait for the server.
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


receiver(Member, Member, "member")


--- Of a join that is done: the member, or nil, message, code. One that is collected leaves.
function Member.new(request, session, path)
    local self = setmetatable({
        session = session,
        handle = false,
        id = false,
        path = path,
        callbacks = {},
    }, Member)
    local code, detail = request.handle:result()
    if code ~= "ok" then return nil, describe(code, path, detail), code end
    self.handle = request.handle:member()
    self.id = self.handle:id()
    return self
end


return Member
