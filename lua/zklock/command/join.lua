--- The verb join runs a command while this machine is in a folder. See docs/command.md.

local columns = require "zklock.command.columns"
local connect = require "zklock.command.connect"
local core = require "zklock.core"
local jobs = require "zklock.command.job"
local options = require "zklock.value.options"
local paths = require "zklock.value.path"

local ipairs, huge = ipairs, math.huge
local now = core.now

local LEAVE = 2 -- seconds to remove the node before a signal is passed on
local SLICE = 0.5 -- seconds between two looks
local SHOWN = 80 -- bytes of a node's data

local join = {
    summary = "Run a command while being in a folder.",
    description = "Makes a node NAME in the folder PATH, runs the command, and removes the node "
        .. "when the command has ended, or is told to end. The node is no lock. When it is lost "
        .. "it is made again, and the command goes on. The command has ZKLOCK_PATH and "
        .. "ZKLOCK_SESSION in its environment. Options end at NAME. "
        .. jobs.statuses_text("the name"),
    example = "zklock join --data weight=3 /members/gateway 10.0.0.7:8080 -- ./gateway.sh",
    tail = "name",
    valued = {
        ["--data"] = true, ["-w"] = true, ["--wait"] = true, ["--grace"] = true, ["-c"] = true,
        ["--command"] = true,
    },
}


function join.describe(parser)
    parser:option("--data", "Text shown to others, such as weight=3."):argname "TEXT"
    parser:mutex(
        parser:option("-w --wait", "Give up after so many seconds in all; by default it waits for "
            .. "ever, for a server, too."):argname "SECONDS":convert(connect.parse_seconds),
        parser:flag("-n --nonblock --nb", "Give up at once if the name is taken, and after 5 s "
            .. "without an answer."))
    jobs.describe(parser, "zklock is killed", {
        { "PATH", "The folder's path." },
        { "NAME", "The node's name." },
    })
end


-- --- the member ---------------------------------------------------------------------

---@class zklock.command.Membership: zklock.command.Keeper
---@field job zklock.command.Job
---@field path string of the node
---@field member zklock.Member?
---@field told_state string state of the member, or code why there is none, as last told
---@field again_at number when to ask for the name again without news of it
---@field free boolean? no node has the name; known while the name is followed
---@field unfollow function?
---@field left boolean? a signal ended the membership
---@field held_signals integer[]? to pass on when the node is gone
---@field pass_on_at number when the held signals are passed on even if the node is not gone
local Membership = {}
Membership.__index = Membership


function Membership:join(timeout)
    local given = self.job.given
    return self.job.session:join(given.path, {
        name = given.name, data = given.data, timeout = timeout,
    })
end


function Membership:stop_following()
    if self.unfollow then self.unfollow() end
    self.unfollow, self.free = nil, nil
end


-- Follows the name, so that `free` is known. Returns nil, message, code if it cannot be known.
function Membership:follow()
    self:stop_following()
    local unfollow, message, code = self.job.session:watch(self.path, function(data, _, why)
        self.free = data == nil and why == nil
    end)
    self.unfollow = unfollow
    return unfollow, message, code
end


function Membership:become(member)
    self.member = member
    self:stop_following()
end


-- A node without a session lasts until somebody deletes it.
local function tell_who_has_name(job)
    local given, session, stop = job.given, job.session, nil
    stop = session:members(given.path, function(list)
        stop()
        for _, entry in ipairs(list or {}) do
            if entry.name == given.name and entry.session ~= session:id() then
                job:say("%s: %s has the name, for %s, with the data '%s'; zklock waits", job.path,
                    entry.session and "session 0x" .. entry.session or "no session",
                    columns.age(entry.since) or "?", (entry.data or "?"):sub(1, SHOWN))
            end
        end
    end)
end


function Membership:wait_for_name()
    local job = self.job
    if not self.unfollow then
        job:say("%s: the name is taken; zklock waits until the name is free", self.path)
        job:explain_later(function() tell_who_has_name(job) end)
        local ok, why, code = self:follow()
        if not ok then connect.fail(why, code) end
    end
    if not job:wait_until(function() return self.free end) then job:fail_wait(nil, "timeout") end
end


function Membership:enter()
    local job, max_wait = self.job, self.job.given.wait
    local tries = job.tries
    while true do
        local timeout = max_wait and connect.seconds_left(job.deadline) or nil
        if tries then timeout = job.session.connect_timeout end
        local member, message, code = self:join(timeout)
        if member then return self:become(member) end
        if code == "conflict" then
            if tries then job:fail_wait(message, "busy") end
            job.taken = true
            self:wait_for_name()
        elseif code ~= "expired" and (max_wait or tries or code ~= "timeout") then
            job:fail_wait(message, code)
        end
    end
end


-- --- the member while the command runs ----------------------------------------------

local MESSAGES = {
    joined = "%s: joined again",
    joining = "%s: joining",
    conflict = "%s: another session has the name; the command goes on, and zklock waits",
}

function Membership:tell(state, message)
    if state == self.told_state then return end
    self.told_state = state
    if MESSAGES[state] then return self.job:say(MESSAGES[state], self.path) end
    self.job:say("%s: the command goes on", message)
end


function Membership:note_loss(message, code)
    self:tell(code, message)
    self.again_at = huge
    if code == "conflict" and (self.unfollow or self:follow()) then return end
    self.again_at = now() + self.job.session:timeout()
end


function Membership:look_at_member()
    local state, message = self.member:state()
    if state == "joined" or state == "joining" then return self:tell(state) end
    self.member:leave()
    self.member = nil
    self:note_loss(message, state)
end


-- Joins, and leaves at once if a signal or the end of the command came meanwhile.
function Membership:join_again()
    local member, message, code = self:join()
    if self.left or self.job.status then return member and member:leave() end
    if member then self:become(member) else self:note_loss(message, code) end
end


function Membership:look()
    if self.held_signals then
        if self.free or now() >= self.pass_on_at then self:pass_on() end
    elseif self.member then self:look_at_member()
    elseif not self.left and not self.job.status and (self.free or now() >= self.again_at) then
        self:join_again()
    end
end


function Membership.may_resume() return true end


-- --- signals -----------------------------------------------------------------------

local LEAVES = { [2] = true, [3] = true, [15] = true } -- INT, QUIT, TERM

function Membership:pass_on()
    local signals = self.held_signals
    self.held_signals = nil
    self:stop_following()
    for _, number in ipairs(signals) do self.job.child:signal(number) end
end


-- Removes the node before the command ends, so that others send it no more work.
function Membership:leave(number)
    local may_have_node = self.member or self.free
    self.left = true
    self.job.session:interrupt() -- a join that is under way
    self.held_signals, self.pass_on_at = { number }, now() + LEAVE
    if self.member then self.member:leave() end
    self.member = nil
    if not may_have_node or not self:follow() then self:pass_on() end
end


function Membership:signal(number)
    local signals = self.held_signals
    if signals then signals[#signals + 1] = number
    elseif LEAVES[number] and not self.left then self:leave(number)
    else self.job.child:signal(number) end
end


-- --- the verb -------------------------------------------------------------------------

local function carry_out(job)
    local self = setmetatable({
        job = job,
        path = job.path,
        told_state = "joined",
        again_at = huge,
    }, Membership)
    self:enter()
    job:launch(self, nil, job.grace)
    repeat job:step(SLICE) until job.over
    return job.status
end


function join.run(given, _, err)
    local path, name = connect.check(options.folder, given.path), given.name
    connect.check(options.join, { name = name, data = given.data })
    return jobs.run(given, err, paths.join(path, name), carry_out)
end


return join
