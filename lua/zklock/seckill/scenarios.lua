--- The scenarios of several modules, in their order.

---@param folder string   what the modules' names begin with
---@param kinds string[]  what they end with
---@return zklock.seckill.Scenario[]
return function(folder, kinds)
    local list = {}
    for _, kind in ipairs(kinds) do
        for _, scenario in ipairs(require(folder .. "." .. kind).scenarios) do
            list[#list + 1] = scenario
        end
    end
    return list
end
