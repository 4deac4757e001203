--- Questions of lessons and pictures about buyers, in a sale's purchases or a lesson's own rows.

local buyers = {}


--- The buyers that got the lock, in the order of their grants.
function buyers.granted(list)
    local found, index = {}, {}
    for i, row in ipairs(list) do
        if row.granted then found[#found + 1] = row end
        index[row] = i
    end
    table.sort(found, function(a, b)
        if a.granted ~= b.granted then return a.granted < b.granted end
        return index[a] < index[b]
    end)
    return found
end


--- The wait of a buyer in seconds, until its grant or its refusal.
---@param row table
---@return number? seconds  nil if it never asked, or got no answer
function buyers.waited(row)
    local till = row.granted or row.told
    return row.asked and till and till - row.asked or nil
end


---@param row table
---@param sale table
---@param kind "stop" | "kill"
---@return zklock.seckill.Fault?
function buyers.first_fault(row, sale, kind)
    for _, fault in ipairs(sale.faults) do
        if fault.kind == kind and fault.target == "server " .. row.server then return fault end
    end
end


return buyers
