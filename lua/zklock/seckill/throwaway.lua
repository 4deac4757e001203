--- Servers for sales: zklock.throwaway, by the laboratory's name.

return require "zklock.throwaway"
