--- A purchase that fails.

return function() error "no luck" end
