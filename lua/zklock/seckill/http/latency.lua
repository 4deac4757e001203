--- How long buyers waited for their answers.

---@class zklock.seckill.Latency
---@field sold integer
---@field answers integer
---@field seconds number  how long the sale took
---@field median number   seconds
---@field p99 number
---@field max number


local latency = {}


-- The sample below which that part of all lies.
local function quantile(sorted, part)
    return sorted[math.max(1, math.ceil(part * #sorted))]
end


--- What the samples come to; nil: there are none.
---@param samples number[]  seconds
---@return { median: number, p99: number, max: number }?
function latency.of(samples)
    if not samples[1] then return nil end
    local sorted = {}
    for i, sample in ipairs(samples) do sorted[i] = sample end
    table.sort(sorted)
    return { median = quantile(sorted, 0.5), p99 = quantile(sorted, 0.99), max = sorted[#sorted] }
end


local HEAD = "%-9s %-37s %9s %9s %9s %9s %9s\n"
local ROW = "%-9s %-37s %9d %9.0f %9.1f %9.1f %9.1f\n"


--- A table of all results that have a latency.
---@param results zklock.seckill.Result[]
---@return string
function latency.table(results)
    local lines = {}
    for _, result in ipairs(results) do
        local times = result.latency
        if times then
            lines[#lines + 1] = ROW:format(result.id, result.title, times.answers,
                times.answers / times.seconds, 1000 * times.median, 1000 * times.p99,
                1000 * times.max)
        end
    end
    if not lines[1] then return "" end
    return "\n" .. HEAD:format("", "", "", "", "ms:", "", "")
        .. HEAD:format("", "latency of an answer", "answers", "a second", "median", "p99", "max")
        .. table.concat(lines)
end


return latency
