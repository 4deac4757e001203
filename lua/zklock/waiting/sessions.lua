--- The sessions that are open in this Lua state. What waits or sleeps in plain Lua delivers the
-- news of all of them, so that callbacks come whatever it waits for.

local core = require "zklock.core"
local sorted_names = require "zklock.value.sorted_names"

local ipairs, next, setmetatable = ipairs, next, setmetatable
local min, sort = math.min, table.sort
local now, this_thread = core.now, core.thread

local SLICE = 0.1 -- seconds; between slices Ctrl-C works

local _M = {}

-- Number of a session, in the order of opening -> the session. One that nothing else refers to is
-- collected.
local numbered = { last = 0, sessions = setmetatable({}, { __mode = "v" }) }
local boards = {} -- thread -> the board that its sessions joined
local again = {} -- number -> true: of sessions that are `cut` or have `mixed`

local deliver -- a session's news


--- fn(session) delivers what happened in it, and gives how much it was.
function _M.deliver_by(fn)
    deliver = fn
end


--- Delivers what happened in one.
---@return integer count of what was delivered
function _M.deliver(session)
    return deliver(session)
end


-- That of this thread, and of this process.
local function board_here()
    local thread = this_thread()
    local board = boards[thread]
    if not board or board:foreign() then
        board = core.board()
        boards[thread] = board
    end
    return board
end


--- Adds a session of this thread.
function _M.add(session)
    local board, number = board_here(), numbered.last + 1
    numbered.last, session.number = number, number
    numbered.sessions[number] = session
    board:join(session.handle, number)
end


--- Looks at the session, which is `cut` or has `mixed`, also if nothing happens in it.
function _M.look_again(session)
    if session.number then again[session.number] = true end
end


local function deliver_those(numbers)
    local count, thread = 0, this_thread()
    for _, number in ipairs(numbers) do
        local session = numbered.sessions[number]
        if session and session.thread == thread and not session.handle:foreign() then
            count = count + deliver(session)
        end
        if not (session and (session.cut or session.mixed)) then again[number] = nil end
    end
    return count
end


--- Delivers what happened in any session of this thread. Never waits.
---@return integer count of what was delivered
function _M.dispatch()
    local count = next(again) and deliver_those(sorted_names(again)) or 0
    local numbers = board_here():news()
    if not numbers then return count end
    sort(numbers)
    return count + deliver_those(numbers)
end


--- Waits until something happens in a session, at most `seconds` and no longer than Ctrl-C can
-- wait, and delivers it.
function _M.await(seconds)
    board_here():wait(min(SLICE, seconds))
    _M.dispatch()
end


--- Sleeps, and blocks the thread.
function _M.sleep(seconds)
    local due = now() + seconds
    repeat _M.await(due - now()) until now() >= due
    return true
end


return _M
