--- Clocks for sales, under the laboratory's name.

return require "zklock.throwaway.clock"
