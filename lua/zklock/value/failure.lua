--- Returns nil, message, code for a failure.

local brief = require "zklock.value.misuse".brief

local SUBJECT_SIZE = 4096 -- bytes of a subject in a message

---@alias zklock.Code
---| "timeout"        the deadline passed, or a try got no answer
---| "unknown"        guard, signal, broadcast or submit may have taken effect
---| "lost"           the lease was lost before its release; after `with` and `lead`, fn did run
---| "released"       this handle was given up before
---| "expired"        the ZooKeeper session ended while waiting, or before if `reopen` is false
---| "connection"     connect found no server in time
---| "closed"         the session is closed
---| "busy"           a try found the lock taken, or `max_waiters` wait already
---| "interrupted"    session:interrupt, or an error in the wait
---| "would_deadlock" the owner would wait for itself
---| "conflict"       the path or name is used in another way
---| "auth"           the ACL forbids it, or the server refused the credentials
---| "no_node"        there is no such node
---| "too_many"       no room for more nodes, watches or descriptors
---| "no_memory"      the process has no memory left
---| "unsupported"    not possible here
---| "forked"         the session belongs to the parent process
---| "not_owner"      a condition was given a lease of another lock
---| "context"        no call can wait here

local texts = {
    timeout = "not done in time",
    unknown = "it may have been carried out",
    lost = "the lease was lost",
    released = "this lease was released before",
    expired = "the ZooKeeper session expired",
    connection = "no ZooKeeper server answered",
    closed = "the session is closed",
    interrupted = "the wait was interrupted",
    not_owner = "the lease belongs to another lock",
    would_deadlock = "the owner would wait for itself",
    conflict = "something else is there",
    auth = "the server refuses: not authorised",
    no_node = "there is no such node",
    too_many = "more than 512 KB of paths in one session, or 256 KB of watched ones",
    busy = "it is taken",
    no_memory = "not enough memory",
    unsupported = "not supported",
    context = "not allowed here",
    forked = "this session belongs to the parent process: open one after the fork",
}


---@param code zklock.Code
---@param subject string path, hosts or call that failed
---@param detail? string the server's reason, or this library's
---@param meaning? string of the code here; default: its usual one
---@return nil, string message, zklock.Code code
return function(code, subject, detail, meaning)
    meaning = meaning or texts[code] or code
    local text = ("%s: %s: %s"):format(code, brief(subject, SUBJECT_SIZE), meaning)
    if detail then text = ("%s (%s)"):format(text, detail) end
    return nil, text, code
end
