--- A distribution of times in seconds. It keeps all samples, for exact quantiles and for merging.

local ceil, max = math.ceil, math.max
local sort = table.sort


---@class zklock.seckill.Distribution
local Distribution = {}
Distribution.__index = Distribution


local distribution = {}


---@param samples number[]?
---@return zklock.seckill.Distribution
function distribution.new(samples)
    local self = setmetatable({ samples = {}, sum = 0 }, Distribution)
    for _, sample in ipairs(samples or {}) do self:add(sample) end
    return self
end


---@param sample number
function Distribution:add(sample)
    self.samples[#self.samples + 1] = sample
    self.sum = self.sum + sample
    self.sorted = false
end


---@param other zklock.seckill.Distribution
---@return zklock.seckill.Distribution
function Distribution:merge(other)
    local merged = distribution.new(self.samples)
    for _, sample in ipairs(other.samples) do merged:add(sample) end
    return merged
end


---@return integer
function Distribution:count() return #self.samples end


--- The nearest-rank quantile, or nil without samples.
---@param part number  from 0 to 1; 0.5 is the median
---@return number? seconds
function Distribution:quantile(part)
    if type(part) ~= "number" or not (part >= 0 and part <= 1) then
        error("a quantile is a number from 0 to 1, as in quantile(0.99)", 2)
    end
    if not self.sorted then
        sort(self.samples)
        self.sorted = true
    end
    return self.samples[max(1, ceil(part * #self.samples))]
end


---@return number? seconds
function Distribution:max() return self:quantile(1) end


---@return number? seconds
function Distribution:mean()
    return #self.samples > 0 and self.sum / #self.samples or nil
end


local PARTS = { 0, 0.5, 0.9, 0.99, 1 }

---@return { count: integer, mean: number?, max: number?, quantile: table<string, number> }
function Distribution:fields()
    local quantile = {}
    for _, part in ipairs(PARTS) do quantile[("%g"):format(part)] = self:quantile(part) end
    return { count = self:count(), mean = self:mean(), max = self:max(), quantile = quantile }
end


local function milliseconds(seconds) return ("%.1f ms"):format(1000 * seconds) end

function Distribution:__tostring()
    if #self.samples == 0 then return "no samples" end
    return ("median %s, p99 %s, max %s (%d samples)"):format(milliseconds(self:quantile(0.5)),
        milliseconds(self:quantile(0.99)), milliseconds(self:max()), #self.samples)
end


return distribution
