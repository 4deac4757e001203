--- Server 1 is stopped while its customer pays, for longer than a lock of either kind lives.

return function(world)
    world:at(0.3, function() world:stop("server 1", 10) end)
end
