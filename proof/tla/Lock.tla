-------------------------------- MODULE Lock --------------------------------
(* The recipe of a lock on ZooKeeper, as zklock carries it out.            *)
(*                                                                         *)
(* A client makes a sequential ephemeral node below the lock's path, and   *)
(* lists the path. The first node holds the lock. Any other client looks   *)
(* at the node right ahead of its own, with a watch; when that is gone, at *)
(* the next one of its list, for new nodes come behind its own. When the   *)
(* reply to a create is lost, the client lists behind a sync, and finds    *)
(* its node by the nonce in its name and by the session that owns it.      *)
(*                                                                         *)
(* A holder is certain while its lease clock says that its session lives;  *)
(* Lease.tla shows that the clock is right. Here Expire assumes it.        *)
(*                                                                         *)
(* Each constant but the first four names a rule. Where a Bad*.cfg sets    *)
(* one to FALSE, the checker finds what the rule is for.                   *)
EXTENDS Naturals, FiniteSets
CONSTANTS
    Client,
    Creates,        \* most nodes that are made
    Faults,         \* most cuts of connections and ends of sessions
    GivesUp,        \* a client may leave at any time, not only when it waits or holds
    HasNonce,       \* the name of a node tells which attempt made it
    LooksBehind,    \* the search for a node of an attempt comes behind a sync
    ChecksOwner,    \* a node is a client's own only if its present session made it
    WatchesAhead,   \* a client watches the node right ahead of its own, not the first
    LooksAgain,     \* the client reads that node with the watch, so it sees if the node is gone
    GoesOn,         \* when that node goes the client looks at the next, which may be ahead, too
    IsCertain       \* a holder's clock runs out before the server ends the session
VARIABLES
    nodes,      \* below the path: [number, client, session, attempt]
    last,       \* the number of the node that was made last
    alive,      \* the sessions that the server has: <<client, number>>
    watches,    \* set at the server: <<client, node>>
    events,     \* of watches, on their way: <<client, node>>
    late,       \* creates of connections that were cut, which may still be carried out
    client,     \* each client's knowledge; before: the nodes ahead of its own
    out,        \* each client's request, and the answer on its way back
    token,      \* the greatest token that was granted
    stale,      \* a smaller token was granted after it
    faults
vars == <<nodes, last, alive, watches, events, late, client, out, token, stale, faults>>
None == [kind |-> "none", done |-> FALSE, answer |-> {}]
Ask(kind) == [kind |-> kind, done |-> FALSE, answer |-> {}]
Numbers(set) == {n.number : n \in set}
Max(set) == CHOOSE n \in set : \A m \in set : m <= n
Min(set) == CHOOSE n \in set : \A m \in set : n <= m
Now(i) == <<i, client[i].session>>
(* The node that a client waits for, of those that it knows before its own. *)
Nearest(before) == IF before = {} THEN 0 ELSE IF WatchesAhead THEN Max(before) ELSE Min(before)
Ahead(i) == Nearest(client[i].before)
Node(i, session, attempt) ==
    [number |-> last + 1, client |-> i, session |-> session, attempt |-> attempt]
Init ==
    /\ nodes = {} /\ last = 0 /\ watches = {} /\ events = {} /\ late = {}
    /\ alive = {<<i, 1>> : i \in Client}
    /\ client = [i \in Client |->
           [state |-> "idle", session |-> 1, attempt |-> 0, own |-> 0, before |-> {}]]
    /\ out = [i \in Client |-> None] /\ token = 0 /\ stale = FALSE /\ faults = 0

----------------------------------------------------------------------------
(* The server.                                                             *)
(* Nodes go, and their watches fire. *)
Remove(gone) ==
    LET fired == {w \in watches : w[2] \in Numbers(gone)}
    IN  nodes' = nodes \ gone /\ watches' = watches \ fired /\ events' = events \union fired

Answer(i, answer) == out' = [out EXCEPT ![i].done = TRUE, ![i].answer = answer]

Execute(i) ==
    /\ out[i].kind # "none" /\ ~out[i].done /\ Now(i) \in alive
    /\ \/ /\ out[i].kind = "create" /\ last < Creates
          /\ nodes' = nodes \union {Node(i, client[i].session, client[i].attempt)}
          /\ last' = last + 1
          /\ Answer(i, last + 1)
          /\ UNCHANGED <<watches, events>>
       \/ /\ out[i].kind \in {"list", "search"}
          /\ (~LooksBehind \/ out[i].kind = "list" \/ \A l \in late : l.client # i)
          /\ Answer(i, nodes)
          /\ UNCHANGED <<nodes, last, watches, events>>
       \/ /\ out[i].kind = "look"
          /\ LET there == Ahead(i) \in Numbers(nodes)
             IN  /\ Answer(i, there \/ ~LooksAgain)
                 /\ watches' = IF there THEN watches \union {<<i, Ahead(i)>>} ELSE watches
          /\ UNCHANGED <<nodes, last, events>>
       \/ /\ out[i].kind = "delete"
          /\ Remove({n \in nodes : n.number = client[i].own})
          /\ Answer(i, {})
          /\ UNCHANGED last
    /\ UNCHANGED <<alive, late, client, token, stale, faults>>

(* A create whose connection was cut is carried out after all, or is not. *)
Late(l) ==
    /\ late' = late \ {l}
    /\ \/ UNCHANGED <<nodes, last>>
       \/ /\ <<l.client, l.session>> \in alive /\ last < Creates
          /\ nodes' = nodes \union {Node(l.client, l.session, l.attempt)}
          /\ last' = last + 1
    /\ UNCHANGED <<alive, watches, events, client, out, token, stale, faults>>

(* The server ends a session of which it has not heard for the session timeout. *)
Expire(s) ==
    /\ faults < Faults /\ faults' = faults + 1
    /\ (IsCertain => (s # Now(s[1]) \/ client[s[1]].state # "held"))
    /\ alive' = alive \ {s}
    /\ LET gone == {n \in nodes : n.client = s[1] /\ n.session = s[2]}
           kept == {w \in watches : w[1] # s[1] \/ s # Now(s[1])}
           fired == {w \in kept : w[2] \in Numbers(gone)}
       IN  nodes' = nodes \ gone /\ watches' = kept \ fired /\ events' = events \union fired
    /\ UNCHANGED <<last, late, client, out, token, stale>>

----------------------------------------------------------------------------
(* A client.                                                               *)

Become(i, state, own, before, request) ==
    /\ client' = [client EXCEPT ![i].state = state, ![i].own = own, ![i].before = before]
    /\ out' = [out EXCEPT ![i] = request]

Attempt(i) ==
    /\ client' = [client EXCEPT ![i].state = "create", ![i].own = 0, ![i].before = {},
                                ![i].attempt = client[i].attempt + 1]
    /\ out' = [out EXCEPT ![i] = Ask("create")]

Drop(i, own) == Become(i, "leave", own, {}, Ask("delete"))

Want(i) ==
    /\ client[i].state = "idle" /\ last < Creates /\ Attempt(i)
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>

Behind(i, own, before) ==
    IF before = {} THEN Become(i, "first", own, {}, None)
    ELSE Become(i, "look", own, before, Ask("look"))

Place(i, own, list) ==
    IF own \notin Numbers(list) THEN Attempt(i)
    ELSE Behind(i, own, {n \in Numbers(list) : n < own})

IsOwn(i, node) ==
    /\ HasNonce /\ node.client = i /\ node.attempt = client[i].attempt
    /\ (ChecksOwner => node.session = client[i].session)

Found(i, list) ==
    LET own == {n \in list : IsOwn(i, n)}
        drops == client[i].state = "drop"
    IN  IF own = {} THEN IF drops THEN Become(i, "idle", 0, {}, None) ELSE Attempt(i)
        ELSE IF drops THEN Drop(i, Min(Numbers(own))) ELSE Place(i, Min(Numbers(own)), list)

Receive(i) ==
    /\ out[i].done
    /\ CASE out[i].kind = "create" ->
                IF client[i].state = "drop" THEN Drop(i, out[i].answer)
                ELSE Become(i, "list", out[i].answer, {}, Ask("list"))
         [] out[i].kind = "list" -> Place(i, client[i].own, out[i].answer)
         [] out[i].kind = "search" -> Found(i, out[i].answer)
         [] out[i].kind = "look" ->
                IF out[i].answer THEN Become(i, "wait", client[i].own, client[i].before, None)
                ELSE Behind(i, client[i].own, client[i].before \ {Ahead(i)})
         [] out[i].kind = "delete" -> Become(i, "idle", 0, {}, None)
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>

Hear(i) ==
    /\ client[i].state = "wait" /\ <<i, Ahead(i)>> \in events
    /\ events' = events \ {<<i, Ahead(i)>>}
    /\ Behind(i, client[i].own, IF GoesOn THEN client[i].before \ {Ahead(i)} ELSE {})
    /\ UNCHANGED <<nodes, last, alive, watches, late, token, stale, faults>>

(* A proof counts, because the session lives. *)
Prove(i) ==
    /\ client[i].state \in {"first", "suspect"} /\ Now(i) \in alive
    /\ client' = [client EXCEPT ![i].state = "held"]
    /\ IF client[i].state = "suspect" THEN UNCHANGED <<token, stale>>
       ELSE token' = client[i].own /\ stale' = (stale \/ client[i].own <= token)
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, out, faults>>

(* Without a proof for a while, or without a connection, a holder is not certain any more. *)
Doubt(i) ==
    /\ client[i].state = "held"
    /\ client' = [client EXCEPT ![i].state = "suspect"]
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, out, token, stale, faults>>

(* A client releases the lock or gives up. A pending create has to be answered first. *)
Leave(i) ==
    /\ \/ /\ \/ client[i].state \in {"held", "suspect", "wait"}
             \/ GivesUp /\ client[i].state \in {"list", "look", "first"}
          /\ Drop(i, client[i].own)
       \/ /\ GivesUp /\ client[i].state = "create"
          /\ client' = [client EXCEPT ![i].state = "drop"] /\ UNCHANGED out
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>

(* What was asked, or the answer, is lost with the connection. The watches are set again. *)
Cut(i) ==
    /\ faults < Faults /\ faults' = faults + 1
    /\ out[i].kind # "none"
    /\ late' = IF out[i].kind = "create" /\ ~out[i].done
               THEN late \union {[client |-> i, session |-> client[i].session,
                                  attempt |-> client[i].attempt]}
               ELSE late
    /\ out' = [out EXCEPT ![i] = IF out[i].kind = "create" THEN Ask("search")
                                 ELSE Ask(out[i].kind)]
    /\ UNCHANGED <<nodes, last, alive, watches, events, client, token, stale>>

(* The client hears that its session has ended, or gives it up while the server still has it. *)
(* A holder has lost the lock; one that waits may look for its node in the next session.      *)
Reopen(i, wants) ==
    LET s == client[i].session + 1
    IN  /\ client[i].state # "held" /\ faults < Faults /\ faults' = faults + 1
        /\ wants => client[i].state \in {"create", "list", "look", "wait", "first"}
        /\ alive' = alive \union {<<i, s>>}
        /\ client' = [client EXCEPT ![i].session = s, ![i].own = 0, ![i].before = {},
                                    ![i].state = IF wants THEN "create" ELSE "idle"]
        /\ out' = [out EXCEPT ![i] = IF wants THEN Ask("search") ELSE None]
        /\ events' = {e \in events : e[1] # i}
        /\ watches' = {w \in watches : w[1] # i}
        /\ UNCHANGED <<nodes, last, late, token, stale>>

Next ==
    \/ \E i \in Client : \/ Execute(i) \/ Want(i) \/ Receive(i) \/ Hear(i) \/ Prove(i)
                         \/ Doubt(i) \/ Leave(i) \/ Cut(i)
                         \/ Reopen(i, TRUE) \/ Reopen(i, FALSE)
    \/ \E l \in late : Late(l)
    \/ \E s \in alive : Expire(s)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
(* No two clients are certain at once that they hold the lock. *)
Exclusion == Cardinality({i \in Client : client[i].state = "held"}) <= 1

(* A later grant has a greater token. *)
TokensGrow == ~stale

Waits(i) == client[i].state = "wait" /\ Now(i) \in alive

(* A waiting client has a watch of a living node, or the watch's event is on its way. *)
NoLostWakeUp ==
    \A i \in Client : Waits(i) =>
        \/ <<i, Ahead(i)>> \in events
        \/ <<i, Ahead(i)>> \in watches /\ Ahead(i) \in Numbers(nodes)

(* A node that goes wakes one client. *)
NoHerd ==
    \A i, j \in Client : (i # j /\ Waits(i) /\ Waits(j)) => Ahead(i) # Ahead(j)

(* A session has no node in line but the one that its client knows as its own. *)
NoOrphan ==
    \A n \in nodes :
        LET c == client[n.client]
        IN  (n.session = c.session /\ c.state \in {"idle", "first", "wait", "held"})
                => n.number = c.own

=============================================================================
