--- The public name of zklock.seckill.engine (docs/engines.md).
return require "zklock.seckill.engine"
