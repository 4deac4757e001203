--- Clocks for sales: zklock.throwaway.clock, by the laboratory's name.

return require "zklock.throwaway.clock"
