--- Exercise 2: run. Two servers sell one bun, as purchases/plain.lua does. Their buyers come within
-- three seconds, at moments that a seed chooses:
--
--     lua5.4 docs/lessons/workshop/schedules.lua      a hundred schedules, and the first wrong one
--     lua5.4 docs/lessons/workshop/schedules.lua 7    the schedule of seed 7
--
-- Write here what you read there, instead of nil.

return {
    wrong = nil, -- how many of the hundred schedules are wrong?
    last = nil,  -- which server wrote last in the first wrong one, 1 or 2?
    right = nil, -- a seed from 1 to 100 whose schedule is right
    gap = nil,   -- how many seconds after its read does the write of a server arrive?
}
