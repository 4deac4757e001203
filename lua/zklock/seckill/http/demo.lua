--- lua lua/zklock/seckill/http/demo.lua [options]: runs the flash sale over HTTP.

local laboratory = require "zklock.seckill.laboratory"
local sale = require "zklock.seckill.http.sale"
local environment = require "zklock.seckill.http.environment"

os.exit(laboratory.main(arg, io.stdout, io.stderr, sale.scenarios, environment), true)
