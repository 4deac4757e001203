--- The queue of waiting entries, in order of arrival. Its table is weak, so an entry whose
-- submitter is gone is collected, and leaves a gap.

local setmetatable = setmetatable

---@class zklock.EntryQueue
---@field entries zklock.Entry[] from `head` to `tail`, with gaps
local Queue = {}
Queue.__index = Queue


---@param entry zklock.Entry
function Queue:add(entry)
    self.tail = self.tail + 1
    self.entries[self.tail] = entry
end


-- The first entry that lives. Drops the entries before it.
---@return zklock.Entry?
function Queue:first()
    while self.head <= self.tail do
        local entry = self.entries[self.head]
        if entry and entry:lives() then return entry end
        self.entries[self.head] = nil
        self.head = self.head + 1
    end
end


--- True if `count` entries wait. Stops counting when too few are left.
---@param count integer
---@return boolean
function Queue:has_at_least(count)
    local found, at = 0, self.head
    while found < count and self.tail - at + 1 >= count - found do
        local entry = self.entries[at]
        if entry and entry:lives() then found = found + 1 end
        at = at + 1
    end
    return found == count
end


--- Moves entries to the empty list `taken`, of which an error loses none.
---@param most integer
---@param taken zklock.Entry[]
---@return any[] items
function Queue:take(most, taken)
    local items = {}
    while #taken < most do
        local entry = self:first()
        if not entry then break end
        taken[#taken + 1] = entry
        entry.taken = true
        self.entries[self.head] = nil
        self.head = self.head + 1
        items[#items + 1] = entry.item
    end
    return items
end


---@param answer zklock.Answer
function Queue:refuse(answer)
    for entry in self.first, self do entry:settle(answer) end
end


---@return zklock.EntryQueue
return function()
    return setmetatable({ entries = setmetatable({}, { __mode = "v" }), head = 1, tail = 0 }, Queue)
end
