-------------------------------- MODULE Trace --------------------------------
(***************************************************************************)
(* A trace of the simulator is a behaviour of Lock.tla. trace.lua makes    *)
(* the module Log of it. Each line names a step, which has to be possible, *)
(* and after a client's step comes a line with what the client knows then, *)
(* which has to agree. A behaviour that stops before the end of the log    *)
(* stops at the first line that does not conform.                          *)
(*                                                                         *)
(* A server's step is one of Lock.tla: a create, a delete, a look, an      *)
(* expiry. So is a client's, but for what zklock does in one flight:       *)
(*  - It sends the list behind the create, before it has the answer. So    *)
(*    Lists keeps what a list has shown until it is received.              *)
(*  - It watches the node before the one ahead, too (Peek), and asks about *)
(*    all that it knows before its own, by gets or by a list. It learns    *)
(*    that some are gone: they have to be gone (Learn).                    *)
(*  - A session has two of its nodes in line when a lost create lands      *)
(*    after it was looked for. Another look finds and removes it (Sweep).  *)
(*    So LooksBehind is FALSE here, and NoOrphan is not asked for.         *)
(***************************************************************************)
EXTENDS Lock, Sequences, Log

VARIABLES
    line,       \* number of the log's next line
    lists,      \* that were carried out and have not been received: [client, id, nodes]
    peeked,     \* the client knows that the node has its watch: <<client, node>>
    granted     \* the greatest token, as zklock counts them

hidden == <<lists, peeked, granted>>

Begin == Init /\ line = 1 /\ lists = {} /\ peeked = {} /\ granted = 0

----------------------------------------------------------------------------
(* Servers.                                                                *)

Create(who, l) ==
    LET lost == [client |-> who, session |-> l.session, attempt |-> l.attempt]
    IN  /\ IF out[who].kind = "create" /\ ~out[who].done /\ Now(who) = <<who, l.session>>
                  /\ client[who].attempt = l.attempt
           THEN Execute(who) ELSE lost \in late /\ Late(lost)
        /\ last' = l.number
        /\ UNCHANGED hidden

List(who, l) ==
    /\ lists' = lists \union {[client |-> who, id |-> l.id, nodes |-> nodes]}
    /\ UNCHANGED vars /\ UNCHANGED <<peeked, granted>>

Peek(who, l) ==
    /\ l.number \in Numbers(nodes)
    /\ watches' = watches \union {<<who, l.number>>}
    /\ UNCHANGED <<nodes, last, alive, events, late, client, out, token, stale, faults>>

Look(who, l) ==
    /\ IF out[who].kind = "look" /\ ~out[who].done /\ Ahead(who) = l.number
       THEN Execute(who) ELSE Peek(who, l)
    /\ UNCHANGED hidden

End(session) == session \in alive /\ Expire(session)

Sweep(who, l) ==
    /\ \A n \in nodes : n.number = l.number => n.client = who /\ n.number # client[who].own
    /\ Remove({n \in nodes : n.number = l.number})
    /\ UNCHANGED <<last, alive, late, client, out, token, stale, faults>>

Delete(who, l) ==
    /\ IF out[who].kind = "delete" /\ ~out[who].done /\ client[who].own = l.number
       THEN Execute(who) ELSE Sweep(who, l)
    /\ UNCHANGED hidden

----------------------------------------------------------------------------
(* Clients.                                                                *)

Answered(who, l, kind) == out[who].kind = kind /\ Receive(who)

(* The answer to a list, and the client's next step. *)
Listed(who, l, kind) ==
    /\ out[who].kind = kind
    /\ \E list \in lists :
        /\ list.client = who /\ list.id = l.id
        /\ IF kind = "list" THEN Place(who, client[who].own, list.nodes) ELSE Found(who, list.nodes)
        /\ lists' = lists \ {list}
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>
    /\ UNCHANGED <<peeked, granted>>

Watched(who, l) ==
    /\ <<who, l.number>> \in watches \union events
    /\ IF out[who].kind = "look" /\ out[who].done /\ Ahead(who) = l.number
       THEN Receive(who) ELSE UNCHANGED vars
    /\ peeked' = peeked \union {<<who, l.number>>}
    /\ UNCHANGED <<lists, granted>>

(* The client has watched the node since before it was the one ahead. *)
Skip(who, l) ==
    /\ client[who].state = "look" /\ Ahead(who) = l.number
    /\ Behind(who, client[who].own, client[who].before \ {l.number})

(* The end of a node: of the one that the client waits for, or of another one. *)
Hears(who, l) ==
    /\ <<who, l.number>> \in events
    /\ IF l.awaits = "yes" /\ client[who].state = "wait" THEN Ahead(who) = l.number /\ Hear(who)
       ELSE /\ events' = events \ {<<who, l.number>>}
            /\ IF l.awaits = "yes" THEN Skip(who, l) ELSE UNCHANGED <<client, out>>
            /\ UNCHANGED <<nodes, last, alive, watches, late, token, stale, faults>>
    /\ peeked' = peeked \ {<<who, l.number>>}
    /\ UNCHANGED <<lists, granted>>

(* Nodes that the client knows no more before its own are gone. *)
Learn(who, l) ==
    /\ client[who].state \in {"look", "wait"} \/ l.before = client[who].before
    /\ l.before \subseteq client[who].before
    /\ \A n \in client[who].before \ l.before : n \notin Numbers(nodes)
    /\ IF Nearest(l.before) = Ahead(who)
       THEN client' = [client EXCEPT ![who].before = l.before] /\ UNCHANGED out
       ELSE Behind(who, client[who].own, l.before)
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>
    /\ UNCHANGED hidden

Lost(who, l) == IF out[who] = None THEN UNCHANGED vars ELSE Cut(who)

(* The client hears that its own node is gone. *)
Gone(who) ==
    /\ client[who].own # 0 /\ client[who].own \notin Numbers(nodes)
    /\ Become(who, "idle", 0, {}, None)
    /\ UNCHANGED <<nodes, last, alive, watches, events, late, token, stale, faults>>

Grant(who, l) ==
    /\ client[who].state = "first" /\ Prove(who)
    /\ l.token > granted /\ granted' = l.token
    /\ UNCHANGED <<lists, peeked>>

Expired(who, l) ==
    /\ Reopen(who, FALSE)
    /\ peeked' = {p \in peeked : p[1] # who}
    /\ UNCHANGED <<lists, granted>>

(* The client's state, in Lock.tla's words. *)
States(who, l) ==
    CASE l.state \in {"idle", "create", "drop", "list", "held", "suspect", "leave"} ->
            {l.state}
      [] l.state = "wait" -> {"look", "wait"}
      [] l.state = "ask" -> {"look", "first"}     \* gets or a list are out
      [] l.state = "found" -> {"look", "first"}   \* its own node's owner is asked for
      [] l.state = "prove" -> {"first"}

Agrees(who, l) ==
    /\ client[who].state \in States(who, l)
    /\ client[who].session = l.session /\ client[who].attempt = l.attempt
    /\ client[who].own = l.own /\ client[who].before = l.before
    /\ UNCHANGED vars

Step(who, l) ==
    CASE l.event = "create" -> Create(who, l)
      [] l.event = "list" -> List(who, l)
      [] l.event = "look" -> Look(who, l)
      [] l.event = "delete" -> Delete(who, l)
      [] l.event = "expire" -> End(<<who, l.session>>) /\ UNCHANGED hidden
      [] l.event = "want" -> Want(who) /\ UNCHANGED hidden
      [] l.event = "created" -> Answered(who, l, "create") /\ UNCHANGED hidden
      [] l.event = "listed" -> Listed(who, l, "list")
      [] l.event = "searched" -> Listed(who, l, "search")
      [] l.event = "watched" -> Watched(who, l)
      [] l.event = "hears" -> Hears(who, l)
      [] l.event = "learns" -> Learn(who, l)
      [] l.event = "lost" -> Lost(who, l) /\ UNCHANGED hidden
      [] l.event = "grant" -> Grant(who, l)
      [] l.event = "prove" -> client[who].state = "suspect" /\ Prove(who) /\ UNCHANGED hidden
      [] l.event = "doubt" -> Doubt(who) /\ UNCHANGED hidden
      [] l.event = "leave" -> Leave(who) /\ UNCHANGED hidden
      [] l.event = "gone" -> Gone(who) /\ UNCHANGED hidden
      [] l.event = "removed" -> Answered(who, l, "delete") /\ UNCHANGED hidden
      [] l.event = "expired" -> Expired(who, l)
      [] l.event = "is" -> Agrees(who, l) /\ UNCHANGED hidden

all == <<vars, hidden, line>>

Follow ==
    \/ line <= Lines /\ line' = line + 1 /\ \E l \in {Log[line]} : Step(l.client, l)
    \/ line > Lines /\ UNCHANGED <<vars, hidden, line>>

Traced == Begin /\ [][Follow]_all

----------------------------------------------------------------------------

(* As NoLostWakeUp, for a client that watched its node ahead before that was the one ahead. *)
NoLostPeek ==
    \A c \in Client :
        (client[c].state = "look" /\ <<c, Ahead(c)>> \in peeked /\ Now(c) \in alive) =>
        \/ <<c, Ahead(c)>> \in events
        \/ <<c, Ahead(c)>> \in watches /\ Ahead(c) \in Numbers(nodes)

=============================================================================
