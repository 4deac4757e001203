--- Spans of time from a list, merged where they touch, with answers in O(log n).

local intervals = {}

local Intervals = {}
Intervals.__index = Intervals


--- Merges spans with `from`, `to` and a text, `what`; joins the first few texts.
function intervals.new(spans)
    table.sort(spans, function(a, b) return a.from < b.from end)
    local merged, last = {}, nil
    for _, span in ipairs(spans) do
        if last and span.from <= last.to then
            last.to = math.max(last.to, span.to)
            if last.count < 3 then last.what = last.what .. ", " .. span.what end
            last.count = last.count + 1
        else
            last = { from = span.from, to = span.to, what = span.what, count = 1 }
            merged[#merged + 1] = last
        end
    end
    return setmetatable({ list = merged }, Intervals)
end


-- Returns the index of the first span that ends at `from` or later.
local function first_ending(list, from)
    local low, high = 1, #list + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        if list[middle].to < from then low = middle + 1 else high = middle end
    end
    return low
end


--- Returns the first span that shares a moment with from…to, or nil.
function Intervals:overlapping(from, to)
    local span = self.list[first_ending(self.list, from)]
    return span and span.from <= to and span or nil
end


--- Returns how many seconds of from…to the spans cover.
function Intervals:covered(from, to)
    local sum, list = 0, self.list
    for i = first_ending(list, from), #list do
        local span = list[i]
        if span.from >= to then break end
        sum = sum + math.min(to, span.to) - math.max(from, span.from)
    end
    return sum
end


--- Returns the end of the first `seconds` in a row outside of all spans, from `from` on.
function Intervals:undisturbed(from, seconds)
    while true do
        local span = self:overlapping(from, from + seconds)
        if not span then return from + seconds end
        from = span.to + 1e-9
    end
end


return intervals
