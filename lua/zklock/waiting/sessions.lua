--- The sessions that are open in this Lua state. A wait or sleep in plain Lua delivers the news of
-- all of them, so that callbacks come in any wait.

local core = require "zklock.core"
local sorted_names = require "zklock.value.sorted_names"

local ipairs, next, setmetatable = ipairs, next, setmetatable
local min, sort = math.min, table.sort
local now, this_thread = core.now, core.thread

local SLICE = 0.1 -- seconds; between slices Ctrl-C works

local _M = {}

-- Sessions by number, in order of opening. A session without other references is collected.
local numbered = { last = 0, sessions = setmetatable({}, { __mode = "v" }) }
local boards = {} -- thread -> core.board(), which lists its sessions with news
local unfinished = {} -- numbers, as a set; see mark_unfinished()
local forks = 0 -- that took a board

local deliver -- delivers a session's news


function _M.set_deliver(fn)
    deliver = fn
end


---@return integer count of what was delivered
function _M.deliver(session)
    return deliver(session)
end


local function board_here()
    local thread = this_thread()
    local board = boards[thread]
    if not board or board:gone() then
        if board then forks = forks + 1 end
        board = core.board()
        boards[thread] = board
    end
    return board
end


--- The number of forks so far of which dispatch() or await() has learnt.
---@return integer
function _M.forks()
    return forks
end


function _M.add(session)
    local board, number = board_here(), numbered.last + 1
    numbered.last, session.number = number, number
    numbered.sessions[number] = session
    board:join(session.handle, number)
end


--- Makes dispatch() deliver for a session, even without events, while the session's field
-- `cut_short` or `mixed_token_events` is set.
function _M.mark_unfinished(session)
    if session.number then unfinished[session.number] = true end
end


local function deliver_numbered(numbers)
    local count, thread = 0, this_thread()
    for _, number in ipairs(numbers) do
        local session = numbered.sessions[number]
        if session and session.thread == thread and not session.handle:gone() then
            count = count + deliver(session)
        end
        local more = session and (session.cut_short or session.mixed_token_events)
        if not more then unfinished[number] = nil end
    end
    return count
end


--- Delivers the news of every session of this thread. Never waits.
---@return integer count of what was delivered
function _M.dispatch()
    local count = next(unfinished) and deliver_numbered(sorted_names(unfinished)) or 0
    local numbers = board_here():news()
    if not numbers then return count end
    sort(numbers)
    return count + deliver_numbered(numbers)
end


--- Waits for news, at most `seconds` and one slice, and delivers it.
function _M.await(seconds)
    board_here():wait(min(SLICE, seconds))
    _M.dispatch()
end


function _M.sleep(seconds)
    local due = now() + seconds
    repeat _M.await(due - now()) until now() >= due
    return true
end


return _M
