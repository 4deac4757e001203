------------------------------- MODULE History -------------------------------
(***************************************************************************)
(* A history of the torture, as real clients saw it on real servers while  *)
(* faults came. history.lua makes a module Log of each path. It has the    *)
(* nodes, each with the holds by it, in ZooKeeper's order, and then the    *)
(* writes that the store took, in the store's order. A node exists, and a  *)
(* hold is certain, between two moments, in microseconds by one clock. So  *)
(* long it excludes the others; it excludes readers, too, until the moment *)
(* `alone`. If a recorded fault took its node, a hold ends then.           *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, Log

VARIABLES
    line,       \* number of the log's next line
    this,       \* the line before it, which is judged
    nodes,      \* nodes of the lines before
    holds,      \* holds of the lines before
    stored      \* the last write that the store took

Skew == 5000    \* the servers' log rounds to milliseconds

Nothing == [event |-> "nothing", token |-> 0, element |-> "-"]

This(event) == IF this.event = event THEN {this} ELSE {}

Begin == line = 1 /\ this = Nothing /\ nodes = {} /\ holds = {} /\ stored = Nothing

all == <<line, this, nodes, holds, stored>>

Follow ==
    \/ /\ line <= Lines
       /\ line' = line + 1
       /\ this' = Log[line]
       /\ nodes' = nodes \union This("node")
       /\ holds' = holds \union This("hold")
       /\ stored' = IF this.event = "stored" THEN this ELSE stored
    \/ line > Lines /\ UNCHANGED all

Judged == Begin /\ [][Follow]_all

----------------------------------------------------------------------------

(* Until when an earlier node or hold has to keep the lock from a later hold. *)
Until(earlier, hold) == IF hold.shared THEN earlier.alone ELSE earlier.until

(* A hold has a node of its process, which is there for so long. *)
NodeLives ==
    \A hold \in This("hold") : \E node \in nodes :
        /\ node.zxid = hold.zxid /\ node.by = hold.by
        /\ node.from <= hold.from + Skew
        /\ hold.until <= node.until + Skew

(* No two holds that exclude each other are certain at once; the earlier one has the older node. *)
Exclusion ==
    \A hold \in This("hold") : \A earlier \in holds : Until(earlier, hold) <= hold.from

(* Each node before its own that excludes it is gone. *)
Turn ==
    \A hold \in This("hold") : \A node \in nodes :
        node.zxid # hold.zxid => Until(node, hold) <= hold.from + Skew

(* The permits of a hold are free, beside those that earlier holds have then. *)
Fits(hold, earlier, slack) ==
    LET had == {<<one, n>> \in earlier \X (1..hold.limit) :
                    one.until > hold.from + slack /\ n <= one.permits}
    IN  hold.limit = 0 \/ Cardinality(had) + hold.permits <= hold.limit

Permits ==
    \A hold \in This("hold") :
        Fits(hold, holds, 0) /\ Fits(hold, {node \in nodes : node.zxid # hold.zxid}, Skew)

TokensGrow == \A hold \in This("hold") : \A earlier \in holds : earlier.token < hold.token

(* The store takes no write older than another, and none that has not read the one before it. *)
Fenced ==
    \A write \in This("stored") : stored.token <= write.token /\ stored.element = write.read

=============================================================================
