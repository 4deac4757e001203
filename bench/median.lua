--- The median of a list, which is sorted by that.
return function(values)
    table.sort(values)
    return values[math.ceil(#values / 2)]
end
