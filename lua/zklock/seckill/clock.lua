--- The laboratory's name of zklock.throwaway.clock, for scripts of sales.

return require "zklock.throwaway.clock"
