--- A queue of entries by their time `due`; those due together keep their order. It is a binary heap
-- whose entries know their places.
--
-- An error may come between any two instructions (Ctrl-C raises one), and a finalizer may add an
-- entry at any call. So nothing is called while entries move, and no entry is overwritten before it
-- is in its next place. After an interrupt an entry may be in the heap twice, which is harmless.

local setmetatable = setmetatable

---@class zklock.Agenda
---@field heap table[] entries; `added` is an entry's number, `place` its index here
---@field added integer count of entries so far
local Agenda = {}
Agenda.__index = Agenda


-- Adds the entry. Without an entry, removes the one at `place`, and puts the last entry there. The
-- entry that was put moves up or down to where it belongs.
local function put(heap, place, entry)
    local count = #heap
    local at, moved = place or count + 1, entry or heap[count]
    local due, added = moved.due, moved.added
    while at > 1 do
        local up = (at - at % 2) / 2
        local above = heap[up]
        if above.due < due or above.due == due and above.added <= added then break end
        heap[at], above.place = above, at
        at = up
    end
    while 2 * at <= count do
        local down = 2 * at
        local below, other = heap[down], heap[down + 1]
        if other and (other.due < below.due or
                      other.due == below.due and other.added < below.added) then
            down, below = down + 1, other
        end
        if due < below.due or due == below.due and added <= below.added then break end
        heap[at], below.place = below, at
        at = down
    end
    heap[at], moved.place = moved, at
    if place then heap[count] = nil end
end


function Agenda:add(entry)
    self.added = self.added + 1
    entry.added = self.added
    put(self.heap, nil, entry)
end


function Agenda:first()
    return self.heap[1]
end


function Agenda:shift()
    if self.heap[1] then put(self.heap, 1) end
end


function Agenda:remove(entry)
    local place = entry.place
    if place and self.heap[place] == entry then put(self.heap, place) end
end


---@return zklock.Agenda
return function()
    return setmetatable({ heap = {}, added = 0 }, Agenda)
end
