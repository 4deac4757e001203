--- Exercise 2: run. Two servers sell one bun, as purchases/plain.lua does. Their buyers come within
-- three seconds, at moments that a seed chooses. This command tries a hundred schedules, and tells
-- the first wrong one. With a seed as its argument, such as 7, it tells the schedule of that seed:
--
--     lua5.4 lua/zklock/seckill/lessons/workshop/schedules.lua
--
-- Write here what you read there, instead of nil.

return {
    wrong = nil, -- how many of the hundred schedules are wrong?
    last = nil,  -- which server wrote last in the first wrong one, 1 or 2?
    right = nil, -- a seed from 1 to 100 whose schedule is right
    gap = nil,   -- how many seconds after its read does the write of a server arrive?
}
