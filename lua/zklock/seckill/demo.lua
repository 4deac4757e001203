--- lua lua/zklock/seckill/demo.lua [options]: runs the flash-sale laboratory.

local laboratory = require "zklock.seckill.laboratory"

os.exit(laboratory.main(arg, io.stdout, io.stderr), true)
