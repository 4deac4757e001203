--- All scenarios of the engines, in the order in which they are shown; see
--- zklock.seckill.catalogue.

return require "zklock.seckill.scenarios" "of_engines"
