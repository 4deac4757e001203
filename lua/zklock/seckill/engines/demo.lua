--- lua lua/zklock/seckill/engines/demo.lua [options]: the flash sale with the engines of others.

local catalogue = require "zklock.seckill.catalogue"
local environment = require "zklock.seckill.engines.environment"
local laboratory = require "zklock.seckill.laboratory"

os.exit(laboratory.main(arg, io.stdout, io.stderr, catalogue.of_engines, environment), true)
