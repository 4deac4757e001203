--- Texts of help() at the prompt, by topic.

local nearest = require "zklock.command.nearest"
local sorted_names = require "zklock.value.sorted_names"

local type = type

local topics = {}

topics.mutex = [[
lock = session:mutex "/locks/a"          in order of arrival
lease, why, code = lock:acquire(3)       waits 3 s; 0 is a try; nil waits for ever
lock:with(3, function(lease) ... end)    releases it in any case
lock:queue()    lock:revoke()            holders and waiters; asks the holder to give way
session:mutex("/locks/b", { order = "none" })   the quickest is next; see turns, keep]]

topics.lease = [[
lease:state()       "held", "suspect", "lost" or "released", by the clock
lease.token         grows with every grant; a store that checks it refuses late writes
lease:check(1)      asks the server
lease:on_lost(print)    lease:on_revoke(print)
lease:release()]]

topics.rwlock = [[
rw = session:rwlock "/locks/cache"
reader = rw:read():acquire(3)            readers together
writer = rw:write():acquire{ timeout = 3, owner = "b" }     alone; waits for the reader
writer:downgrade()                       a writer becomes a reader]]

topics.semaphore = [[
gate = session:semaphore("/permits/gate", 10)
lease = gate:acquire{ permits = 3, timeout = 3 }     all or none]]

topics.multi = [[
both = session:multi{ session:mutex "/locks/a", session:mutex "/locks/b" }
lease = both:acquire(3)                  all or none]]

topics.condition = [[
full = lock:condition "full"
full:wait(lease, 3)      gives the lock up, waits for a signal, takes it again
full:signal(lease)       full:broadcast(lease), from another owner that holds the lock]]

topics.election = [[
election = session:election("/leaders/export", { data = "10.0.0.7:8080" })
election:leader()        identity, data and token of the leader
election:lead(function(lease) ... end)]]

topics.members = [[
member = session:join("/members/gateway", { name = "10.0.0.7:8080", data = "weight=3" })
                         a node that is made again after an expiry; member:leave()
stop = session:members("/members/gateway", function(list) ... end)
                         name, data, session and since of each, first and after each change]]

topics.turns = [[
lock = session:mutex("/locks/a", { order = "turns" })
                         each process serves its own waiters in its turn, without a request]]

topics.keep = [[
lock = session:mutex("/locks/a", { keep = 5 })
                         the node stays 5 s after the last release; the next acquire costs nothing]]

topics.combine = [[
submit = lock:combine(function(lease, items) return items end)
submit(42)               many items under one grant; as many results as items]]

topics.watch = [[
stop = session:watch("/config", print)   data and version, first and after each change
stop()]]

topics.guard = [[
lease:guard{ { "set", "/stock", "41" } }     writes that happen only while the lock is held]]

topics.owner = [[
A second user, without a second program, is an owner of another name:
a = lock:acquire{ owner = "a", timeout = 3 }
b = lock:acquire{ owner = "b", timeout = 0 }     nil, why, code: it is taken
A second session, which faults of the first do not touch:
other = zklock.connect(session.hosts)]]

topics.memory = [[
A server in this process (zklock repl --hosts memory:try), with faults:
memory = zklock.memory "try"
memory:cut(session)    memory:heal(session)     the connection is lost, and comes back
memory:expire(session)                          the server ends the session
memory:delay(0.5)                               each answer takes that long
memory:children "/locks/a"    memory:reset()    the nodes; an empty tree, no session]]

topics.leave = [[
Ctrl-D, or os.exit(0, true): the session is closed, and all locks are given up.
Ctrl-C ends what runs, or the wait for a lock, not the prompt.]]


---@return string? text
---@return string? meant the topic that a misspelled name is most like
local function text_of(topic)
    if type(topic) ~= "string" then return nil end
    local text = topics[topic]
    if text then return text end
    return nil, nearest(topic, topics)
end


return { text_of = text_of, topics = sorted_names(topics) }
