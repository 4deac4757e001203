--- Exercise 1: predict. A shop has three buns and six servers. A buyer comes to each server, all at
-- the same moment. Each server does what purchases/plain.lua says; there is no lock.
--
-- Read that file, run nothing, and write your prediction here instead of nil.

return {
    sold = nil, -- how many of the six buyers are told "sold"?
    left = nil, -- how many buns are left, as the store has it?
}
