--- Common parts of engines that lock in one Redis.

local misuse = require "zklock.value.misuse"
local options = require "zklock.seckill.engine.options"
local redis = require "zklock.seckill.engine.redis"


local ANSWER_TIMEOUT = 2 -- seconds; Jedis's default

local single_redis = {}


function single_redis.fields(own)
    own.redis, own.answer = options.address, options.seconds(0.001)
    return own
end


function single_redis.defaults(own)
    own.answer = ANSWER_TIMEOUT
    return own
end


function single_redis.validate(given)
    if not given.redis then misuse.refuse("the engine needs redis = \"HOST:PORT\"") end
end


-- Connects at once, to detect a wrong address.
function single_redis.open(engine)
    engine.redis = redis.new(engine.options.redis, engine.options.answer)
    engine.redis:ensure_client()
    return engine
end


function single_redis.close(engine) engine.redis:close() end


--- Random seconds until the next try, so that waiters do not poll in step (PIT-14).
function single_redis.pause(engine) return engine.options.poll * (0.5 + math.random()) end


return single_redis
