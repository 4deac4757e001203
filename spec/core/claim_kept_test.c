/*
 * claim_kept_test.c - a node that stays after the last release: the next claim of the session has
 * it without a request, and others that come have it given back.
 */
#include "scene.h"

#define ENTERS (ZKL_DO_CREATE | ZKL_DO_LIST)
#define KEEP (10 * ZKL_SECOND)

/* A claim that may be kept, not started. */
static void begin(zkl_time keep) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_keep(&s.claim, keep, s.now);
}

/* It holds, alone; the watch is asked for. */
static void hold(zkl_time keep) {
    begin(keep);
    scene_start();
    scene_created(42, 1042);
    CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
    CHECK_IS(s.line.children, ZKL_WATCH_ASKED);
}

static zkl_actions answer(enum zkl_reply reply) {
    s.line.children = reply == ZKL_DONE ? ZKL_WATCHED : ZKL_UNWATCHED;
    return scene_did(zkl_claim_listed(&s.claim, reply, ZKL_OK, s.now));
}

/* It was given up, and no other is known to wait. */
static void keep(void) {
    hold(KEEP);
    CHECK_IS(answer(ZKL_DONE), 0);
    CHECK_IS(scene_release(), ZKL_DO_KEEP);
    CHECK_IS(s.claim.state, ZKL_KEPT);
}

/* One more comes. */
static zkl_actions come(struct zkl_claim *claim, bool trying) {
    scene_add(claim, ZKL_MUTEX);
    claim->trying = trying;
    s.line.tries += trying;
    zkl_claim_keep(claim, KEEP, s.now);
    return zkl_claim_start(claim);
}

static zkl_actions take(void) {
    return scene_did(zkl_claim_take(&s.claim, s.now));
}

static zkl_actions contend(void) {
    s.line.children = ZKL_UNWATCHED;
    s.line.changed = true;
    return scene_did(zkl_claim_contended(&s.claim, s.now));
}

/* Its node does not say that it is held, and was to. */
static zkl_actions unmark(struct zkl_claim *claim) {
    CHECK(claim->node.marked);
    return scene_did(zkl_claim_unmarked(claim));
}

static zkl_actions resume(struct zkl_claim *claim) {
    return zkl_claim_resume(claim, s.now);
}

/* Others wait, and its node says so; then one more of the session comes, and the others go. */
static void hold_marked_before_second(void) {
    begin(KEEP);
    zkl_claim_batch(&s.claim, 3);
    scene_start();
    scene_created(42, 1042);
    LISTED(s.claim.node.name);
    LINE(s.claim.node.name, BEHIND);
    CHECK_IS(answer(ZKL_DONE), ZKL_DO_MARK);
    scene_add(&s.second, ZKL_MUTEX);
    zkl_claim_keep(&s.second, KEEP, s.now);
    zkl_claim_batch(&s.second, 3);
    zkl_claim_start(&s.second);
    LINE(s.claim.node.name);
}

static void check_taken(struct zkl_claim *claim) {
    CHECK_IS(take(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
    CHECK_IS(s.claim.state, ZKL_GONE);
    CHECK(!s.line.kept);
    CHECK_IS(resume(claim), ZKL_DO_GRANT);
    CHECK(s.line.kept == claim); /* it hears of others, whether it will keep the node or not */
    CHECK_IS(zkl_claim_token(claim), 1042 * ZKL_BATCH_MAX + 1);
    CHECK_TEXT(claim->node.name, s.claim.node.name);
}

static void taking(void) {
    TEST("the next claim of the session has the node, without a request, and is not told to wait") {
        keep();
        CHECK_IS(come(&s.second, false), 0);
        check_taken(&s.second);
    }
    TEST("so has a try, and one that will not keep it") {
        keep();
        CHECK_IS(come(&s.second, true), 0);
        check_taken(&s.second);
        keep();
        zkl_claim_count(scene_add(&s.second, ZKL_MUTEX));
        CHECK_IS(zkl_claim_start(&s.second), 0);
        check_taken(&s.second);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE);
    }
    TEST("one with other tokens, or by turns, contends by itself") {
        for (int i = 0; i < 2; i++) {
            keep();
            scene_add(&s.second, ZKL_MUTEX);
            zkl_claim_batch(&s.second, i);
            CHECK(!zkl_claim_inherits(&s.second, &s.claim));
            CHECK_IS(take(), 0);
            CHECK_IS(s.claim.state, ZKL_KEPT);
        }
    }
    TEST("the second that comes has a node of its own, behind it") {
        keep();
        come(&s.second, false);
        take();
        resume(&s.second);
        CHECK_IS(come(&s.third, false), ENTERS);
    }
    TEST("a lease that is not certain is not granted without a proof") {
        keep();
        s.now += T * 6 / 10;
        come(&s.second, false);
        take();
        CHECK_IS(resume(&s.second), ZKL_DO_SYNC);
        scene_prove();
        CHECK_IS(zkl_claim_synced(&s.second, ZKL_DONE, s.now), ZKL_DO_GRANT);
    }
    TEST("a node has as many grants as tokens") {
        hold(KEEP);
        answer(ZKL_DONE);
        s.claim.node.served = ZKL_BATCH_MAX - 1;
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("with turns it is kept when the turn has nobody any more, and goes on with it") {
        begin(KEEP);
        zkl_claim_batch(&s.claim, 3);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        answer(ZKL_DONE);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        scene_add(&s.second, ZKL_MUTEX);
        zkl_claim_batch(&s.second, 3);
        CHECK_IS(zkl_claim_start(&s.second), 0);
        check_taken(&s.second);
    }
}

/* Those of the session that have, or wait for, a node of their own are others to a kept one. */
static void sharing(void) {
    TEST("it goes from one to the next as often as they come, also if it waited once") {
        begin(KEEP);
        scene_start();
        scene_created(42, 1042);
        LISTED(AHEAD, s.claim.node.name);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK_IS(come(&s.second, false), 0);
        check_taken(&s.second);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_KEEP);
    }
    TEST("a claim of the session that has a node behind it is not overtaken by a later one") {
        keep();
        CHECK_IS(zkl_claim_start(scene_add(&s.second, ZKL_MUTEX)), ENTERS);
        zkl_claim_created(&s.second, ZKL_DONE, ZKL_OK, scene_name_of(&s.second, 43), 1043);
        CHECK_IS(come(&s.third, false), 0);
        LINE(s.claim.node.name, s.second.node.name);
        CHECK_IS(take(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
    }
    TEST("a turn of which it was the last is over when others come, however short it was") {
        begin(KEEP);
        zkl_claim_batch(&s.claim, 3);
        scene_start();
        scene_created(42, 1042);
        LISTED(s.claim.node.name);
        answer(ZKL_DONE);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        scene_add(&s.second, ZKL_MUTEX);
        zkl_claim_batch(&s.second, 3);
        zkl_claim_start(&s.second);
        CHECK_IS(contend(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
    }
}

/* Two of a turn of three; the first is to say that the node is held, for another came and went. */
static void saying_in_turns(void) {
    TEST("what a node says is known to each that has it in a turn") {
        hold_marked_before_second();
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(unmark(&s.second), 0); /* an answer to the one before */
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_beat(&s.second, s.now), ZKL_DO_WATCH_OWN);
        CHECK_IS(unmark(&s.second), ZKL_DO_MARK);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE);
    }
    TEST("where others wait, the first of a turn says at once that it holds") {
        begin(KEEP);
        zkl_claim_batch(&s.claim, 3);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name, BEHIND), ZKL_DO_GRANT | ZKL_DO_MARK);
    }
    TEST("an heir that hears before it holds that the word was erased looks once more when it "
         "does") {
        hold_marked_before_second();
        s.claim.node.doubted = true;
        scene_cut();
        CHECK_IS(scene_release(), ZKL_DO_FORGET);
        s.common.clock.connected = true;
        CHECK_IS(resume(&s.second), ZKL_DO_LIST);
        LINE(s.second.node.name);
        scene_run(T * 2 / 3);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_SYNC);
        CHECK_IS(zkl_claim_own_changed(&s.second), ZKL_DO_WATCH_OWN);
        CHECK_IS(unmark(&s.second), 0);
        scene_prove();
        CHECK_IS(zkl_claim_synced(&s.second, ZKL_DONE, s.now), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_beat(&s.second, s.now), ZKL_DO_WATCH_OWN);
    }
}

static void asking(void) {
    TEST("a list of a moment ago shows nobody else: the next claim waits for no answer") {
        hold(KEEP);
        s.now += s.common.clock.patience;
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK(s.claim.asks);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        s.line.children = ZKL_WATCHED;
        LINE(s.second.node.name, BEHIND);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_MARK);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE);
    }
    TEST("a change before that list is in it: the session's last node went") {
        begin(KEEP);
        scene_start();
        s.line.changed = true;
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
    }
    TEST("after an older one, until it is known whether others wait, the next claim waits") {
        hold(KEEP);
        s.now += s.common.clock.patience + 1;
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK(s.claim.asks);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), 0);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
    }
    TEST("so it does when the children changed after the list, before it held") {
        begin(KEEP);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(AHEAD, s.claim.node.name),
                 ZKL_DO_WATCH_OWN | ZKL_DO_WATCH_AHEAD | ZKL_DO_QUEUED);
        s.line.changed = true;
        CHECK_IS(scene_did(zkl_claim_ahead_deleted(&s.claim, s.claim.ahead, s.now)),
                 ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), 0);
    }
    TEST("so it does when the answer to what was asked since got lost") {
        hold(KEEP);
        CHECK_IS(answer(ZKL_UNKNOWN), 0);
        CHECK_IS(resume(&s.claim), ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), 0);
    }
    TEST("a holder without memory for the list says that it is held") {
        hold(KEEP);
        s.line.changed = true;
        s.line.children = ZKL_WATCHED;
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_UNKNOWN, ZKL_OK, s.now)), ZKL_DO_MARK);
    }
    TEST("a watch that could not be set is asked for at the release") {
        hold(KEEP);
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(scene_release(), ZKL_DO_KEEP | ZKL_DO_WATCH_CHILDREN);
    }
    TEST("one that got lost is asked for at the release, and the next claim waits for no more") {
        hold(KEEP);
        CHECK_IS(answer(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_release(), ZKL_DO_KEEP | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(come(&s.second, false), 0);
        CHECK_IS(take(), 0);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
    }
    TEST("if others wait, or there is no answer, it goes, and the next claim enters") {
        for (int reply = ZKL_DONE; reply <= ZKL_UNKNOWN; reply++) {
            hold(KEEP);
            scene_release();
            come(&s.second, false);
            if (reply == ZKL_DONE) LINE(s.claim.node.name, BEHIND);
            CHECK_IS(answer((enum zkl_reply)reply), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&s.second), ENTERS);
        }
    }
    TEST("a list that it did not ask for tells it nothing, nor does one that gets lost") {
        keep();
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_UNKNOWN, ZKL_OK, s.now)), 0);
        CHECK_IS(s.claim.state, ZKL_KEPT);
        scene_cut();
        CHECK_IS(answer(ZKL_UNKNOWN), 0);
        CHECK(s.claim.state == ZKL_KEPT && s.claim.stalled);
        hold(KEEP);
        answer(ZKL_DONE);
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_UNKNOWN, ZKL_OK, s.now)), 0);
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN); /* its watch is there */
    }
    TEST("after a lost connection it asks again before anybody has it") {
        for (int i = 0; i < 2; i++) {
            keep();
            CHECK_IS(scene_cut(), 0);
            CHECK_IS(take(), 0);
            if (i) s.line.children = ZKL_UNWATCHED;
            CHECK_IS(scene_resume(), i ? ZKL_DO_WATCH_CHILDREN : ZKL_DO_LIST);
            come(&s.second, false);
            CHECK_IS(take(), 0);
            CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        }
    }
    TEST("an earlier list that is lost with the connection tells nothing: it asks again") {
        keep();
        scene_cut();
        CHECK_IS(scene_list_fails(ZKL_UNKNOWN, ZKL_OK), 0);
        CHECK_IS(s.claim.state, ZKL_KEPT);
        CHECK_IS(scene_resume(), ZKL_DO_LIST);
    }
    TEST("without a connection nothing is kept") {
        hold(KEEP);
        answer(ZKL_DONE);
        scene_cut();
        CHECK_IS(scene_release(), 0);
        CHECK_IS(s.claim.state, ZKL_LEAVE);
    }
}

static void ending(void) {
    TEST("it goes at once when others come") {
        keep();
        CHECK_IS(contend(), ZKL_DO_REMOVE);
        CHECK_IS(contend(), 0);
        CHECK_IS(s.claim.state, ZKL_LEAVE);
        CHECK(!s.line.kept);
    }
    TEST("who came while it was held is next after this hold") {
        hold(KEEP);
        answer(ZKL_DONE);
        CHECK_IS(contend(), ZKL_DO_MARK);
        CHECK_IS(contend(), 0);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        hold(KEEP);
        LINE(s.claim.node.name, BEHIND);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_MARK);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("a node that says that it is held is not kept, though the others have gone") {
        hold(KEEP);
        LINE(s.claim.node.name, BEHIND);
        answer(ZKL_DONE);
        LINE(s.claim.node.name);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("what erases the word is answered with the word, some times between two beats") {
        hold(KEEP);
        answer(ZKL_DONE);
        contend();
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
        for (int i = 0; i < ZKL_ROUNDS; i++) CHECK_IS(unmark(&s.claim), ZKL_DO_MARK);
        CHECK_IS(unmark(&s.claim), 0);
        CHECK_IS(unmark(&s.claim), 0); /* the beat will tell */
        CHECK_IS(scene_beat(), ZKL_DO_MARK);
        CHECK_IS(unmark(&s.claim), ZKL_DO_MARK);
        CHECK_IS(scene_marked(ZKL_UNKNOWN), 0);
        CHECK_IS(unmark(&s.claim), 0);
        CHECK_IS(scene_beat(), ZKL_DO_MARK);
    }
    TEST("a word whose writing gets lost is written again, also by one that was to ask") {
        hold(KEEP);
        CHECK_IS(answer(ZKL_UNKNOWN), 0);
        CHECK_IS(contend(), ZKL_DO_MARK);
        CHECK_IS(scene_marked(ZKL_UNKNOWN), 0);
        CHECK_IS(scene_resume(), ZKL_DO_MARK);
    }
    TEST("a write of the word shows that the node is gone, or comes after the release") {
        hold(KEEP);
        answer(ZKL_DONE);
        contend();
        CHECK_IS(scene_marked(ZKL_ABSENT), ZKL_DO_LOSE | ZKL_DO_FORGET);
        hold(KEEP);
        answer(ZKL_DONE);
        contend();
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        CHECK_IS(scene_marked(ZKL_UNKNOWN), 0);
        CHECK(!s.claim.stalled);
    }
    TEST("it goes when its time is over, not before") {
        keep();
        CHECK_IS(s.claim.deadline, s.now + KEEP);
        scene_prove();
        for (zkl_time passed = 0; passed < KEEP - T / 6; passed += T / 6) {
            CHECK_IS(scene_tick(T / 6), 0);
            scene_prove();
        }
        CHECK_IS(scene_tick(T / 6), ZKL_DO_REMOVE);
    }
    TEST("it goes when the lease clock ran out, and nobody is told") {
        keep();
        s.claim.deadline = ZKL_NEVER;
        CHECK_IS(scene_tick(2 * T), ZKL_DO_REMOVE);
        CHECK_IS(s.losses, 0);
        CHECK_IS(s.claim.code, ZKL_OK);
    }
    TEST("it goes when somebody asks its holder to give way, before or after the release") {
        keep();
        CHECK_IS(zkl_claim_yield(&s.claim), ZKL_DO_REMOVE);
        hold(KEEP);
        answer(ZKL_DONE);
        zkl_claim_yield(&s.claim);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("it goes when the session wants the room, and what landed late is looked for") {
        keep();
        CHECK_IS(scene_cancel(ZKL_RELEASED), ZKL_DO_REMOVE);
        CHECK_IS(s.fails, 0);
        keep();
        s.claim.node.doubted = true;
        CHECK_IS(scene_cancel(ZKL_RELEASED), ZKL_DO_REMOVE | ZKL_DO_LIST);
    }
    TEST("a node that is gone is nobody's: the next claim enters") {
        keep();
        scene_cut();
        s.common.clock.connected = true;
        come(&s.second, false);
        CHECK_IS(scene_own_deleted(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ENTERS);
    }
    TEST("its node is watched from the next heartbeat on, as a holder's") {
        keep();
        CHECK_IS(scene_beat(), ZKL_DO_WATCH_OWN);
        CHECK_IS(scene_beat(), 0);
        CHECK_IS(scene_own_changed(), ZKL_DO_WATCH_OWN);
    }
    TEST("with the session it is gone, and nobody is told") {
        keep();
        CHECK_IS(scene_expire(), ZKL_DO_FORGET);
        CHECK(!s.line.kept);
    }
}

/* Another session's node that may be kept; and one behind it. */
#define KEPT_NODE "_c_11111111-2222-3333-4000-000000000001-lock-0000000041"
#define OTHERS "_c_f47ac10b-58cc-4372-8000-000000000001-lock-0000000040"

static void try_it(void) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, true);
    CHECK_IS(scene_start(), ZKL_DO_LIST);
}

/* A try in line behind that node; the user is not told that it waits. */
static void ask(void) {
    try_it();
    CHECK_IS(LISTED(KEPT_NODE), ENTERS);
    scene_created(42, 1042);
    CHECK_IS(LISTED(KEPT_NODE, s.claim.node.name), ZKL_DO_WATCH_AHEAD | ZKL_DO_WATCH_OWN);
}

static void trying(void) {
    TEST("a try behind one that may be kept queues, and has the lock when that goes") {
        ask();
        CHECK_IS(scene_got_ahead(ZKL_DONE), 0);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
    }
    TEST(
        "it goes away when the node says that it is held; where it says nothing, at the deadline") {
        ask();
        CHECK_IS(scene_did(zkl_claim_told_held(&s.claim, s.claim.ahead)),
                 ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_BUSY);
        ask();
        s.claim.deadline = s.now;
        CHECK_IS(scene_tick(0), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.claim.code, ZKL_TIMEOUT);
    }
    TEST("who is no try goes on waiting, and so does a try that waits for another one") {
        ask();
        struct zkl_contender *ahead = zkl_contender_ref(s.claim.ahead);
        CHECK_IS(scene_did(zkl_claim_told_held(&s.claim, NULL)), 0);
        s.claim.trying = false;
        CHECK_IS(scene_did(zkl_claim_told_held(&s.claim, ahead)), 0);
        s.claim.trying = true;
        zkl_contender_unref(ahead);
    }
    TEST("behind two, behind another's, or behind its own session's it does not") {
        const char *own;
        try_it();
        CHECK_IS(LISTED(KEPT_NODE, BEHIND), ZKL_DO_FAIL | ZKL_DO_FORGET);
        try_it();
        CHECK_IS(LISTED(OTHERS), ZKL_DO_FAIL | ZKL_DO_FORGET);
        begin(KEEP);
        scene_start();
        own = scene_name(41);
        CHECK(strstr(own, "-4000-"));
        char name[2 * ZKL_NAME_SIZE];
        snprintf(name, sizeof name, "%s", own);
        try_it();
        CHECK_IS(LISTED(name), ZKL_DO_FAIL | ZKL_DO_FORGET);
    }
    TEST("only a try of one mutex waits there: no writer's, and no multi-lock's") {
        for (int part = 0; part < 2; part++) {
            for (int late = 0; late < 2; late++) {
                scene_open(part ? ZKL_MUTEX : ZKL_WRITE, ZKL_NEVER, true);
                if (part) scene_join();
                scene_start();
                if (part) zkl_claim_start(&s.part);
                if (late) {
                    LISTED("config");
                    if (part) zkl_claim_listed(&s.part, ZKL_DONE, ZKL_OK, s.now);
                    scene_created(42, part ? 0 : 1042);
                    if (part) scene_got_own(ZKL_DONE, 1042);
                    CHECK_IS(LISTED(KEPT_NODE, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
                } else {
                    CHECK_IS(LISTED(KEPT_NODE), ZKL_DO_FAIL | ZKL_DO_FORGET);
                }
                CHECK_IS(s.claim.code, ZKL_BUSY);
            }
        }
    }
    TEST("one that came between is waited for by no try") {
        try_it();
        LISTED(KEPT_NODE);
        scene_created(42, 1042);
        const char *between = "_c_11111111-2222-3333-0000-000000000009-lock-0000000041";
        CHECK_IS(LISTED(OTHERS, between, s.claim.node.name), ZKL_DO_FAIL | ZKL_DO_REMOVE);
    }
}

/* Given back to others, and wanted again after so long: for how long it is not kept then. */
static zkl_time restraint_after(zkl_time passed) {
    zkl_time length = 0;
    s.line.restraint.gave_back = s.now;
    s.now += passed;
    scene_detach(&s.second);
    zkl_claim_keep(scene_add(&s.second, ZKL_MUTEX), KEEP, s.now);
    for (; s.second.keep == 0 && length < 100 * ZKL_SECOND; length += ZKL_SECOND) {
        scene_detach(&s.second);
        zkl_claim_keep(scene_add(&s.second, ZKL_MUTEX), KEEP, s.now + length);
    }
    s.now += length;
    return length ? length - ZKL_SECOND : 0;
}

static void restraint(void) {
    TEST("what is given back to others, and wanted again soon, is not kept: 2 s, 4 s ... 30 s") {
        static const int seconds[] = {2, 4, 8, 16, 30, 30};
        keep();
        for (int i = 0; i < 6; i++) CHECK_IS(restraint_after(0), seconds[i] * ZKL_SECOND);
        CHECK_IS(restraint_after(2 * ZKL_SECOND), 0);
        CHECK_IS(restraint_after(2 * ZKL_SECOND - 1), 2 * ZKL_SECOND);
    }
    TEST("given back is what others came for, kept or held") {
        keep();
        contend();
        CHECK_IS(s.line.restraint.gave_back, s.now);
        hold(KEEP);
        LINE(s.claim.node.name, BEHIND);
        scene_release();
        CHECK_IS(s.line.restraint.gave_back, s.now);
    }
    TEST("nothing else is: its time, the room, a node with all its grants, a lock of no keeping") {
        for (int i = 0; i < 4; i++) {
            if (i < 2) keep();
            else hold(KEEP);
            if (i >= 2) answer(ZKL_DONE);
            if (i == 0) s.claim.deadline = s.now;
            if (i == 0) scene_tick(0);
            if (i == 1) scene_cancel(ZKL_RELEASED);
            if (i == 2) s.claim.node.served = ZKL_BATCH_MAX - 1;
            if (i == 3) s.claim.keep = 0;
            if (i == 3) LINE(s.claim.node.name, BEHIND);
            if (i >= 2) scene_release();
            CHECK_IS(s.claim.state, ZKL_LEAVE);
            CHECK_IS(s.line.restraint.gave_back, 0);
        }
    }
    TEST("meanwhile its node goes with the release, and no watch is asked for") {
        begin(KEEP);
        scene_detach(&s.claim);
        s.line.restraint.gave_back = s.now;
        zkl_claim_init(&s.claim, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        zkl_claim_keep(&s.claim, KEEP, s.now);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_token(&s.claim), 1042 * ZKL_BATCH_MAX);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
}

static void edges(void) {
    TEST("a node may be kept for ever") {
        hold(ZKL_NEVER);
        answer(ZKL_DONE);
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        CHECK_IS(s.claim.deadline, ZKL_NEVER);
    }
    TEST("without a connection a node of unknown making is removed and looked for later") {
        keep();
        s.claim.node.doubted = true;
        s.common.clock.connected = false;
        CHECK_IS(scene_cancel(ZKL_RELEASED), 0);
        CHECK(s.claim.state == ZKL_LEAVE && s.claim.stalled);
    }
    TEST("a node whose path cannot be watched is not kept") {
        hold(KEEP);
        s.claim.node.listed_at = 0;
        CHECK_IS(scene_release(), ZKL_DO_KEEP);
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_DONE, ZKL_OK, s.now)), ZKL_DO_REMOVE);
        CHECK_IS(s.claim.state, ZKL_LEAVE);
    }
    TEST("a holder that cannot watch the path says at once that it holds, and is not kept") {
        hold(KEEP);
        s.line.changed = true; /* as for every watch of children that was not set */
        CHECK_IS(answer(ZKL_REFUSED), ZKL_DO_MARK);
        CHECK(s.claim.node.marked && !s.claim.asks);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
    TEST("a line forgets its kept node with the claim") {
        keep();
        scene_detach(&s.claim);
        CHECK(!s.line.kept);
    }
    TEST("a claim whose tokens do not count its grants waits for no kept node") {
        keep();
        scene_add(&s.second, ZKL_MUTEX);
        CHECK(zkl_claim_start(&s.second) & ZKL_DO_CREATE);
    }
}

static void condition(void) {
    TEST("a holder back from a condition watches for others, though some waited before") {
        begin(KEEP);
        scene_start();
        scene_created(42, 1042);
        LISTED(s.claim.node.name, "lock-0000000050");
        CHECK(s.claim.ends);
        scene_await(ZKL_NEVER);
        zkl_claim_created(&s.part, ZKL_DONE, ZKL_OK, scene_name_of(&s.part, 9), 0);
        zkl_claim_signalled(&s.part);
        CHECK_IS(scene_did(zkl_claim_partner_changed(&s.claim)), ENTERS);
        scene_created(51, 1051);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
    }
}

int main(void) {
    taking();
    sharing();
    saying_in_turns();
    asking();
    ending();
    trying();
    restraint();
    edges();
    scene_close();
    condition();
    return check_report();
}
