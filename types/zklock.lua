---@meta zklock
-- Types of the public API, for language servers that read LuaCATS (lua-language-server: the folder
-- of this file belongs into "workspace.library"). What each does: docs/reference.

---@alias zklock.Code
---| "timeout"        the deadline passed, or a try got no answer
---| "unknown"        it may have been carried out: guard, signal, broadcast, submit
---| "lost"           the lease was lost before it was given up; of `with`, `lead`: fn did run
---| "released"       this handle was given up before
---| "expired"        the ZooKeeper session ended while waiting, or before if `reopen` is false
---| "connection"     connect found no server in time
---| "closed"         the session is closed
---| "busy"           a try found the lock taken; or as many wait as `max_waiters` allows
---| "interrupted"    by session:interrupt, or by an error in the wait
---| "would_deadlock" the owner would wait for itself
---| "conflict"       something else is there
---| "auth"           the ACL forbids it, or the server refused the credentials
---| "no_node"        there is no such node
---| "too_many"       nodes, watches or descriptors
---| "no_memory"      the process has no memory left
---| "unsupported"    not possible here
---| "forked"         the session belongs to the parent process
---| "not_owner"      a condition was given a lease of another lock
---| "context"        no call can wait here

---@alias zklock.SessionState "connecting"|"connected"|"suspended"|"expired"|"closed"
---@alias zklock.LeaseState "held"|"suspect"|"lost"|"released"

---Wherever seconds may be given, a table may, too.
---@class zklock.TimeoutOptions
---@field timeout? number seconds

---@class zklock
---@field _NAME string
---@field _VERSION string by semver
local zklock = {}

---Opens a session, and waits until it is usable, at most `connect_timeout`.
---@param hosts string "host:port,host:port/chroot"; "memory:name/chroot" in a test
---@param options? zklock.ConnectOptions
---@return zklock.Session? session
---@return string? message
---@return zklock.Code? code "connection", "auth", "no_node", "unsupported"
function zklock.connect(hosts, options) end

---The server of "memory:name" inside this process, for tests.
---@param name string
---@return zklock.Memory
function zklock.memory(name) end

---Runs each function as a coroutine, side by side, until all have ended. Arguments that are not all
---functions are arguments of `fn`.
---@param fn fun(...): ...
---@param ... any
---@return any ... what fn returns
function zklock.run(fn, ...) end

---Sleeps; callbacks are called meanwhile, and in zklock.run other coroutines go on.
---@param seconds number
---@return true? ok
---@return string? message
---@return zklock.Code? code "interrupted": the worker of nginx is told to exit; "context"
function zklock.sleep(seconds) end

---Chooses how calls wait; nil: by itself.
---@param driver? "block"|"ngx"|"cqueues"|"luv"|"copas"|zklock.Driver
---@return true? ok
---@return string? message
---@return zklock.Code? code "unsupported", "context"
function zklock.driver(driver) end

---Each of these signals first closes all sessions of the process, within a second.
---@param ... "TERM"|"INT"|"HUP"|"QUIT"|"USR1"|"USR2"
---@return true? ok
---@return string? message
---@return zklock.Code? code "unsupported", "too_many"
function zklock.close_on_signal(...) end

---Runs a program under many schedules, in virtual time: docs/testing-your-code.md.
---@param fn fun(world: zklock.World) called anew for each seed
---@param options? zklock.SimulateOptions
---@return zklock.Simulation? result
---@return string? message
---@return zklock.Code? code "context", "unsupported"
function zklock.simulate(fn, options) end

---Makes a world of virtual time, which you drive by hand.
---@param fn fun(world: zklock.World)
---@param options? zklock.WorldOptions
---@return zklock.World? world
---@return string? message
---@return zklock.Code? code "context", "unsupported"
function zklock.world(fn, options) end

---@class zklock.WorldOptions
---@field seed? integer default 1
---@field faults? zklock.Faults default: none
---@field limit? { steps?: integer, seconds?: number } default 1e6, 86400

---@class zklock.SimulateOptions: zklock.WorldOptions
---@field seeds? integer how many, from 1; default 1000. Not with `seed`, `all` or `schedule`
---@field all? boolean|{ preemptions?: integer, runs?: integer } all schedules; default 2, 10000
---@field schedule? string the one of this name, a `first.schedule`
---@field pct? integer the depth of the bugs that are looked for, by random priorities

---@class zklock.Faults
---@field stop? boolean|{ per_second?: number, longest?: number, most?: integer }
---@field kill? boolean|{ per_second?: number, most?: integer }
---@field cut? boolean|{ per_second?: number, longest?: number, most?: integer }
---@field expire? boolean|{ per_second?: number, most?: integer }
---@field delay? number seconds for which a packet is under way at most; default 0.001

---@class zklock.Simulation
---@field schedules integer
---@field wrong integer
---@field tried zklock.Tried
---@field complete? boolean of all schedules: there are no more within the bounds
---@field bounds? table<string, integer> of all schedules: what left others out
---@field steps? integer with `pct`: of the usual schedule
---@field first? zklock.WrongSchedule

---@class zklock.Tried
---@field sections integer locks that were granted
---@field faults table<string, integer> how often each kind came
---@field repeated integer schedules that had the order of an earlier one, or came to it

---@class zklock.WrongSchedule
---@field seed integer
---@field problem any the error's value
---@field faults string[] those without which it is not wrong
---@field schedule? string of all schedules: its name
---@field decisions? string[] of all schedules: its preemptions and faults
---@field depth? integer with `pct`: the least by which its seed is wrong
---@field story string
---@field repeats boolean false: run again, the seed ended otherwise

---@class zklock.World
---@field story string[] what happened, a line each
---@field problem any why the schedule is wrong; nil: it is not
local world = {}

---A process whose main coroutine is fn().
---@param name string
---@param fn fun()
function world:process(name, fn) end

---Calls fn(), which does not wait, at that time.
---@param seconds number
---@param fn fun()
function world:at(seconds, fn) end

---Calls fn(), which does not wait, when all processes have ended.
---@param fn fun()
function world:finally(fn) end

---@return number seconds since it began
function world:now() end

---As math.random, by the seed.
---@param m? integer
---@param n? integer
---@return number
function world:random(m, n) end

---Adds a line to the story.
---@param text any
function world:note(text) end

---In a process: others may go first here, and it may be stopped.
function world:pause() end

---@param name string
---@param seconds number
---@return boolean done
function world:stop(name, seconds) end

---@param name string
---@return boolean done
function world:kill(name) end

---@param name string
---@param seconds? number nil: until it is healed
---@return boolean done
function world:cut(name, seconds) end

---@param name string
---@return boolean done
function world:heal(name) end

---The server ends the sessions of a process.
---@param name string
---@return boolean done
function world:expire(name) end

---What can come next, in words.
---@return string[]
function world:choices() end

---@param number integer of the choices
---@return boolean goes_on
function world:choose(number) end

---Does what the seed chooses.
---@return boolean goes_on
function world:step() end

---Goes on until the world is over.
---@return true? ok
---@return any problem
function world:run() end

---What all sessions of the process have counted, in Prometheus' text format.
---@param labels? table<string, string|number> in each sample
---@return string
function zklock.metrics(labels) end

---@class zklock.ConnectOptions
---@field timeout? number seconds, at least 0.1: session timeout asked for; default 10
---@field connect_timeout? number seconds; default 5
---@field auth? string "scheme:credentials"
---@field acl? "open"|"creator"|"read" of the nodes made; default "open"
---@field parents? "container"|"persistent" how missing parents are made; default "container"
---@field margin? number in (0, 0.5]: how long a heartbeat counts, as a part of the timeout
---@field reopen? boolean after an expiry; default true
---@field identity? string stored in every lock node; default "host:pid"
---@field on_state? fun(state: zklock.SessionState)
---@field on_event? fun(event: zklock.Event)
---@field drain? number seconds, in nginx: left for waits and timers of a worker that is to exit;
---default 0.5
---@field recover? string a folder: the sessions of dead processes are ended
---@field grace? number seconds, with `recover`: before a dead process's session ends; default 0
---@field tls? any "unsupported": docs/tls.md has a recipe

---@alias zklock.EventKind
---| "queued"
---| "granted"
---| "suspect"
---| "held"         again, after "suspect"
---| "lost"
---| "released"
---| "revoked"
---| "expired"      of the session
---| "reconnected"  of the session
---| "no_containers" of the session
---| "mixed_tokens" of the path

---A step of a lock, or of the session.
---@class zklock.Event
---@field event zklock.EventKind
---@field time number seconds since 1970
---@field path? string
---@field owner? string
---@field token? integer
---@field position? integer of "queued"
---@field waited? number seconds, of "granted"
---@field held? number seconds, of "lost" and "released"

---@class zklock.Driver
---@field wait fun(session: zklock.Session, request: zklock.Request, deadline: number?)
---@field spawn? fun(fn: fun())

---What a driver waits for.
---@class zklock.Request
local request = {}

---@return boolean
function request:done() end

---Calls fn(request) from session:dispatch().
---@param fn fun(request: zklock.Request)
function request:on_done(fn) end

---A server in memory.
---@class zklock.Memory
local memory = {}

---The server ends the session.
---@param session zklock.Session
---@return boolean done
function memory:expire(session) end

---@param session zklock.Session
---@return boolean done
function memory:cut(session) end

---@param session zklock.Session
---@return boolean done
function memory:heal(session) end

---Each answer takes that long.
---@param seconds number
function memory:delay(seconds) end

---@param path string
---@return string[]? names
---@return string? message
---@return zklock.Code? code "no_node"
function memory:children(path) end

---Every session expires, the tree is empty.
function memory:reset() end

---What `require "zklock.resty_lock"` gives, and its objects: lua-resty-lock's interface.
---@class zklock.RestyLock
local resty_lock = {}

---@class zklock.RestyLockOptions
---@field timeout? number|string|false seconds to wait, default 5, at most exptime; 0 or less: try
---@field exptime? number|false seconds to hold, default 30; 0: without an end
---@field step? number|string|false without effect, as those below
---@field ratio? number|string|false
---@field max_step? number|string|false

---Sets, once in each worker, the session that the locks use.
---@param session zklock.Session
function resty_lock.use(session) end

---@param name string of a folder of locks
---@param options? zklock.RestyLockOptions|false
---@return zklock.RestyLock? lock
---@return string? why "closed": no session was named
function resty_lock:new(name, options) end

---@param key string|integer
---@return number? elapsed seconds; exactly 0: the lock was free
---@return string? why "timeout", "locked", "nil key", or a message
function resty_lock:lock(key) end

---@return 1? ok
---@return string? why "unlocked"
function resty_lock:unlock() end

---@param time? number seconds from now, default: exptime
---@return true? ok
---@return string? why "unlocked"
function resty_lock:expire(time) end

---@class zklock.Session
local session = {}

---@return zklock.SessionState
function session:state() end

---@return string? id hexadecimal; nil while there is none
function session:id() end

---@return number seconds that were granted
function session:timeout() end

---@param path string
---@param options? zklock.MutexOptions
---@return zklock.Lock
function session:mutex(path, options) end

---@param path string
---@param options? zklock.RWLockOptions
---@return zklock.RWLock
function session:rwlock(path, options) end

---@param path string
---@param limit integer permits in all, the same for all users of the path
---@param options? zklock.SemaphoreOptions
---@return zklock.Lock
function session:semaphore(path, limit, options) end

---Several locks as one: all of them or none.
---@param locks zklock.Lock[]
---@return zklock.Lock
function session:multi(locks) end

---A function that runs `fn` while it holds the mutex `prefix .. key`.
---@param prefix string
---@param key integer|integer[]|fun(...): string|integer|table which argument is the key
---@param fn fun(...): ...
---@param options? number|zklock.LockedOptions
---@return fun(...): ... fn returns what fn returns; or nil, message, code
function session:locked(prefix, key, fn, options) end

---Makes an election: one of many candidates leads.
---@param path string
---@param options? zklock.ElectionOptions
---@return zklock.Election
function session:election(path, options) end

---@param options? zklock.CloseOptions
---@return true? ok
---@return string? message
---@return zklock.Code? code
function session:close(options) end

---@class zklock.CloseOptions
---@field drain? number seconds to wait first, until no owner holds or waits
---@field drain_waiters? boolean false: waiters get "closed" at once

---Gives a live session other servers of the same ensemble.
---@param hosts string as for zklock.connect, with the same chroot
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "conflict", "timeout", "unsupported", "closed"
function session:set_hosts(hosts, timeout) end

---@param path string
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return string? data
---@return integer|string version or message
---@return zklock.Code? code "no_node", "auth", "timeout", "closed"
function session:get(path, timeout) end

---Calls fn with the node's data, soon, and after each change.
---@param path string
---@param fn fun(data: string?, version: integer|string|nil, code: zklock.Code?)
---@return fun()? stop
---@return string? message
---@return zklock.Code? code "too_many", "closed", "expired", "auth", "forked"
function session:watch(path, fn) end

---Makes an ephemeral node in the folder, and makes the node again when it is gone.
---@param folder string
---@param options zklock.JoinOptions
---@return zklock.Member? member
---@return string? message
---@return zklock.Code? code "conflict", "timeout", "auth", "too_many", "closed", ...
function session:join(folder, options) end

---@class zklock.JoinOptions
---@field name string of the node
---@field data? string in the node; default ""
---@field timeout? number seconds, default: the session timeout

---A node in a folder, until it leaves.
---@class zklock.Member
---@field path string of the node
local member = {}

---Asks the server to remove the node.
---@return true
function member:leave() end

---Gives the node other data, and waits until it has them.
---@param data string
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "closed": it has left; "timeout", "conflict", "auth", ...
function member:set(data, timeout) end

---@return "joined"|"joining"|"left"|zklock.Code state a code: why it was given up
---@return string? message of a code
function member:state() end

---Calls fn(state, message) after each change of the state, except by leave().
---@param fn fun(state: string, message: string?)
---@return fun() stop
function member:on_change(fn) end

---Calls fn with the children of a folder, sorted by name, soon, and after each change.
---@param folder string
---@param fn fun(list: zklock.Listed[]?, message: string?, code: zklock.Code?)
---@return fun()? stop
---@return string? message
---@return zklock.Code? code "too_many", "closed", "expired", "auth", "forked"
function session:members(folder, fn) end

---A member of a folder, as session:members tells it.
---@class zklock.Listed
---@field name string
---@field data? string nil: it may not be read
---@field session? string that made it, hexadecimal; nil: it is not ephemeral, or may not be read
---@field since? number seconds since 1970

---Ends the owner's waits with "interrupted".
---@param owner? any
---@return integer? count
---@return string? message
---@return zklock.Code? code "forked"
function session:interrupt(owner) end

---Gives up every lease of the owner.
---@param owner? any
---@return integer? count
---@return string? message
---@return zklock.Code? code "forked"
function session:release_all(owner) end

---Readable while dispatch() has something to deliver.
---@return integer? descriptor
---@return string? message
---@return zklock.Code? code "too_many"
function session:fd() end

---@return integer count of what was delivered
function session:dispatch() end

---@return zklock.Stats
function session:stats() end

---@class zklock.Stats
---@field creates integer
---@field sets integer
---@field deletes integer
---@field lists integer
---@field gets integer
---@field exists integer
---@field syncs integer
---@field grants integer
---@field losses integer
---@field waits integer
---@field timeouts integer
---@field reconnects integer
---@field expiries integer
---@field orphans integer nodes left behind by lost replies, and removed
---@field events integer
---@field in_flight integer
---@field claims integer own holders, kept nodes and waiters, until they are gone
---@field watches integer
---@field watch_removals integer
---@field watch_bytes integer
---@field watch_bytes_limit integer
---@field containers boolean missing parents are made as containers
---@field path_bytes integer
---@field callback_errors integer
---@field callback_error? any
---@field callbacks_pending integer in nginx: those that have not begun
---@field untold_events integer
---@field recovered integer sessions of dead processes that were ended
---@field recover_error? string
---@field wait zklock.Times from an acquire to its grant
---@field hold zklock.Times from a grant to its end
---@field hand_over zklock.Times from the end of the hold before to the grant
---@field round_trip zklock.Times from a request to its answer
---@field outcomes table<string, integer> of acquires: "granted", "reentered", codes
---@field locks table<string, zklock.NamedStats> by the names that locks were given

---@class zklock.Times
---@field count integer
---@field sum number seconds
---@field max number seconds
---@field p50 number seconds, within 5 %
---@field p90 number
---@field p99 number
---@field buckets { le: number, count: integer }[]

---@class zklock.NamedStats
---@field wait zklock.Times
---@field hold zklock.Times
---@field hand_over zklock.Times
---@field outcomes table<string, integer>

---@class zklock.ElectionOptions
---@field data? string shown to others of a leader
---@field max_hold? number seconds after which the lead is lost

---@class zklock.Election
local election = {}

---Runs fn(lease) while it leads, again and again, until fn returns true.
---@param fn fun(lease: zklock.Lease): boolean?
---@return true? done
---@return string? message
---@return zklock.Code? code
function election:lead(fn) end

---Reads the leader.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return string? identity
---@return string? data or message
---@return integer|zklock.Code|nil token or code: "no_node", "auth", "timeout", "closed"
function election:leader(timeout) end

---Calls fn with the leader, soon, and after each change of leader.
---@param fn fun(identity: string?, data: string?, token: integer|zklock.Code|nil)
---@return fun()? stop
---@return string? message
---@return zklock.Code? code "closed", "expired", "auth", "forked"
function election:on_change(fn) end

---@class zklock.MutexOptions
---@field order? "fifo"|"turns"|"none" default "fifo"
---@field reentrant? boolean default true
---@field data? string shown to others by lock:queue()
---@field batch? integer with "turns": grants of a turn, 1 to 1024
---@field token? "turns" a fifo lock gives tokens that compare with those of turns
---@field keep? number seconds for which the node stays after the last release
---@field jitter? number seconds, with "none": the longest pause of a waiter
---@field metrics? string the name of the lock in stats() and metrics()

---@class zklock.RWLockOptions
---@field reentrant? boolean default true
---@field data? string
---@field metrics? string

---@class zklock.SemaphoreOptions
---@field data? string
---@field metrics? string

---@class zklock.RWLock
local rwlock = {}

---@return zklock.Lock
function rwlock:read() end

---@return zklock.Lock
function rwlock:write() end

---@class zklock.Lock
---@field path string
local lock = {}

---@class zklock.AcquireOptions
---@field timeout? number seconds; nil: for ever, 0: try
---@field owner? any default: the running coroutine
---@field on_queued? fun(position: integer)
---@field max_waiters? integer "busy" if so many wait already
---@field max_hold? number seconds after which the grant is lost

---@class zklock.LockedOptions: zklock.AcquireOptions
---@field metrics? string one name for all keys

---@class zklock.PermitOptions: zklock.AcquireOptions
---@field permits? integer of a semaphore, default 1

---@param options? number|zklock.AcquireOptions|zklock.PermitOptions
---@return zklock.Lease? lease
---@return string? message
---@return zklock.Code? code
function lock:acquire(options) end

---Acquires, calls fn(lease, ...), releases however fn ends.
---@overload fun(self: zklock.Lock, fn: (fun(lease: zklock.Lease, ...): ...), ...): true?, ...
---@param options? number|zklock.AcquireOptions|zklock.PermitOptions
---@param fn fun(lease: zklock.Lease, ...): ...
---@param ... any
---@return true? ok
---@return any ... what fn returns; or message, code, and after "lost" what fn returned
function lock:with(options, fn, ...) end

---@class zklock.CombineOptions
---@field most? integer items of one hold, default 100
---@field max_waiters? integer "busy" if so many items, or waiters for the lock, wait already
---@field timeout? number seconds of a submit that gives none; nil: for ever
---@field max_hold? number seconds after which a hold is lost

---Batches requests of this process: fn carries them out in one hold.
---@param fn fun(lease: zklock.Lease, items: any[]): any[]
---@param options? zklock.CombineOptions
---@return fun(item: any, timeout?: number|zklock.TimeoutOptions): any, string?, zklock.Code? submit
function lock:combine(fn, options) end

---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return zklock.Contender[]? line
---@return string? message
---@return zklock.Code? code
function lock:queue(timeout) end

---A holder or a waiter.
---@class zklock.Contender
---@field position integer
---@field name string of the node
---@field kind "mutex"|"read"|"write"|"permit"
---@field permits? integer
---@field limit? integer
---@field held boolean|"unknown"
---@field kept? boolean
---@field mine boolean of this session
---@field token? integer nil where lease.token raises
---@field identity string
---@field data? string
---@field session string hexadecimal id
---@field since? number seconds since 1970
---@field revoked? boolean

---Asks each holder to give way.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count
---@return string? message
---@return zklock.Code? code
function lock:revoke(timeout) end

---@param name string
---@return zklock.Condition? condition
---@return string? message
---@return zklock.Code? code "unsupported"
function lock:condition(name) end

---@class zklock.Condition
local condition = {}

---Releases the lock, waits for a signal, and acquires the lock again.
---@param lease zklock.Lease
---@param timeout? number|zklock.TimeoutOptions seconds; nil: for ever
---@return true? ok
---@return string? message
---@return zklock.Code? code
function condition:wait(lease, timeout) end

---@param lease zklock.Lease
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count
---@return string? message
---@return zklock.Code? code
function condition:signal(lease, timeout) end

---@param lease zklock.Lease
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return integer? count
---@return string? message
---@return zklock.Code? code
function condition:broadcast(lease, timeout) end

---@class zklock.Lease
---@field path string
---@field token integer the fencing token: show it to the store before you read
local lease = {}

---@return string digits exact on every Lua
function lease:token_string() end

---@return zklock.LeaseState
function lease:state() end

---@return boolean
function lease:held() end

---@return number seconds for which "held" lasts without a further answer
function lease:remaining() end

---@param seconds number more than 0: then the hold ends
---@return true? ok
---@return string? message
---@return zklock.Code? code "lost", "released"
function lease:expire(seconds) end

---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code "lost", "released", "timeout", "closed"
function lease:check(timeout) end

---@param fn fun(lease: zklock.Lease, state: "suspect"|"lost")
---@return fun() stop
function lease:on_lost(fn) end

---A write lease becomes a read lease.
---@param timeout? number|zklock.TimeoutOptions seconds, default: the session timeout
---@return true? ok
---@return string? message
---@return zklock.Code? code
function lease:downgrade(timeout) end

---@class zklock.ReleaseOptions
---@field wait? number seconds: until the node is gone

---@param options? zklock.ReleaseOptions
---@return true? ok
---@return string? message
---@return zklock.Code? code "lost", "released", "timeout"
function lease:release(options) end

---@param fn fun(lease: zklock.Lease)
---@return fun() stop
function lease:on_revoke(fn) end

---{ "set", path, data [, version] }, { "create", path, data }, { "delete", path [, version] } or
---{ "check", path [, version] }
---@alias zklock.Write (string|integer)[]

---@class zklock.GuardOptions
---@field [integer] zklock.Write
---@field timeout? number seconds, default: the session timeout

---Writes, all of them, only if this lease's node still exists.
---@param writes zklock.GuardOptions
---@return true? ok
---@return (integer|false)[]|string versions or message
---@return zklock.Code? code
function lease:guard(writes) end

return zklock
