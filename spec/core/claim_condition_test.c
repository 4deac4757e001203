/*
 * claim_condition_test.c - waiting in a condition: the lock's claim is away, its waiter has a
 * node in the condition's line. Cerberus' Condition; Menagerie's faults: a signal is never
 * lost between the release and the wait, nor with a timeout, and expiry is no signal.
 */
#include "scene.h"

/* Here the claim is the waiter, the part its lock's claim (scene_reach_waiter). */

#define SECOND "_c_22222222-3333-4444-5555-666666666666-lock-0000000043"
#define THIRD "_c_22222222-3333-4444-5555-777777777777-lock-0000000044"

static void begun(void) {
    scene_open_waiter();
    scene_did(zkl_claim_await(&s.claim, &s.part, 2000 * ZKL_SECOND));
}

/* As the owner does: the lock's claim fails, then the waiter need not wait. */
static zkl_actions give_up(void) {
    CHECK_IS(zkl_claim_cancel(&s.part, ZKL_TIMEOUT), ZKL_DO_FAIL);
    return scene_cancel(ZKL_TIMEOUT);
}

/* The lock's claim, which entered, is first in line. */
static zkl_actions lock_granted(void) {
    zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 9), 1099);
    const char *names[] = {s.part.node.name};
    CHECK(zkl_line_replace(&s.part_line, names, 1));
    return zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now);
}

/* --- the wait begins ----------------------------------------------------------------------- */

static void beginning(void) {
    TEST("one transaction begins the wait; from then on the lock is not held") {
        scene_open_waiter();
        CHECK_IS(zkl_claim_await(&s.claim, &s.part, ZKL_NEVER), ZKL_DO_CREATE);
        CHECK_IS(s.part.state, ZKL_IN_CONDITION);
        CHECK(!zkl_claim_holds(&s.part));
        CHECK(s.claim.partner == &s.part && s.part.partner == &s.claim);
        CHECK_IS(scene_created(42, 0), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_WAIT);
    }
    TEST("a missing folder is made, and the transaction sent again") {
        begun();
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_PARENTS | ZKL_DO_CREATE);
        CHECK(s.claim.node.nonce > nonce);
    }
    TEST("what is refused leaves the lock as it was, watched again") {
        begun();
        s.part.node.watched = true;
        CHECK_IS(scene_create_fails(ZKL_REFUSED, ZKL_AUTH), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(scene_turn(), ZKL_DO_STAYED);
        CHECK_IS(s.part.state, ZKL_HELD);
        CHECK_IS(s.part.refusal, ZKL_AUTH);
        CHECK_IS(s.part.node.czxid, 1007);
        CHECK_IS(s.part.deadline, ZKL_NEVER); /* not the wait's */
        CHECK_IS(zkl_claim_beat(&s.part, s.now), ZKL_DO_WATCH_OWN);
    }
    TEST("so does a folder that cannot be made") {
        begun();
        zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
        CHECK_IS(scene_create_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(scene_turn(), ZKL_DO_STAYED);
    }
    TEST("a lock whose node was gone is lost, and nobody waits") {
        begun();
        CHECK_IS(scene_did(zkl_claim_left_nothing(&s.claim)), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(scene_turn(), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.part.code, ZKL_LOST);
        begun();
        give_up();
        CHECK_IS(scene_did(zkl_claim_left_nothing(&s.claim)), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
    }
    TEST("without a connection it begins later; given up before, the lock's node goes") {
        scene_reach_waiter(ZKL_NEW, ZKL_NEVER);
        CHECK(s.claim.stalled);
        CHECK_IS(give_up(), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(scene_turn(), ZKL_DO_REMOVE);
        CHECK_IS(s.part.state, ZKL_LEAVE);
        scene_reach_waiter(ZKL_NEW, ZKL_NEVER);
        CHECK_IS(scene_resume(), ZKL_DO_CREATE);
    }
    TEST("a try that was granted may wait, and does not end with the connection") {
        scene_open_waiter();
        s.part.trying = true;
        s.part_line.tries++;
        zkl_claim_await(&s.claim, &s.part, ZKL_NEVER);
        CHECK_IS(s.part_line.tries, 0);
        CHECK_IS(zkl_claim_suspend(&s.part), 0);
        CHECK(s.part.wanted);
    }
}

static void unknown(void) {
    TEST("a late answer that the lock's node was gone tells nothing more") {
        scene_reach_waiter(ZKL_RECOVER_SYNC, ZKL_NEVER);
        CHECK_IS(scene_did(zkl_claim_left_nothing(&s.claim)), 0);
        CHECK(s.claim.state == ZKL_RECOVER_SYNC && s.claim.waiting == ZKL_WAITER_CAME);
    }
    TEST("a lost reply is looked into: the waiter's node tells") {
        begun();
        CHECK_IS(scene_create_fails(ZKL_UNKNOWN, ZKL_OK), ZKL_DO_DOUBT);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
        scene_synced(ZKL_DONE);
        CHECK_IS(LISTED(scene_name(42)), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.claim.state, ZKL_WAIT);
        CHECK_IS(s.part.state, ZKL_IN_CONDITION);
    }
    TEST("if it is not there the transaction is sent again, with another name") {
        scene_reach_waiter(ZKL_RECOVER_LIST, ZKL_NEVER);
        uint64_t nonce = s.claim.node.nonce;
        CHECK_IS(LISTED(AHEAD), ZKL_DO_CREATE);
        CHECK(s.claim.node.nonce > nonce);
    }
    TEST("refused then, the lock is given up: the first may have been carried out") {
        for (int parents = 0; parents < 2; parents++) {
            begun();
            scene_create_fails(ZKL_UNKNOWN, ZKL_OK);
            scene_resume();
            scene_synced(ZKL_DONE);
            CHECK_IS(LISTED(AHEAD), ZKL_DO_CREATE);
            if (parents) zkl_claim_parents(&s.claim, ZKL_REFUSED, ZKL_AUTH);
            CHECK_IS(scene_create_fails(parents ? ZKL_ABSENT : ZKL_REFUSED, ZKL_AUTH),
                     ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
            CHECK_IS(scene_turn(), ZKL_DO_FAIL | ZKL_DO_REMOVE);
            CHECK_IS(s.part.code, ZKL_AUTH);
        }
    }
    TEST("given up meanwhile, either the waiter's node goes or the lock's") {
        for (int found = 0; found < 2; found++) {
            scene_reach_waiter(ZKL_RECOVER_LIST, ZKL_NEVER);
            CHECK_IS(give_up(), ZKL_DO_TELL_PARTNER);
            CHECK_IS(scene_turn(), 0);
            CHECK_IS(s.part.state, ZKL_IN_CONDITION);
            zkl_actions did = found ? LISTED(scene_name(42)) : LISTED(AHEAD);
            CHECK_IS(did, ZKL_DO_TELL_PARTNER | (found ? ZKL_DO_REMOVE : ZKL_DO_FORGET));
            CHECK_IS(scene_turn(), found ? ZKL_DO_FORGET : ZKL_DO_REMOVE);
        }
    }
    TEST("a look that is refused fails, and goes on until it is known") {
        scene_reach_waiter(ZKL_RECOVER_LIST, ZKL_NEVER);
        CHECK_IS(scene_list_fails(ZKL_REFUSED, ZKL_AUTH), ZKL_DO_TELL_PARTNER);
        CHECK_IS(scene_turn(), ZKL_DO_FAIL);
        CHECK_IS(s.part.code, ZKL_AUTH);
        CHECK_IS(s.part.state, ZKL_IN_CONDITION);
        CHECK_IS(scene_resume(), ZKL_DO_SYNC | ZKL_DO_LIST);
    }
    TEST("a node that lands late is removed, but a signal in it is passed on") {
        scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
        LINE("_c_10000000-0000-0abc-0000-0000000000ff-lock-0000000041", s.claim.node.name);
        struct zkl_contender *orphan = zkl_line_orphan(&s.line);
        scene_add(&s.second, ZKL_MUTEX);
        CHECK_IS(zkl_claim_adopt(&s.second, orphan), ZKL_DO_REMOVE);
        CHECK(zkl_waiter_may_be_signalled(&s.second));
        CHECK_IS(zkl_claim_removed(&s.second, ZKL_REFUSED), ZKL_DO_LIST);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_FORWARD);
        CHECK_TEXT(s.second.ahead->name, s.claim.node.name);
    }
}

/* --- the signal ---------------------------------------------------------------------------- */

static void signals(void) {
    TEST("a signal has the lock's claim enter again, with a new node") {
        for (int by_event = 0; by_event < 2; by_event++) {
            scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
            uint64_t nonce = s.part.node.nonce;
            scene_got_own(ZKL_UNKNOWN, 0);
            CHECK_IS(scene_did(by_event ? scene_own_changed() : zkl_claim_signalled(&s.claim)),
                     ZKL_DO_TELL_PARTNER);
            CHECK(s.claim.state == ZKL_SIGNALLED && !s.claim.stalled);
            CHECK_IS(scene_turn(), ZKL_DO_CREATE | ZKL_DO_LIST);
            CHECK(s.part.node.nonce > nonce);
            CHECK_IS(zkl_claim_signalled(&s.claim) | scene_own_changed(), 0);
        }
    }
    TEST("the waiter's node is there until the lock is had again, then it goes") {
        scene_reach_waiter(ZKL_SIGNALLED, ZKL_NEVER);
        CHECK_IS(lock_granted(), ZKL_DO_GRANT);
        CHECK_IS(s.part.node.czxid, 1099);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        CHECK(s.claim.waiting == ZKL_WAITER_SETTLED);
        CHECK(!s.part.partner);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(s.part.state, ZKL_HELD);
    }
    TEST("it may wait again before that node is gone") {
        scene_reach_waiter(ZKL_SIGNALLED, ZKL_NEVER);
        lock_granted();
        scene_release();
        scene_add(&s.second, ZKL_MUTEX);
        CHECK_IS(zkl_claim_await(&s.second, &s.part, ZKL_NEVER), ZKL_DO_CREATE);
        scene_removed(ZKL_DONE);
        CHECK(s.part.partner == &s.second);
        scene_detach(&s.claim);
        CHECK(s.part.partner == &s.second);
        scene_detach(&s.second);
        CHECK(!s.part.partner);
    }
    TEST("a waiter whose node somebody deletes is lost, not signalled") {
        for (int by_event = 0; by_event < 2; by_event++) {
            scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
            CHECK_IS(by_event ? scene_own_deleted() : scene_got_own(ZKL_ABSENT, 0),
                     ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
            CHECK_IS(scene_turn(), ZKL_DO_FAIL | ZKL_DO_FORGET);
            CHECK_IS(s.part.code, ZKL_LOST);
        }
    }
    TEST("who was signalled goes on without its node, if somebody deletes that") {
        scene_reach_waiter(ZKL_SIGNALLED, ZKL_NEVER);
        CHECK_IS(scene_own_deleted(), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK_IS(scene_turn(), 0);
        scene_detach(&s.claim);
        CHECK(!s.part.partner);
        CHECK_IS(lock_granted(), ZKL_DO_GRANT);
    }
    TEST("expiry is no signal: the lock's claim does not enter again") {
        scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(scene_expire(), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        CHECK(!(scene_turn() & NETWORK & ~ZKL_DO_REMOVE));
        CHECK_IS(s.part.code, ZKL_EXPIRED);
        scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
        CHECK_IS(zkl_claim_expire(&s.part, ZKL_EXPIRED), ZKL_DO_FAIL | ZKL_DO_FORGET);
        CHECK_IS(s.part.code, ZKL_EXPIRED);
    }
}

/* --- a wait that ends too early ----------------------------------------------------------- */

static void early(void) {
    TEST("the deadline deletes the waiter's node, unless it was signalled") {
        scene_reach_waiter(ZKL_WAIT, 2000 * ZKL_SECOND);
        CHECK_IS(zkl_claim_tick(&s.part, 2000 * ZKL_SECOND), ZKL_DO_FAIL);
        CHECK_IS(s.part.code, ZKL_TIMEOUT);
        CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_TELL_PARTNER | ZKL_DO_REMOVE);
        CHECK(zkl_waiter_may_be_signalled(&s.claim));
        CHECK_IS(scene_turn(), ZKL_DO_FORGET);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
    }
    TEST("it was: the next one behind gets the signal, in one transaction") {
        scene_reach_waiter(ZKL_WAIT, ZKL_NEVER);
        give_up();
        CHECK_IS(scene_removed(ZKL_REFUSED), ZKL_DO_LIST);
        CHECK_IS(s.claim.state, ZKL_FORWARD);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name, SECOND, THIRD), ZKL_DO_FORWARD);
        CHECK_TEXT(s.claim.ahead->name, SECOND);
        CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, ZKL_DONE, false)),
                 ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
    }
    TEST("one that is gone or has a signal is passed over; the last has it") {
        static const enum zkl_reply replies[] = {ZKL_ABSENT, ZKL_REFUSED};
        for (size_t i = 0; i < 2; i++) {
            scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
            LISTED(s.claim.node.name, SECOND, THIRD);
            CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, replies[i], true)), ZKL_DO_FORWARD);
            CHECK_TEXT(s.claim.ahead->name, THIRD);
            CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, replies[i], true)), ZKL_DO_REMOVE);
            CHECK(s.claim.waiting == ZKL_WAITER_SETTLED && !s.claim.ahead);
            CHECK_IS(scene_removed(ZKL_REFUSED), 0);
            CHECK_IS(s.claim.state, ZKL_LEAVE);
        }
    }
    TEST("if nobody is behind the signal goes with the node") {
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name), ZKL_DO_REMOVE);
        CHECK(s.claim.waiting == ZKL_WAITER_SETTLED);
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        CHECK_IS(scene_list_fails(ZKL_REFUSED, ZKL_AUTH), ZKL_DO_REMOVE);
        CHECK(s.claim.waiting == ZKL_WAITER_SETTLED);
    }
    TEST("one that the line has forgotten gets no signal") {
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        LINE(s.claim.node.name, SECOND);
        zkl_line_forget(&s.line, zkl_line_find(&s.line, SECOND));
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_DONE, ZKL_OK, s.now)), ZKL_DO_REMOVE);
    }
    TEST("when numbers tell no order everybody is asked") {
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name, LIMITED), ZKL_DO_FORWARD);
        CHECK_TEXT(s.claim.ahead->name, AHEAD);
        CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, ZKL_REFUSED, true)), ZKL_DO_FORWARD);
        CHECK_TEXT(s.claim.ahead->name, LIMITED);
    }
    TEST("a transaction whose reply is lost is sent again while the own node is there") {
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        LISTED(s.claim.node.name, SECOND);
        CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, ZKL_UNKNOWN, false)), 0);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
        CHECK_IS(LISTED(s.claim.node.name, SECOND), ZKL_DO_FORWARD);
        CHECK_IS(scene_did(zkl_claim_forwarded(&s.claim, ZKL_ABSENT, false)),
                 ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        CHECK_IS(LISTED(SECOND), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
        scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
        CHECK_IS(scene_list_fails(ZKL_ABSENT, ZKL_NO_NODE), ZKL_DO_TELL_PARTNER | ZKL_DO_FORGET);
    }
    TEST("what is refused of the own node, or lost, is not passed on to another one") {
        for (int lost = 0; lost < 2; lost++) {
            scene_reach_waiter(ZKL_FORWARD, ZKL_NEVER);
            LISTED(s.claim.node.name, SECOND, THIRD);
            CHECK_IS(
                scene_did(zkl_claim_forwarded(&s.claim, lost ? ZKL_UNKNOWN : ZKL_REFUSED, lost)),
                0);
            CHECK(s.claim.stalled && !s.claim.ahead);
        }
    }
    TEST("after a cut it is passed on when the connection is back") {
        scene_reach_waiter(ZKL_SIGNALLED, ZKL_NEVER);
        scene_cut();
        CHECK_IS(scene_cancel(ZKL_CLOSED), ZKL_DO_TELL_PARTNER);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
    }
}

int main(void) {
    beginning();
    unknown();
    signals();
    early();
    return check_report();
}
