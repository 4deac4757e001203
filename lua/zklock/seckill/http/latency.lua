--- The latency of a sale's answers, and a table of latencies.

---@class zklock.seckill.Latency
---@field answers integer
---@field seconds number  duration of the sale
---@field median number   seconds
---@field p99 number
---@field max number


local latency = {}


---@param answers zklock.seckill.Distribution
---@param seconds number  duration of the sale
---@return zklock.seckill.Latency?
function latency.of(answers, seconds)
    if answers:count() == 0 then return nil end
    return {
        answers = answers:count(), seconds = seconds, median = answers:quantile(0.5),
        p99 = answers:quantile(0.99), max = answers:max(),
    }
end


local HEAD = "%-37s %9s %9s %9s %9s %9s\n"
local ROW = "%-37s %9d %9.0f %9.1f %9.1f %9.1f  %s\n"


function latency.table(results)
    local lines = {}
    for _, result in ipairs(results) do
        local times = result.latency
        if times then
            lines[#lines + 1] = ROW:format(result.title, times.answers,
                times.answers / times.seconds, 1000 * times.median, 1000 * times.p99,
                1000 * times.max, result.id)
        end
    end
    if not lines[1] then return "" end
    return "\n" .. HEAD:format("", "", "", "ms:", "", "")
        .. HEAD:format("latency of an answer", "answers", "a second", "median", "p99", "max")
        .. table.concat(lines)
end


return latency
