--- Fencing tokens are strings of digits. They compare as numbers, exactly even above 2^53 (BUG-07).

local token = {}


function token.is_less(one, other)
    if #one ~= #other then return #one < #other end
    return one < other
end


return token
