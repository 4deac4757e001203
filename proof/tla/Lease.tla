-------------------------------- MODULE Lease --------------------------------
(*****************************************************************************)
(* The lease clock: what a client may believe of its session without asking  *)
(* anybody. src/core/clock.h derives the fractions of T.                     *)
(*                                                                           *)
(* The leader ends a session when nobody has told it for T that the session  *)
(* was heard. The client is connected to a follower, which tells the leader  *)
(* every T/4 which sessions it heard: a packet prolongs the session when it  *)
(* is told. A sync goes to the leader. When it is acknowledged, the session  *)
(* lived when the sync was sent: that is a proof. The client is certain of   *)
(* its session for half of T after a proof if proofs have come steadily, and *)
(* else for 5/16 of T.                                                       *)
(*                                                                           *)
(* All times are ages: how long ago something was, in twelfths of T. Where a *)
(* configuration (Bad*.cfg) sets one of the constants to FALSE, the checker  *)
(* finds what that rule is for.                                              *)
(*****************************************************************************)
EXTENDS Integers

CONSTANTS
    ClientStops,        \* the client may stand still
    LeaderStops,        \* the leader may stand still
    AsksLeader,         \* only an answer of the leader is a proof
    CountsFromSending,  \* a proof is as old as its sync, not as the answer
    WantsChain,         \* half of T is certain only after steady proofs
    SeesStops,          \* after a stop of the client nothing but a chain is certain for a while
    DoubtsLate          \* a proof that was answered late begins the chain anew

VARIABLES
    sent,       \* the last packet of the client
    touched,    \* the packet by which the leader counts
    told,       \* when the follower told the leader last; or since when the leader stands still
    first,      \* the first pending sync, or None
    newest,     \* the last pending sync
    acked,      \* the leader has acknowledged the pending syncs
    ended,      \* the leader has ended the session
    leader,     \* see The servers
    proof,      \* when the last acknowledged sync was sent
    chain,      \* how far steady proofs reach back behind that one
    certain,    \* for so long the client will be certain
    stopped,    \* the client stands still
    awake       \* when the client stood still last

client == <<proof, chain, certain, stopped, awake>>
vars == <<sent, touched, told, first, newest, acked, ended, leader, proof, chain, certain,
          stopped, awake>>

T == 12
None == -1
Report == T \div 4                  \* time between a follower's reports to the leader
Silence == (2 * T) \div 3             \* after that the client gives a connection up
Ping == T \div 3 + T \div 12        \* a client that runs has sent a packet by then
Steady == T \div 5                  \* proofs so close to each other are a chain
Known == (4 * T + 14) \div 15       \* by then the leader was told of a packet
Lone == (5 * T) \div 16
Half == T \div 2

Leading == {"leads", "goes on"}
Standing == {"stopped", "deposed"}

Less(a, b) == IF a < b THEN a ELSE b
More(a, b) == IF a > b THEN a ELSE b
Older(age, most) == Less(age + 1, most)

Init ==
    /\ sent = 0 /\ touched = 0 /\ told \in 0..Report
    /\ first = None /\ newest = None /\ acked = FALSE
    /\ ended = FALSE /\ leader = "leads"
    /\ proof = T /\ chain = 0 /\ certain = 0 /\ stopped = FALSE /\ awake = Known

(* A twelfth of T goes by. *)
Tick ==
    /\ ~ended
    /\ leader \notin Leading \/ told < Report
    /\ leader \notin Leading \/ stopped \/ sent < Ping
    /\ leader \notin Standing \/ told < Silence
    /\ first < Silence
    /\ sent' = IF leader \in Leading \/ leader = "stopped" THEN Older(sent, T) ELSE sent
    /\ told' = IF leader = "cut off" THEN told ELSE told + 1
    /\ touched' = Older(touched, T)
    /\ first' = IF first = None THEN None ELSE first + 1
    /\ newest' = IF first = None THEN None ELSE newest + 1
    /\ LET chained == proof + 1 - More(first + 1, 0) <= Steady
       IN  /\ proof' = IF chained THEN proof + 1 ELSE T   \* older ones are all alike
           /\ chain' = IF chained THEN chain ELSE 0
    /\ certain' = More(certain - 1, 0)
    /\ awake' = IF stopped THEN awake ELSE Older(awake, Known)
    /\ UNCHANGED <<acked, ended, leader, stopped>>

----------------------------------------------------------------------------
(* The client.                                                              *)

Send ==
    /\ ~stopped /\ sent = Ping
    /\ sent' = 0
    /\ UNCHANGED <<touched, told, first, newest, acked, ended, leader, client>>

Sync ==
    /\ ~stopped /\ ~acked /\ newest <= Steady
    /\ sent' = 0 /\ newest' = 0 /\ first' = More(first, 0)
    /\ UNCHANGED <<touched, told, acked, ended, leader, client>>

(* The certain time from a proof of that age on, behind which a chain has that length. *)
Certain(age, length) ==
    IF length >= Known \/ ~WantsChain THEN Half
    ELSE IF SeesStops /\ age + Known > awake THEN 0
    ELSE Lone

Prove ==
    LET age == IF CountsFromSending THEN newest ELSE 0
        late == DoubtsLate /\ first > T \div 4
        goes == proof - first <= Steady
        length == IF late THEN -age
                  ELSE Less((IF goes THEN chain + proof - first ELSE 0) + first - newest, Known)
    IN  /\ proof' = age
        /\ chain' = length
        /\ certain' = More(certain, Certain(age, length) - age)

Receive ==
    /\ ~stopped /\ first # None /\ (acked \/ ~AsksLeader)
    /\ first' = None /\ newest' = None /\ acked' = FALSE
    /\ IF first < proof THEN Prove ELSE UNCHANGED <<proof, chain, certain>>
    /\ UNCHANGED <<sent, touched, told, ended, leader, stopped, awake>>

(* Ping includes a stop that is shorter than a twelfth of T, and not noticed. *)
Stop ==
    /\ ClientStops /\ ~stopped
    /\ stopped' = TRUE
    /\ UNCHANGED <<sent, touched, told, first, newest, acked, ended, leader, proof, chain, certain,
                   awake>>

GoOn ==
    /\ stopped /\ stopped' = FALSE
    /\ awake' = 0
    /\ UNCHANGED <<sent, touched, told, first, newest, acked, ended, leader, proof, chain, certain>>

----------------------------------------------------------------------------
(* The servers. The leader leads; or it is cut off from the follower, in     *)
(* silence; or it is the client's own server, and stands still. Then it goes *)
(* on, or another one leads before it does: it is deposed. That it goes on,  *)
(* and is then cut off, is left out: docs/production.md.                     *)

Tell ==
    /\ leader \in Leading /\ told = Report
    /\ told' = 0 /\ touched' = sent
    /\ UNCHANGED <<sent, first, newest, acked, ended, leader, client>>

Change(before, after) == leader = before /\ leader' = after

(* When a deposed leader goes on, it acknowledges what waited for it; then it notices. *)
Acknowledge ==
    /\ first # None /\ ~acked
    /\ \/ leader \in Leading /\ ~ended /\ UNCHANGED <<leader, told>>
       \/ Change("deposed", "cut off") /\ told' = 0
    /\ acked' = TRUE
    /\ UNCHANGED <<sent, touched, first, newest, ended, client>>

(* The client hears at once that its session has ended, unless nobody can tell it. *)
End ==
    /\ ~ended /\ touched = T /\ leader # "stopped"
    /\ ended' = TRUE
    /\ IF leader \in Leading THEN certain' = 0 /\ first' = None ELSE UNCHANGED <<certain, first>>
    /\ UNCHANGED <<sent, touched, told, newest, acked, leader, proof, chain, stopped, awake>>

(* A new leader gives each session T from then. *)
Servers ==
    /\ ~ended
    /\ \/ Change("leads", "cut off") /\ told' = 0 /\ sent' = 0 /\ UNCHANGED touched
       \/ LeaderStops /\ Change("leads", "stopped") /\ told' = 0 /\ UNCHANGED <<sent, touched>>
       \/ Change("stopped", "goes on") /\ told' = Report /\ UNCHANGED <<sent, touched>>
       \/ Change("stopped", "deposed") /\ touched' = 0 /\ sent' = 0 /\ UNCHANGED told
    /\ UNCHANGED <<first, newest, acked, ended, client>>

Next ==
    \/ Tick \/ Send \/ Sync \/ Receive \/ Stop \/ GoOn
    \/ Tell \/ Acknowledge \/ End \/ Servers

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------

(* A client that is certain has a session. *)
HeldIsTrue == certain > 0 => ~ended

=============================================================================
