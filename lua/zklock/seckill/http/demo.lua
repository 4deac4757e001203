--- lua lua/zklock/seckill/http/demo.lua [options]: the flash sale over HTTP.

local laboratory = require "zklock.seckill.laboratory"
local sale = require "zklock.seckill.http.sale"
local setting = require "zklock.seckill.http.setting"

os.exit(laboratory.main(arg, io.stdout, io.stderr, sale.scenarios, setting), true)
