--- The pause before the next try, as in Curator's ExponentialBackoffRetry (CFG-06).

local backoff = {}


--- A random pause. Its upper limit doubles with each try.
---@param base number     seconds
---@param retry integer   0 for the first
---@return number seconds
function backoff.seconds(base, retry)
    return base * math.max(1, math.random(0, 2 ^ (retry + 1) - 1))
end


return backoff
