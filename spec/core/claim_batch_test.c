/*
 * claim_batch_test.c - claims that take turns: those of a session have one node between them, and
 * the claim that holds hands it on, until another session waits and the batch is served.
 */
#include "scene.h"

#define ENTERS (ZKL_DO_CREATE | ZKL_DO_LIST)

/* The claims of a line, in order of arrival: s.claim, s.second, s.third. */

static void begin(int32_t batch) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_batch(&s.claim, batch);
}

static void make_try(struct zkl_claim *claim) {
    claim->trying = true;
    claim->line->tries++;
}

/* One more comes, as the line's last. */
static zkl_actions join(struct zkl_claim *claim, int32_t batch, bool trying) {
    scene_add(claim, ZKL_MUTEX);
    if (trying) make_try(claim);
    if (batch) zkl_claim_batch(claim, batch);
    return zkl_claim_start(claim);
}

static zkl_actions follow(struct zkl_claim *claim) {
    return join(claim, s.claim.batch, false);
}

static zkl_actions resume(struct zkl_claim *claim) {
    return zkl_claim_resume(claim, s.now);
}

/* The first claim is in the state, and has the node 42 if it has one. */
static void reach(enum zkl_claim_state state, int32_t batch) {
    scene_reach(state);
    s.line.opened = true;
    s.claim.batch = batch;
    s.claim.counting = batch != 0;
}

/* The first one holds, the others have come. */
static void hold(int32_t batch) {
    reach(ZKL_HELD, batch);
    follow(&s.second);
    follow(&s.third);
}

/* The second one has the node, and was not asked yet whether it is first. */
static void reach_first(int32_t batch) {
    hold(batch);
    scene_release();
    CHECK_IS(s.second.state, ZKL_FIRST);
}

/* The claim has the other one's place, and nothing of it is asked yet. */
static void check_heir(const struct zkl_claim *heir, const struct zkl_claim *of, int32_t served) {
    CHECK_TEXT(heir->node.name, of->node.name);
    CHECK_IS(heir->node.nonce, of->node.nonce);
    CHECK_IS(heir->node.czxid, of->node.czxid);
    CHECK_IS(heir->node.sequence, of->node.sequence);
    CHECK_IS(heir->node.listed, of->node.listed);
    CHECK_IS(heir->node.doubted, of->node.doubted);
    CHECK_IS(heir->node.served, served);
    CHECK(heir->stalled && zkl_claim_follows(heir) && !heir->node.watched);
    CHECK(of->state == ZKL_GONE && !of->wanted && !of->ahead && !zkl_claim_follows(of));
}

/* --- claims that follow ------------------------------------------------------------------- */

static void following(void) {
    TEST("who comes while another is on its way waits for it, and is told so once") {
        for (int state = ZKL_CREATE; state <= ZKL_PROVE; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach((enum zkl_claim_state)state, 3);
            CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
            CHECK_IS(s.second.state, ZKL_NEW);
            CHECK_IS(resume(&s.second), 0);
            CHECK(s.second.stalled && zkl_claim_follows(&s.second));
        }
    }
    TEST("so does who comes while another holds that has turns left") {
        reach(ZKL_HELD, 2);
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
        CHECK_IS(resume(&s.second), 0);
    }
    TEST("while the last of a turn holds, the next one enters") {
        reach(ZKL_HELD, 1);
        s.claim.ends = true;
        CHECK_IS(follow(&s.second), ENTERS);
        CHECK_IS(follow(&s.third), ZKL_DO_QUEUED);
    }
    TEST("nobody waits for one that nobody wants any more") {
        reach(ZKL_CREATE, 3);
        scene_cancel(ZKL_INTERRUPTED);
        CHECK_IS(follow(&s.second), ENTERS);
    }
    TEST("so does who comes while the path is not known to exist") {
        begin(3);
        scene_start();
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
        CHECK_IS(scene_created(42, 1042), ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), 0);
    }
    TEST("after a lost connection who came first is first, whoever is asked first") {
        begin(3);
        scene_cut();
        CHECK_IS(scene_start() | follow(&s.second), 0);
        s.common.clock.connected = true;
        CHECK_IS(resume(&s.second), ZKL_DO_QUEUED);
        CHECK_IS(scene_resume(), ENTERS);
    }
}

static void not_following(void) {
    TEST("a try asks the server, whoever holds or waits") {
        scene_detach(&s.third);
        CHECK_IS(join(&s.third, 3, true), ZKL_DO_LIST);
        CHECK_IS(s.third.state, ZKL_TRY);
    }
    TEST("nobody waits for a try before that has entered") {
        for (int listed = 0; listed < 2; listed++) {
            begin(3);
            make_try(&s.claim);
            s.line.opened = true;
            CHECK_IS(scene_start(), ZKL_DO_LIST);
            if (listed) CHECK_IS(LISTED("config"), ENTERS);
            CHECK_IS(follow(&s.second), listed ? ZKL_DO_QUEUED : ENTERS);
        }
    }
    TEST("nor for a try that has not begun, which is nobody's heir") {
        reach(ZKL_HELD, 3);
        make_try(scene_add(&s.second, ZKL_MUTEX));
        zkl_claim_batch(&s.second, 3);
        follow(&s.third);
        scene_release();
        CHECK_IS(s.second.state, ZKL_NEW);
        check_heir(&s.third, &s.claim, 1);
        begin(3);
        make_try(&s.claim);
        CHECK_IS(follow(&s.second), ENTERS);
    }
    TEST("who came before a try waits for it, once that has the lock") {
        hold(3);
        make_try(&s.third);
        s.third.state = ZKL_HELD;
        s.claim.state = ZKL_LEAVE;
        CHECK_IS(resume(&s.second), 0);
        CHECK_IS(s.second.state, ZKL_NEW);
        s.third.state = ZKL_LEAVE;
        CHECK_IS(resume(&s.second), ENTERS);
    }
    TEST("who waits and was told so stays, and so do all behind; but a try may go on") {
        hold(3);
        CHECK(!zkl_claim_stays(&s.claim));
        CHECK(zkl_claim_stays(&s.second) && zkl_claim_stays(&s.third));
        s.second.announced = false;
        CHECK(!zkl_claim_stays(&s.second));
        s.second.announced = true;
        make_try(&s.third);
        CHECK(!zkl_claim_stays(&s.second));
        hold(3);
        s.claim.state = ZKL_LEAVE;
        CHECK(!zkl_claim_stays(&s.second));
        s.common.clock.connected = false;
        CHECK(zkl_claim_stays(&s.second));
    }
    TEST("claims without a batch have nothing to do with those that have one") {
        reach(ZKL_HELD, 3);
        CHECK_IS(join(&s.second, 0, false), ENTERS);
        reach(ZKL_HELD, 0);
        CHECK_IS(join(&s.second, 3, false), ENTERS);
        CHECK_IS(join(&s.third, 3, false), ZKL_DO_QUEUED);
        for (int state = ZKL_CREATE; state <= ZKL_HELD; state++) {
            if (state == ZKL_FIRST || state == ZKL_RETREAT) continue;
            reach((enum zkl_claim_state)state, 0);
            CHECK_IS(join(&s.second, 3, false), ENTERS);
            CHECK_IS(scene_release(), state == ZKL_HELD ? ZKL_DO_REMOVE : 0);
        }
    }
    TEST("a node of one for itself is handed to nobody") {
        reach(ZKL_WAIT, 0);
        zkl_claim_init(&s.second, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        zkl_claim_batch(&s.second, 3);
        CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(s.second.state, ZKL_NEW);
    }
}

/* --- handing over -------------------------------------------------------------------------- */

static void handing_over(void) {
    TEST("who holds hands its node to the next, which holds without a request") {
        s.claim.node.watched = true;
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.second, &s.claim, 1);
        CHECK_IS(s.second.state, ZKL_FIRST);
        CHECK(zkl_line_find(&s.line, s.second.node.name));
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        CHECK_IS(s.second.state, ZKL_HELD);
        CHECK(!s.second.stalled && !zkl_claim_follows(&s.second));
        CHECK_IS(resume(&s.third), 0);
        CHECK_IS(s.third.state, ZKL_NEW);
        CHECK_IS(zkl_claim_beat(&s.second, s.now), ZKL_DO_WATCH_OWN);
    }
    TEST("so the node goes from one to the next, and the last one removes it") {
        scene_release();
        resume(&s.second);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.third, &s.second, 2);
        CHECK_IS(resume(&s.third), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_release(&s.third, s.now), ZKL_DO_REMOVE);
        CHECK_IS(zkl_claim_removed(&s.third, ZKL_DONE), ZKL_DO_FORGET);
        CHECK(!zkl_line_find(&s.line, s.third.node.name));
    }
    TEST("the heir answers for the node: it is no orphan") {
        reach_first(3);
        LINE(AHEAD);
        LINE(s.second.node.name);
        CHECK(!zkl_line_orphan(&s.line));
    }
    TEST("when the clock is not certain the heir proves first that the session lives") {
        s.now += T * 6 / 10;
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_SYNC);
        CHECK_IS(s.second.state, ZKL_PROVE);
        scene_prove();
        CHECK_IS(zkl_claim_synced(&s.second, ZKL_DONE, s.now), ZKL_DO_GRANT);
    }
    TEST("what landed late is looked for by the one who removes the node") {
        hold(2);
        s.claim.node.doubted = true; /* as after RECOVER_SYNC */
        LINE(s.claim.node.name, BEHIND);
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.second, &s.claim, 1);
        resume(&s.second);
        resume(&s.third);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE | ZKL_DO_LIST);
    }
    TEST("a holder that a list did not show gives its node to nobody") {
        LINE(AHEAD);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ENTERS);
        CHECK_IS(resume(&s.third), 0);
    }
}

static void without_connection(void) {
    TEST("released without a connection, the heir lists before it holds") {
        s.claim.node.doubted = true;
        scene_cut();
        CHECK_IS(scene_release(), ZKL_DO_FORGET);
        check_heir(&s.second, &s.claim, 1);
        s.common.clock.connected = true;
        CHECK_IS(resume(&s.second), ZKL_DO_LIST);
        CHECK_IS(resume(&s.third), 0);
        LINE(s.second.node.name);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_token(&s.second), 1042 * ZKL_BATCH_MAX + 1);
    }
    TEST("released without a connection, with no heir, nothing is asked for yet") {
        reach(ZKL_HELD, 1);
        s.claim.node.doubted = true;
        LINE(s.claim.node.name, BEHIND);
        follow(&s.second);
        scene_cut();
        CHECK_IS(scene_release(), 0);
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
    TEST("an heir that loses the connection before it is asked lists, too") {
        reach_first(3);
        s.common.clock.connected = false;
        CHECK_IS(zkl_claim_suspend(&s.second), 0);
        CHECK_IS(s.second.state, ZKL_LIST);
        s.common.clock.connected = true;
        CHECK_IS(resume(&s.second), ZKL_DO_LIST);
    }
    TEST("a node that went meanwhile is never granted; the next one counts from 0") {
        scene_cut();
        scene_release();
        s.common.clock.connected = true;
        resume(&s.second);
        LINE(AHEAD);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ENTERS);
        CHECK_IS(s.second.node.served, 0);
        CHECK(s.second.node.nonce != s.claim.node.nonce);
        CHECK_IS(resume(&s.third), 0);
    }
}

/* --- the end of a turn --------------------------------------------------------------------- */

static void turn_ends(void) {
    TEST("with the last grant of a turn the next one enters, behind whoever came") {
        hold(2);
        LINE(s.claim.node.name, BEHIND);
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), ENTERS);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE);
        CHECK(s.third.node.nonce != s.second.node.nonce && !s.third.node.served);
    }
    TEST("a batch of one hands nothing on, if others wait") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
        CHECK_IS(LISTED(s.claim.node.name, BEHIND), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ENTERS);
        follow(&s.third);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), 0);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
    }
    TEST("where no other session waits it goes on after its batch") {
        hold(1);
        s.line.children = ZKL_WATCHED;
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_token(&s.third), 1042 * ZKL_BATCH_MAX + 2);
    }
    TEST("other nodes of the session are nobody else") {
        hold(1);
        s.second.node.nonce = s.claim.node.nonce + 1;
        LINE(s.claim.node.name, scene_name_of(&s.second, 43));
        s.line.children = ZKL_WATCHED;
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
    }
    TEST("a node that waited behind another session's has others to end its turn for, unasked") {
        begin(2);
        scene_start();
        scene_created(42, 1042);
        LISTED(AHEAD, s.claim.node.name);
        follow(&s.second);
        follow(&s.third);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT);
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
    }
    TEST("not with the first grant: who was ahead is about to come again") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        LISTED(AHEAD, s.claim.node.name);
        follow(&s.second);
        CHECK_IS(scene_ahead_deleted(), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
    }
    TEST("in a batch of one it is the second grant that ends unasked, if no watch is set") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        LISTED(AHEAD, s.claim.node.name);
        follow(&s.second);
        follow(&s.third);
        scene_ahead_deleted();
        s.line.children = ZKL_WATCHED;
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
    }
    TEST("the next node asks, if it did not wait; and so does one whose turn ends by time") {
        begin(2);
        scene_start();
        scene_created(42, 1042);
        LISTED(AHEAD, s.claim.node.name);
        CHECK_IS(scene_own_deleted(), ENTERS);
        scene_created(43, 1043);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        follow(&s.second);
        follow(&s.third);
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        reach(ZKL_HELD, ZKL_BATCH_BY_TIME);
        s.claim.node.contended = true;
        s.claim.node.served = 1;
        follow(&s.second);
        s.now += ZKL_QUANTUM;
        CHECK_IS(scene_release(), ZKL_DO_WATCH_CHILDREN);
    }
    TEST("who came since is served next, once the batch is") {
        for (int batch = 1; batch <= 2; batch++) {
            for (int listed = 0; listed < 2; listed++) {
                hold(batch);
                if (listed) LINE(s.claim.node.name, BEHIND);
                else s.line.changed = true;
                zkl_actions goes_on = ZKL_DO_FORGET | ZKL_DO_FOLLOW;
                zkl_actions ends = ZKL_DO_REMOVE | ZKL_DO_FOLLOW;
                CHECK_IS(scene_release(), batch == 1 ? ends : goes_on);
            }
        }
    }
    TEST("what came in the turn before is in the first list of the next") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        follow(&s.second);
        s.line.changed = true;
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        CHECK(!s.line.changed);
        s.line.changed = true;
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
    }
    TEST("a node has no more grants than it has tokens, whoever waits") {
        hold(1);
        s.line.children = ZKL_WATCHED;
        s.claim.node.served = ZKL_BATCH_MAX - 2;
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_token(&s.second), 1043 * ZKL_BATCH_MAX - 1);
        CHECK_IS(resume(&s.third), ENTERS);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE);
        CHECK_IS(zkl_claim_created(&s.third, ZKL_DONE, ZKL_OK, scene_name_of(&s.third, 43), 1043),
                 0);
        LINE(s.third.node.name);
        CHECK_IS(zkl_claim_listed(&s.third, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_token(&s.third), 1043 * ZKL_BATCH_MAX);
    }
    TEST("who comes alone is told nothing of others") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET);
    }
    TEST("an earlier one that has a node of its own is not passed over") {
        reach(ZKL_HELD, 3);
        join(&s.second, 3, true);
        CHECK(zkl_line_replace(&s.line, NULL, 0)); /* as that try saw it */
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ENTERS);
        zkl_claim_created(&s.second, ZKL_DONE, ZKL_OK, scene_name_of(&s.second, 43), 1043);
        LINE(s.claim.node.name, s.second.node.name);
        follow(&s.third);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), 0);
        CHECK_IS(s.third.state, ZKL_NEW);
    }
}

/* --- who tells that others come ------------------------------------------------------------- */

static void watching(void) {
    TEST("when a batch is served and none waits but of the session, the children are watched") {
        hold(2);
        CHECK_IS(s.line.children, ZKL_UNWATCHED);
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(s.line.children, ZKL_WATCH_ASKED);
    }
    TEST("who comes behind the last of a batch has them watched, once") {
        reach(ZKL_HELD, 1);
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED | ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(follow(&s.third), ZKL_DO_QUEUED);
        s.line.children = ZKL_WATCHED;
        scene_release();
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
    }
    TEST("a watch that was lost is asked for again, by who waits or is granted") {
        reach(ZKL_HELD, 1);
        follow(&s.second);
        follow(&s.third);
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(resume(&s.third), ZKL_DO_WATCH_CHILDREN);
        s.line.children = ZKL_WATCHED;
        scene_release();
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_WATCH_CHILDREN);
    }
    TEST("a turn that goes on, whose node may be gone, is not asked in the place of a served one") {
        static const int32_t turns[] = {ZKL_BATCH_BY_TIME, 2};
        for (int i = 0; i < 2; i++) {
            reach(ZKL_HELD, turns[i]);
            join(&s.second, 1, true);
            s.second.state = ZKL_HELD; /* it came when the first one's node was deleted */
            CHECK_IS(join(&s.third, 1, false), ZKL_DO_QUEUED | ZKL_DO_WATCH_CHILDREN);
        }
    }
    TEST("not before the batch is served, nor with nobody to hand the node to") {
        begin(1);
        scene_start();
        scene_created(42, 1042);
        CHECK_IS(LISTED(s.claim.node.name), ZKL_DO_GRANT);
        reach(ZKL_HELD, 2);
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
        CHECK_IS(s.line.children, ZKL_UNWATCHED);
    }
    TEST("nor when others wait as it is") {
        reach(ZKL_HELD, 1);
        LINE(s.claim.node.name, BEHIND);
        CHECK_IS(follow(&s.second), ZKL_DO_QUEUED);
        s.line.changed = true;
        LINE(s.claim.node.name);
        CHECK_IS(follow(&s.third), ZKL_DO_QUEUED);
    }
}

/* The first one gave up the lock, and its node stays. */
static void linger(void) {
    hold(1);
    CHECK_IS(scene_release(), 0);
    CHECK_IS(s.claim.state, ZKL_KEPT);
}

static zkl_actions answer(enum zkl_reply reply) {
    if (reply == ZKL_DONE) s.line.children = ZKL_WATCHED;
    return scene_did(zkl_claim_listed(&s.claim, reply, ZKL_OK, s.now));
}

static void lingering(void) {
    TEST("until it is known whether others wait the node is nobody's, and then the next one's") {
        linger();
        CHECK_IS(resume(&s.second), 0);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.second, &s.claim, 1);
        CHECK_IS(s.second.state, ZKL_FIRST);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        CHECK_IS(s.claim.state, ZKL_GONE);
    }
    TEST("a claim that comes meanwhile waits behind the one that waits, and is told so") {
        reach(ZKL_HELD, 1);
        s.claim.keep = ZKL_SECOND;
        follow(&s.second);
        scene_release();
        CHECK_IS(s.claim.state, ZKL_KEPT);
        CHECK_IS(follow(&s.third), ZKL_DO_QUEUED);
    }
    TEST("a list without the watch, which another asked for, leaves that open") {
        linger();
        CHECK_IS(scene_did(zkl_claim_listed(&s.claim, ZKL_DONE, ZKL_OK, s.now)), 0);
        CHECK_IS(s.claim.state, ZKL_KEPT);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
    }
    TEST("who gives the lock up asks, if nobody has") {
        hold(1);
        s.line.children = ZKL_UNWATCHED;
        CHECK_IS(scene_release(), ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(s.line.children, ZKL_WATCH_ASKED);
    }
    TEST("if others wait, or there is no answer, it is removed") {
        for (int reply = ZKL_DONE; reply <= ZKL_UNKNOWN; reply++) {
            linger();
            if (reply == ZKL_DONE) LINE(s.claim.node.name, BEHIND);
            CHECK_IS(answer((enum zkl_reply)reply), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&s.second), ENTERS);
            CHECK_IS(answer(ZKL_DONE), 0);
            CHECK_IS(scene_removed(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        }
    }
    TEST("if none of the session waits any more, too; and what landed late is looked for") {
        linger();
        s.claim.node.doubted = true;
        zkl_claim_cancel(&s.second, ZKL_TIMEOUT);
        zkl_claim_cancel(&s.third, ZKL_TIMEOUT);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_REMOVE | ZKL_DO_LIST);
    }
    TEST("a node that goes meanwhile is handed to nobody") {
        linger();
        CHECK_IS(scene_own_deleted(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ENTERS);
        linger();
        LINE(AHEAD);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
    }
    TEST("without a connection the answer is lost: it is removed when that is back") {
        linger();
        scene_cut();
        CHECK_IS(answer(ZKL_UNKNOWN), 0);
        s.common.clock.connected = true;
        CHECK_IS(scene_resume(), ZKL_DO_REMOVE);
    }
    TEST("who comes meanwhile waits for its turn, behind those that came before") {
        hold(1);
        scene_detach(&s.third);
        scene_release();
        CHECK_IS(follow(&s.third), ZKL_DO_QUEUED);
        answer(ZKL_DONE);
        CHECK_IS(resume(&s.third), 0);
        check_heir(&s.second, &s.claim, 1);
    }
    TEST("no node stays before its batch is over, nor for nobody") {
        hold(2);
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        reach(ZKL_HELD, 1);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE);
    }
}

/* --- turns by time --------------------------------------------------------------------------- */

/* Nobody of the session waited for long. */
static void hold_by_time(void) {
    begin(ZKL_BATCH_BY_TIME);
    scene_start();
    scene_created(42, 1042);
    follow(&s.second);
    follow(&s.third);
    CHECK_IS(LISTED(s.claim.node.name, BEHIND), ZKL_DO_GRANT);
}

static void quanta(void) {
    TEST("a turn by time ends for others when its quantum is over, at a hand-over") {
        hold_by_time();
        s.now += ZKL_QUANTUM - 1;
        CHECK_IS(scene_release(), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        s.now += 1;
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), ENTERS);
    }
    TEST("who is granted later is the last of its turn") {
        hold_by_time();
        scene_release();
        s.now += ZKL_QUANTUM;
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), ENTERS);
    }
    TEST("where nobody else is known to wait, its node stays once, and goes on") {
        hold_by_time();
        LINE(s.claim.node.name);
        s.now += ZKL_QUANTUM;
        CHECK_IS(scene_release(), ZKL_DO_WATCH_CHILDREN);
        CHECK_IS(answer(ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.third, &s.second, 2);
    }
}

static void yielding(void) {
    TEST("who yields keeps its token, lets the next one enter, and hands nothing on") {
        int64_t token = zkl_claim_token(&s.claim);
        CHECK_IS(zkl_claim_yield(&s.claim), ZKL_DO_FOLLOW);
        CHECK(zkl_claim_holds(&s.claim));
        CHECK_IS(zkl_claim_token(&s.claim), token);
        CHECK_IS(resume(&s.second), ENTERS);
        CHECK_IS(scene_release(), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), 0);
    }
    TEST("later in a batch, too") {
        hold(4);
        scene_release();
        resume(&s.second);
        CHECK_IS(zkl_claim_yield(&s.second), ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_release(&s.second, s.now), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_token(&s.second), 1042 * ZKL_BATCH_MAX + 1);
    }
    TEST("with nobody there it says nothing, but who comes then enters") {
        reach(ZKL_HELD, 3);
        CHECK_IS(zkl_claim_yield(&s.claim), 0);
        CHECK_IS(follow(&s.second), ENTERS);
    }
    TEST("only a holder that has a batch may") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            if (state == ZKL_KEPT) continue;
            bool holds = state == ZKL_HELD;
            reach((enum zkl_claim_state)state, holds ? 0 : 3);
            join(&s.second, 3, false);
            CHECK_IS(zkl_claim_yield(&s.claim), 0);
            CHECK(!s.claim.ends);
        }
    }
}

/* --- claims that give up ------------------------------------------------------------------ */

static void giving_up(void) {
    TEST("who gives up on its way hands its place on; the heir looks where that is") {
        for (int state = ZKL_RECOVER_STAT; state <= ZKL_PROVE; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach((enum zkl_claim_state)state, 3);
            follow(&s.second);
            follow(&s.third);
            CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
            CHECK_IS(s.claim.code, ZKL_TIMEOUT);
            check_heir(&s.second, &s.claim, 0);
            CHECK_IS(s.second.state, ZKL_LIST);
            CHECK_IS(resume(&s.second), ZKL_DO_LIST);
            CHECK_IS(resume(&s.third), 0);
        }
    }
    TEST("in turns of one, too") {
        reach(ZKL_WAIT, 1);
        follow(&s.second);
        CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.second, &s.claim, 0);
    }
    TEST("so does an heir that is not asked yet, with what was served") {
        reach_first(3);
        CHECK_IS(zkl_claim_cancel(&s.second, ZKL_TIMEOUT),
                 ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&s.third, &s.second, 1);
        CHECK_IS(resume(&s.third), ZKL_DO_LIST);
        LINE(s.third.node.name);
        CHECK_IS(zkl_claim_listed(&s.third, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_GRANT);
    }
    TEST("a place that was handed on in the last turn of a batch is no turn more") {
        reach_first(2);
        zkl_claim_cancel(&s.second, ZKL_TIMEOUT);
        check_heir(&s.third, &s.second, 1);
        CHECK_IS(s.third.state, ZKL_LIST);
    }
    TEST("an heir whose place is behind another waits there") {
        reach(ZKL_WAIT, 3);
        follow(&s.second);
        scene_cancel(ZKL_TIMEOUT);
        resume(&s.second);
        LINE(AHEAD, s.second.node.name);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now),
                 ZKL_DO_WATCH_OWN | ZKL_DO_WATCH_AHEAD);
    }
    TEST("an heir of a node whose czxid is not known asks for it") {
        reach(ZKL_RECOVER_STAT, 3);
        follow(&s.second);
        scene_cancel(ZKL_TIMEOUT);
        resume(&s.second);
        CHECK_IS(zkl_claim_listed(&s.second, ZKL_DONE, ZKL_OK, s.now), ZKL_DO_WATCH_OWN);
        CHECK_IS(s.second.state, ZKL_RECOVER_STAT);
    }
    TEST("with nobody to have it the node is removed") {
        reach(ZKL_WAIT, 3);
        CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_REMOVE);
    }
    TEST("who gives up before it knows its node lets the next one go on by itself") {
        for (int state = ZKL_CREATE; state <= ZKL_RECOVER_LIST; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach((enum zkl_claim_state)state, 3);
            follow(&s.second);
            CHECK_IS(scene_cancel(ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&s.second), ENTERS);
        }
    }
    TEST("who gives up while it follows leaves nothing; the others wait on") {
        CHECK_IS(zkl_claim_cancel(&s.second, ZKL_TIMEOUT),
                 ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.third), 0);
        scene_release();
        check_heir(&s.third, &s.claim, 1);
    }
}

/* --- what ends without being given up ----------------------------------------------------- */

static void ends(void) {
    TEST("a holder that the clock ends, or whose node is gone, lets the next one enter") {
        for (int deleted = 0; deleted < 2; deleted++) {
            hold(3);
            if (deleted) CHECK_IS(scene_own_deleted(), ZKL_DO_LOSE | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
            else CHECK_IS(scene_tick(2 * T), ZKL_DO_LOSE | ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&s.second), ENTERS);
            CHECK_IS(resume(&s.third), 0);
        }
    }
    TEST("the end of the session ends all of them") {
        CHECK_IS(scene_expire(), ZKL_DO_LOSE | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&s.second) | resume(&s.third), 0);
        CHECK_IS(zkl_claim_expire(&s.second, ZKL_EXPIRED),
                 ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_expire(&s.third, ZKL_EXPIRED), ZKL_DO_FAIL | ZKL_DO_FORGET);
    }
}

/* --- tokens -------------------------------------------------------------------------------- */

static void tokens(void) {
    TEST("tokens grow from grant to grant of a node") {
        CHECK_IS(zkl_claim_token(&s.claim), 1042 * ZKL_BATCH_MAX);
        scene_release();
        resume(&s.second);
        CHECK_IS(zkl_claim_token(&s.second), 1042 * ZKL_BATCH_MAX + 1);
    }
    TEST("without a batch the czxid is the token") {
        reach(ZKL_HELD, 0);
        CHECK_IS(zkl_claim_token(&s.claim), 1042);
    }
    TEST("a czxid that is too large for tokens of batches is refused, to them only") {
        for (int i = 0; i < 3; i++) {
            begin(i < 2 ? ZKL_BATCH_MAX : 0);
            scene_start();
            scene_created(42, ZKL_BATCH_CZXID_MAX + (i > 0));
            zkl_actions did = LISTED(s.claim.node.name);
            CHECK_IS(did, i == 1 ? ZKL_DO_FAIL | ZKL_DO_REMOVE : ZKL_DO_GRANT);
            CHECK_IS(s.claim.code, i == 1 ? ZKL_UNSUPPORTED : ZKL_OK);
            s.claim.node.served = ZKL_BATCH_MAX - 1;
            if (i == 0) CHECK_IS(zkl_claim_token(&s.claim), INT64_MAX);
        }
    }
    TEST("a claim without a batch may have the tokens of those that have one") {
        for (int i = 0; i < 2; i++) {
            begin(0);
            zkl_claim_count(&s.claim);
            scene_start();
            scene_created(42, i == 0 ? 1042 : ZKL_BATCH_CZXID_MAX + 1);
            zkl_actions did = LISTED(s.claim.node.name);
            CHECK_IS(did, i == 0 ? ZKL_DO_GRANT : ZKL_DO_FAIL | ZKL_DO_REMOVE);
            if (i == 0) CHECK_IS(zkl_claim_token(&s.claim), 1042 * ZKL_BATCH_MAX);
        }
    }
}

/* Each test begins so, if it does not begin otherwise. */
static void hold_three(void) {
    hold(3);
}

int main(void) {
    check_before(hold_three);
    following();
    not_following();
    handing_over();
    without_connection();
    turn_ends();
    watching();
    lingering();
    quanta();
    yielding();
    giving_up();
    ends();
    tokens();
    return check_report();
}
