-------------------------------- MODULE Kept --------------------------------
(***************************************************************************)
(* A lock that is kept: after the release its node stays, and the next     *)
(* acquire of the same session costs no request. How a node comes to the   *)
(* front, and what becomes of lost replies, is in Lock.tla: here a node is *)
(* made in one step, and knows at once what is ahead of it.                *)
(*                                                                         *)
(* A session that holds or keeps a node hears of others by one watch on    *)
(* the path's children, which it sets with a list. A node that may be kept *)
(* says so in its name: a try behind it makes a node of its own, and the   *)
(* holder answers, either by giving the lock back, or by a mark in its     *)
(* node that says that it holds.                                           *)
(*                                                                         *)
(* Where a configuration (Bad*.cfg) sets one of the constants behind       *)
(* Wishes to FALSE, the checker finds what that rule is for.               *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
    Session,
    Wishes,         \* most acquires and tries
    Listens,        \* a session that holds or keeps sets the watch
    SetsWithList,   \* it sets the watch in one request with the list
    Remembers,      \* an event during a hold counts at its end
    AsksAgain,      \* after a cut the list and the watch are asked for again
    AsksKeeper      \* a try does not take a node that may be kept for a lock that is held

VARIABLES
    line,       \* the nodes below the path: [session, marked]
    state,      \* of each session's node
    wants,      \* users of each session that wait for its node
    trying,     \* the node was made by a try
    alone,      \* a list showed nobody else, and no cut has been since
    changed,    \* others are known to be there
    watch,      \* "none", "asked", "set"
    answer,     \* of the list with the watch, on its way: "none", "alone", "others"
    event,      \* of the watch, on its way
    wishes,
    wrong       \* a try was told that the lock is held, and it was not

vars == <<line, state, wants, trying, alone, changed, watch, answer, event, wishes, wrong>>

Init ==
    /\ line = <<>>
    /\ state = [s \in Session |-> "none"]
    /\ wants = [s \in Session |-> 0]
    /\ trying = [s \in Session |-> FALSE]
    /\ alone = [s \in Session |-> FALSE]
    /\ changed = [s \in Session |-> FALSE]
    /\ watch = [s \in Session |-> "none"]
    /\ answer = [s \in Session |-> "none"]
    /\ event = [s \in Session |-> FALSE]
    /\ wishes = 0 /\ wrong = FALSE

First(s) == line # <<>> /\ line[1].session = s
Others == IF Len(line) > 1 THEN "others" ELSE "alone"

(* The watches of the children that the server has fire when a node comes. *)
Fire(s) ==
    /\ event' = [t \in Session |-> event[t] \/ (t # s /\ watch[t] = "set")]
    /\ watch' = [t \in Session |-> IF t # s /\ watch[t] = "set" THEN "none" ELSE watch[t]]

----------------------------------------------------------------------------
(* The way to the front.                                                   *)

Wish(s) ==
    /\ wishes < Wishes /\ wishes' = wishes + 1
    /\ wants' = [wants EXCEPT ![s] = wants[s] + 1]
    /\ UNCHANGED <<line, state, trying, alone, changed, watch, answer, event, wrong>>

(* The session's own node is made, at the end of the line. *)
Enter(s, try) ==
    /\ state[s] = "none" /\ wants[s] > 0
    /\ wants' = [wants EXCEPT ![s] = wants[s] - 1]
    /\ line' = Append(line, [session |-> s, marked |-> FALSE])
    /\ state' = [state EXCEPT ![s] = "waits"]
    /\ trying' = [trying EXCEPT ![s] = try]
    /\ Fire(s)
    /\ UNCHANGED <<alone, changed, answer, wishes, wrong>>

(* The first in line holds. If nobody else is there it asks for the watch. *)
Hold(s) ==
    /\ state[s] = "waits" /\ First(s)
    /\ state' = [state EXCEPT ![s] = "holds"]
    /\ alone' = [alone EXCEPT ![s] = Len(line) = 1]
    /\ changed' = [changed EXCEPT ![s] = Len(line) > 1]
    /\ watch' = [watch EXCEPT ![s] = IF Listens /\ Len(line) = 1 THEN "asked" ELSE "none"]
    /\ UNCHANGED <<line, wants, trying, answer, event, wishes, wrong>>

----------------------------------------------------------------------------
(* The holder, and the keeper.                                             *)

Release(s) ==
    /\ state[s] = "holds"
    /\ state' = [state EXCEPT ![s] = IF changed[s] THEN "leaves" ELSE "keeps"]
    /\ UNCHANGED <<line, wants, trying, alone, changed, watch, answer, event, wishes, wrong>>

(* Another user of the session gets the kept node, without a request. *)
Take(s) ==
    /\ state[s] = "keeps" /\ wants[s] > 0 /\ alone[s]
    /\ state' = [state EXCEPT ![s] = "holds"]
    /\ wants' = [wants EXCEPT ![s] = wants[s] - 1]
    /\ UNCHANGED <<line, trying, alone, changed, watch, answer, event, wishes, wrong>>

Learn(s, others) ==
    /\ changed' = [changed EXCEPT ![s] = changed[s] \/ (others /\ (Remembers \/ state[s] # "holds"))]
    /\ state' = [state EXCEPT ![s] = IF others /\ state[s] = "keeps" THEN "leaves" ELSE state[s]]

HearEvent(s) ==
    /\ event[s]
    /\ event' = [event EXCEPT ![s] = FALSE]
    /\ Learn(s, state[s] \in {"holds", "keeps"})
    /\ UNCHANGED <<line, wants, trying, alone, watch, answer, wishes, wrong>>

HearAnswer(s) ==
    /\ answer[s] # "none"
    /\ answer' = [answer EXCEPT ![s] = "none"]
    /\ alone' = [alone EXCEPT ![s] = answer[s] = "alone"]
    /\ Learn(s, answer[s] = "others")
    /\ UNCHANGED <<line, wants, trying, watch, event, wishes, wrong>>

(* A holder that hears of others says that it holds, for one of them may be a try. *)
Mark(s) ==
    /\ state[s] = "holds" /\ changed[s] /\ ~line[1].marked
    /\ line' = [line EXCEPT ![1].marked = TRUE]
    /\ UNCHANGED <<state, wants, trying, alone, changed, watch, answer, event, wishes, wrong>>

(* The time of keeping is over. *)
GiveBack(s) ==
    /\ state[s] = "keeps"
    /\ state' = [state EXCEPT ![s] = "leaves"]
    /\ UNCHANGED <<line, wants, trying, alone, changed, watch, answer, event, wishes, wrong>>

(* The connection is lost, with all under way. No user gets a kept node before the next list. *)
Cut(s) ==
    /\ state[s] \in {"holds", "keeps"} /\ ~changed[s]
    /\ watch' = [watch EXCEPT ![s] = IF Listens /\ AsksAgain THEN "asked" ELSE "none"]
    /\ alone' = [alone EXCEPT ![s] = FALSE]
    /\ answer' = [answer EXCEPT ![s] = "none"]
    /\ event' = [event EXCEPT ![s] = FALSE]
    /\ UNCHANGED <<line, state, wants, trying, changed, wishes, wrong>>

----------------------------------------------------------------------------
(* Tries.                                                                  *)

(* A try takes a free lock as an acquire does. *)
Try(s) ==
    \/ /\ IF line = <<>> THEN TRUE ELSE AsksKeeper /\ ~line[1].marked
       /\ Enter(s, TRUE)
    \/ /\ state[s] = "none" /\ wants[s] > 0 /\ line # <<>>
       /\ line[1].marked \/ ~AsksKeeper
       /\ wants' = [wants EXCEPT ![s] = wants[s] - 1]
       /\ wrong' = (wrong \/ state[line[1].session] = "keeps")
       /\ UNCHANGED <<line, state, trying, alone, changed, watch, answer, event, wishes>>

(* The try reads the mark. *)
GiveUp(s) ==
    /\ state[s] = "waits" /\ trying[s] /\ line[1].marked
    /\ state' = [state EXCEPT ![s] = "leaves"]
    /\ wrong' = (wrong \/ state[line[1].session] = "keeps")
    /\ UNCHANGED <<line, wants, trying, alone, changed, watch, answer, event, wishes>>

----------------------------------------------------------------------------
(* The server.                                                             *)

SetWatch(s) ==
    /\ watch[s] = "asked"
    /\ watch' = [watch EXCEPT ![s] = "set"]
    /\ answer' = [answer EXCEPT ![s] = IF SetsWithList THEN Others ELSE "alone"]
    /\ UNCHANGED <<line, state, wants, trying, alone, changed, event, wishes, wrong>>

Delete(s) ==
    /\ state[s] = "leaves"
    /\ line' = SelectSeq(line, LAMBDA n : n.session # s)
    /\ state' = [state EXCEPT ![s] = "none"]
    /\ alone' = [alone EXCEPT ![s] = FALSE]
    /\ changed' = [changed EXCEPT ![s] = FALSE]
    /\ watch' = [watch EXCEPT ![s] = "none"]
    /\ answer' = [answer EXCEPT ![s] = "none"]
    /\ event' = [event EXCEPT ![s] = FALSE]
    /\ UNCHANGED <<wants, trying, wishes, wrong>>

Next ==
    \E s \in Session :
        \/ Wish(s) \/ Enter(s, FALSE) \/ Try(s) \/ GiveUp(s) \/ Hold(s)
        \/ Release(s) \/ Take(s) \/ HearEvent(s) \/ HearAnswer(s) \/ Mark(s) \/ GiveBack(s)
        \/ Cut(s) \/ SetWatch(s) \/ Delete(s)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------

(* A session that holds or keeps the lock is the first in line. *)
Exclusion == \A s \in Session : state[s] \in {"holds", "keeps"} => First(s)

(* A session that holds or keeps knows of others in line, or is about to hear of them. *)
NoLostWakeUp ==
    \A s \in Session :
        (state[s] \in {"holds", "keeps"} /\ Len(line) > 1) =>
            \/ changed[s] \/ event[s] \/ watch[s] = "asked" \/ answer[s] = "others"

(* A try is told that the lock is held only if it is. *)
TriesAreRight == ~wrong

=============================================================================
