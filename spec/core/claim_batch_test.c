/*
 * claim_batch_test.c - claims that take turns: those of a session have one node between them,
 * and who holds hands it on, so often as a batch has grants.
 */
#include "scene.h"

#define ENTERS (ZKL_DO_CREATE | ZKL_DO_LIST)

/* Claims of one line, in order of arrival: the scene's, and up to two after it. */
struct turns {
    struct scene s;
    struct zkl_claim second, third;
};

static void detach(struct zkl_claim *claim) {
    if (claim->common) zkl_claim_detach(claim);
}

static void end(struct turns *t) {
    detach(&t->second);
    detach(&t->third);
    scene_close(&t->s);
}

static void begin(struct turns *t, int32_t batch) {
    *t = (struct turns){.second = {.common = NULL}};
    scene_open(&t->s, ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_batch(&t->s.claim, batch);
}

/* One more comes, as the line's last. */
static zkl_actions join(struct turns *t, struct zkl_claim *claim, int32_t batch, bool trying) {
    zkl_claim_init(claim, &t->s.common, &t->s.line, ZKL_MUTEX, ZKL_NEVER, trying);
    if (batch) zkl_claim_batch(claim, batch);
    return zkl_claim_start(claim);
}

static zkl_actions follow(struct turns *t, struct zkl_claim *claim) {
    return join(t, claim, t->s.claim.batch, false);
}

static zkl_actions resume(struct turns *t, struct zkl_claim *claim) {
    return zkl_claim_resume(claim, t->s.now);
}

/* The first claim is in the state, and has the node 42 if it has one. */
static void reach(struct turns *t, enum zkl_claim_state state, int32_t batch) {
    *t = (struct turns){.second = {.common = NULL}};
    scene_reach(&t->s, state, ZKL_NEVER);
    t->s.line.opened = true;
    zkl_claim_batch(&t->s.claim, batch);
}

/* The first one holds, the others have come. */
static void hold(struct turns *t, int32_t batch) {
    reach(t, ZKL_HELD, batch);
    follow(t, &t->second);
    follow(t, &t->third);
}

/* The second one has the node, and was not asked yet whether it is first. */
static void reach_first(struct turns *t, int32_t batch) {
    hold(t, batch);
    scene_release(&t->s);
    CHECK_IS(t->second.state, ZKL_FIRST);
}

/* The claim has the other one's place, and nothing of it is asked yet. */
static void check_heir(const struct zkl_claim *heir, const struct zkl_claim *of, int32_t served) {
    CHECK_TEXT(heir->name, of->name);
    CHECK_IS(heir->nonce, of->nonce);
    CHECK_IS(heir->czxid, of->czxid);
    CHECK_IS(heir->sequence, of->sequence);
    CHECK_IS(heir->listed, of->listed);
    CHECK_IS(heir->doubted, of->doubted);
    CHECK_IS(heir->served, served);
    CHECK(heir->stalled && zkl_claim_follows(heir) && !heir->own_watched);
    CHECK(of->state == ZKL_GONE && !of->wanted && !of->ahead && !zkl_claim_follows(of));
}

/* --- who follows --------------------------------------------------------------------------- */

static void following(void) {
    struct turns t;
    TEST("who comes while another is on its way waits for it, and is told so once") {
        for (int state = ZKL_CREATE; state <= ZKL_PROVE; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach(&t, (enum zkl_claim_state)state, 3);
            CHECK_IS(follow(&t, &t.second), ZKL_DO_QUEUED);
            CHECK_IS(t.second.state, ZKL_NEW);
            CHECK_IS(resume(&t, &t.second), 0);
            CHECK(t.second.stalled && zkl_claim_follows(&t.second));
            end(&t);
        }
    }
    TEST("so does who comes while another holds that has turns left") {
        reach(&t, ZKL_HELD, 2);
        CHECK_IS(follow(&t, &t.second), ZKL_DO_QUEUED);
        CHECK_IS(resume(&t, &t.second), 0);
        end(&t);
    }
    TEST("while the last of a batch holds, the next one enters") {
        reach(&t, ZKL_HELD, 1);
        CHECK_IS(follow(&t, &t.second), ENTERS);
        CHECK_IS(follow(&t, &t.third), ZKL_DO_QUEUED);
        end(&t);
    }
    TEST("nobody waits for one that nobody wants any more") {
        reach(&t, ZKL_CREATE, 3);
        scene_cancel(&t.s, ZKL_INTERRUPTED);
        CHECK_IS(follow(&t, &t.second), ENTERS);
        end(&t);
    }
    TEST("on a path that is not known to exist it is told when that is known") {
        begin(&t, 3);
        scene_start(&t.s);
        CHECK_IS(follow(&t, &t.second), 0);
        CHECK_IS(scene_created(&t.s, 42, 1042), ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.second), ZKL_DO_QUEUED);
        end(&t);
    }
    TEST("after a lost connection who came first is first, whoever is asked first") {
        begin(&t, 3);
        scene_cut(&t.s);
        CHECK_IS(scene_start(&t.s) | follow(&t, &t.second), 0);
        t.s.common.clock.connected = true;
        CHECK_IS(resume(&t, &t.second), ZKL_DO_QUEUED);
        CHECK_IS(scene_resume(&t.s), ENTERS);
        end(&t);
    }
}

static void not_following(void) {
    struct turns t;
    TEST("a try asks the server, whoever holds or waits") {
        hold(&t, 3);
        detach(&t.third);
        CHECK_IS(join(&t, &t.third, 3, true), ZKL_DO_LIST);
        CHECK_IS(t.third.state, ZKL_TRY);
        end(&t);
    }
    TEST("nobody waits for a try before that has entered") {
        for (int listed = 0; listed < 2; listed++) {
            begin(&t, 3);
            t.s.line.opened = t.s.claim.trying = true;
            CHECK_IS(scene_start(&t.s), ZKL_DO_LIST);
            if (listed) CHECK_IS(LISTED(&t.s, "config"), ENTERS);
            CHECK_IS(follow(&t, &t.second), listed ? ZKL_DO_QUEUED : ENTERS);
            end(&t);
        }
    }
    TEST("nor for a try that has not begun, which is nobody's heir") {
        reach(&t, ZKL_HELD, 3);
        zkl_claim_init(&t.second, &t.s.common, &t.s.line, ZKL_MUTEX, ZKL_NEVER, true);
        zkl_claim_batch(&t.second, 3);
        follow(&t, &t.third);
        scene_release(&t.s);
        CHECK_IS(t.second.state, ZKL_NEW);
        check_heir(&t.third, &t.s.claim, 1);
        end(&t);
        begin(&t, 3);
        t.s.claim.trying = true;
        CHECK_IS(follow(&t, &t.second), ENTERS);
        end(&t);
    }
    TEST("claims without a batch have nothing to do with those that have one") {
        reach(&t, ZKL_HELD, 3);
        CHECK_IS(join(&t, &t.second, 0, false), ENTERS);
        end(&t);
        for (int state = ZKL_CREATE; state <= ZKL_HELD; state++) {
            if (state == ZKL_FIRST) continue;
            reach(&t, (enum zkl_claim_state)state, 0);
            CHECK_IS(join(&t, &t.second, 3, false), ENTERS);
            CHECK_IS(scene_release(&t.s), state == ZKL_HELD ? ZKL_DO_REMOVE : 0);
            end(&t);
        }
    }
    TEST("a node of one for itself is handed to nobody") {
        reach(&t, ZKL_WAIT, 0);
        zkl_claim_init(&t.second, &t.s.common, &t.s.line, ZKL_MUTEX, ZKL_NEVER, false);
        zkl_claim_batch(&t.second, 3);
        CHECK_IS(scene_cancel(&t.s, ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        CHECK_IS(t.second.state, ZKL_NEW);
        end(&t);
    }
}

/* --- handing over -------------------------------------------------------------------------- */

static void handing_over(void) {
    struct turns t;
    TEST("who holds hands its node to the next, which holds without a request") {
        hold(&t, 3);
        t.s.claim.own_watched = true;
        CHECK_IS(scene_release(&t.s), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&t.second, &t.s.claim, 1);
        CHECK_IS(t.second.state, ZKL_FIRST);
        CHECK(zkl_line_find(&t.s.line, t.second.name));
        CHECK_IS(resume(&t, &t.second), ZKL_DO_GRANT);
        CHECK_IS(t.second.state, ZKL_HELD);
        CHECK(!t.second.stalled && !zkl_claim_follows(&t.second));
        CHECK_IS(resume(&t, &t.third), 0);
        CHECK_IS(t.third.state, ZKL_NEW);
        CHECK_IS(zkl_claim_beat(&t.second, t.s.now), ZKL_DO_WATCH_OWN);
        end(&t);
    }
    TEST("so the node goes from one to the next, and the last one removes it") {
        hold(&t, 3);
        scene_release(&t.s);
        resume(&t, &t.second);
        CHECK_IS(zkl_claim_release(&t.second), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&t.third, &t.second, 2);
        CHECK_IS(resume(&t, &t.third), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_release(&t.third), ZKL_DO_REMOVE);
        CHECK_IS(zkl_claim_removed(&t.third, ZKL_DONE), ZKL_DO_FORGET);
        CHECK(!zkl_line_find(&t.s.line, t.third.name));
        end(&t);
    }
    TEST("the heir answers for the node: it is no orphan") {
        reach_first(&t, 3);
        LINE(&t.s, AHEAD);
        LINE(&t.s, t.second.name);
        CHECK(!zkl_line_orphan(&t.s.line, SESSION));
        end(&t);
    }
    TEST("when the clock is not certain the heir proves first that the session lives") {
        hold(&t, 3);
        t.s.now += T * 6 / 10;
        scene_release(&t.s);
        CHECK_IS(resume(&t, &t.second), ZKL_DO_SYNC);
        CHECK_IS(t.second.state, ZKL_PROVE);
        scene_prove(&t.s);
        CHECK_IS(zkl_claim_synced(&t.second, ZKL_DONE, t.s.now), ZKL_DO_GRANT);
        end(&t);
    }
    TEST("what landed late is looked for by the one who removes the node") {
        hold(&t, 2);
        t.s.claim.doubted = true; /* as after RECOVER_SYNC */
        CHECK_IS(scene_release(&t.s), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&t.second, &t.s.claim, 1);
        resume(&t, &t.second);
        resume(&t, &t.third);
        CHECK_IS(zkl_claim_release(&t.second), ZKL_DO_REMOVE | ZKL_DO_LIST);
        end(&t);
    }
    TEST("a holder that a list did not show gives its node to nobody") {
        hold(&t, 3);
        LINE(&t.s, AHEAD);
        CHECK_IS(scene_release(&t.s), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.second), ENTERS);
        CHECK_IS(resume(&t, &t.third), 0);
        end(&t);
    }
}

static void without_connection(void) {
    struct turns t;
    TEST("released without a connection, the heir lists before it holds") {
        hold(&t, 3);
        t.s.claim.doubted = true;
        scene_cut(&t.s);
        CHECK_IS(scene_release(&t.s), ZKL_DO_FORGET);
        check_heir(&t.second, &t.s.claim, 1);
        t.s.common.clock.connected = true;
        CHECK_IS(resume(&t, &t.second), ZKL_DO_LIST);
        CHECK_IS(resume(&t, &t.third), 0);
        LINE(&t.s, t.second.name);
        CHECK_IS(zkl_claim_listed(&t.second, ZKL_DONE, ZKL_OK, t.s.now), ZKL_DO_GRANT);
        CHECK_IS(zkl_claim_token(&t.second), 1042 * ZKL_BATCH_MAX + 1);
        end(&t);
    }
    TEST("released without a connection, with no heir, nothing is asked for yet") {
        reach(&t, ZKL_HELD, 1);
        t.s.claim.doubted = true;
        follow(&t, &t.second);
        scene_cut(&t.s);
        CHECK_IS(scene_release(&t.s), 0);
        CHECK_IS(scene_resume(&t.s), ZKL_DO_REMOVE);
        end(&t);
    }
    TEST("an heir that loses the connection before it is asked lists, too") {
        reach_first(&t, 3);
        t.s.common.clock.connected = false;
        CHECK_IS(zkl_claim_suspend(&t.second), 0);
        CHECK_IS(t.second.state, ZKL_LIST);
        t.s.common.clock.connected = true;
        CHECK_IS(resume(&t, &t.second), ZKL_DO_LIST);
        end(&t);
    }
    TEST("a node that went meanwhile is never granted; the next one counts from 0") {
        hold(&t, 3);
        scene_cut(&t.s);
        scene_release(&t.s);
        t.s.common.clock.connected = true;
        resume(&t, &t.second);
        LINE(&t.s, AHEAD);
        CHECK_IS(zkl_claim_listed(&t.second, ZKL_DONE, ZKL_OK, t.s.now), ENTERS);
        CHECK_IS(t.second.served, 0);
        CHECK(t.second.nonce != t.s.claim.nonce);
        CHECK_IS(resume(&t, &t.third), 0);
        end(&t);
    }
}

/* --- the end of a batch --------------------------------------------------------------------- */

static void batch_ends(void) {
    struct turns t;
    TEST("with the last grant of a batch the next one enters, behind whoever came") {
        hold(&t, 2);
        scene_release(&t.s);
        CHECK_IS(resume(&t, &t.second), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.third), ENTERS);
        CHECK_IS(zkl_claim_release(&t.second), ZKL_DO_REMOVE);
        CHECK(t.third.nonce != t.second.nonce && !t.third.served);
        end(&t);
    }
    TEST("a batch of one hands nothing on") {
        begin(&t, 1);
        scene_start(&t.s);
        scene_created(&t.s, 42, 1042);
        CHECK_IS(follow(&t, &t.second), ZKL_DO_QUEUED);
        CHECK_IS(LISTED(&t.s, t.s.claim.name), ZKL_DO_GRANT | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.second), ENTERS);
        follow(&t, &t.third);
        CHECK_IS(scene_release(&t.s), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.third), 0);
        CHECK_IS(scene_removed(&t.s, ZKL_DONE), ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        end(&t);
    }
    TEST("who comes alone is told nothing of others") {
        begin(&t, 1);
        scene_start(&t.s);
        scene_created(&t.s, 42, 1042);
        CHECK_IS(LISTED(&t.s, t.s.claim.name), ZKL_DO_GRANT);
        CHECK_IS(scene_release(&t.s), ZKL_DO_REMOVE);
        CHECK_IS(scene_removed(&t.s, ZKL_DONE), ZKL_DO_FORGET);
        end(&t);
    }
    TEST("an earlier one that has a node of its own is not passed over") {
        reach(&t, ZKL_HELD, 3);
        join(&t, &t.second, 3, true);
        CHECK(zkl_line_replace(&t.s.line, NULL, 0)); /* as that try saw it */
        CHECK_IS(zkl_claim_listed(&t.second, ZKL_DONE, ZKL_OK, t.s.now), ENTERS);
        zkl_claim_created(&t.second, ZKL_DONE, ZKL_OK, scene_name_of(&t.second, 43), 1043);
        LINE(&t.s, t.s.claim.name, t.second.name);
        follow(&t, &t.third);
        CHECK_IS(scene_release(&t.s), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.third), 0);
        CHECK_IS(t.third.state, ZKL_NEW);
        end(&t);
    }
}

static void yielding(void) {
    struct turns t;
    TEST("who yields keeps its token, lets the next one enter, and hands nothing on") {
        hold(&t, 3);
        int64_t token = zkl_claim_token(&t.s.claim);
        CHECK_IS(zkl_claim_yield(&t.s.claim), ZKL_DO_FOLLOW);
        CHECK(zkl_claim_holds(&t.s.claim));
        CHECK_IS(zkl_claim_token(&t.s.claim), token);
        CHECK_IS(resume(&t, &t.second), ENTERS);
        CHECK_IS(scene_release(&t.s), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.third), 0);
        end(&t);
    }
    TEST("later in a batch, too") {
        hold(&t, 4);
        scene_release(&t.s);
        resume(&t, &t.second);
        CHECK_IS(zkl_claim_yield(&t.second), ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_release(&t.second), ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_token(&t.second), 1042 * ZKL_BATCH_MAX + 1);
        end(&t);
    }
    TEST("with nobody there it says nothing, but who comes then enters") {
        reach(&t, ZKL_HELD, 3);
        CHECK_IS(zkl_claim_yield(&t.s.claim), 0);
        CHECK_IS(follow(&t, &t.second), ENTERS);
        end(&t);
    }
    TEST("only a holder that has a batch may") {
        for (int state = ZKL_NEW; state <= ZKL_GONE; state++) {
            bool holds = state == ZKL_HELD;
            reach(&t, (enum zkl_claim_state)state, holds ? 0 : 3);
            join(&t, &t.second, 3, false);
            CHECK_IS(zkl_claim_yield(&t.s.claim), 0);
            CHECK_IS(t.s.claim.batch, holds ? 0 : 3);
            end(&t);
        }
    }
}

/* --- who gives up --------------------------------------------------------------------------- */

static void giving_up(void) {
    struct turns t;
    TEST("who gives up on its way hands its place on; the heir looks where that is") {
        for (int state = ZKL_RECOVER_STAT; state <= ZKL_PROVE; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach(&t, (enum zkl_claim_state)state, 3);
            follow(&t, &t.second);
            follow(&t, &t.third);
            CHECK_IS(scene_cancel(&t.s, ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
            CHECK_IS(t.s.claim.code, ZKL_TIMEOUT);
            check_heir(&t.second, &t.s.claim, 0);
            CHECK_IS(t.second.state, ZKL_LIST);
            CHECK_IS(resume(&t, &t.second), ZKL_DO_LIST);
            CHECK_IS(resume(&t, &t.third), 0);
            end(&t);
        }
    }
    TEST("so does an heir that is not asked yet, with what was served") {
        reach_first(&t, 3);
        CHECK_IS(zkl_claim_cancel(&t.second, ZKL_TIMEOUT),
                 ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        check_heir(&t.third, &t.second, 1);
        CHECK_IS(resume(&t, &t.third), ZKL_DO_LIST);
        LINE(&t.s, t.third.name);
        CHECK_IS(zkl_claim_listed(&t.third, ZKL_DONE, ZKL_OK, t.s.now), ZKL_DO_GRANT);
        end(&t);
    }
    TEST("a place that was handed on in the last turn of a batch is no turn more") {
        reach_first(&t, 2);
        zkl_claim_cancel(&t.second, ZKL_TIMEOUT);
        check_heir(&t.third, &t.second, 1);
        CHECK_IS(t.third.state, ZKL_LIST);
        end(&t);
    }
    TEST("an heir whose place is behind another waits there") {
        reach(&t, ZKL_WAIT, 3);
        follow(&t, &t.second);
        scene_cancel(&t.s, ZKL_TIMEOUT);
        resume(&t, &t.second);
        LINE(&t.s, AHEAD, t.second.name);
        CHECK_IS(zkl_claim_listed(&t.second, ZKL_DONE, ZKL_OK, t.s.now),
                 ZKL_DO_WATCH_OWN | ZKL_DO_WATCH_AHEAD);
        end(&t);
    }
    TEST("an heir of a node whose czxid is not known asks for it") {
        reach(&t, ZKL_RECOVER_STAT, 3);
        follow(&t, &t.second);
        scene_cancel(&t.s, ZKL_TIMEOUT);
        resume(&t, &t.second);
        CHECK_IS(zkl_claim_listed(&t.second, ZKL_DONE, ZKL_OK, t.s.now), ZKL_DO_WATCH_OWN);
        CHECK_IS(t.second.state, ZKL_RECOVER_STAT);
        end(&t);
    }
    TEST("with nobody to have it the node is removed") {
        reach(&t, ZKL_WAIT, 3);
        CHECK_IS(scene_cancel(&t.s, ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_REMOVE);
        end(&t);
    }
    TEST("who gives up before it knows its node lets the next one go on by itself") {
        for (int state = ZKL_CREATE; state <= ZKL_RECOVER_LIST; state++) {
            CHECK_CASE("%s", scene_states[state]);
            reach(&t, (enum zkl_claim_state)state, 3);
            follow(&t, &t.second);
            CHECK_IS(scene_cancel(&t.s, ZKL_TIMEOUT), ZKL_DO_FAIL | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&t, &t.second), ENTERS);
            end(&t);
        }
    }
    TEST("who gives up while it follows leaves nothing; the others wait on") {
        hold(&t, 3);
        CHECK_IS(zkl_claim_cancel(&t.second, ZKL_TIMEOUT),
                 ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.third), 0);
        scene_release(&t.s);
        check_heir(&t.third, &t.s.claim, 1);
        end(&t);
    }
}

/* --- what ends without being given up -----------------------------------------------------------
 */

static void ends(void) {
    struct turns t;
    TEST("a holder that the clock ends, or whose node is gone, lets the next one enter") {
        for (int deleted = 0; deleted < 2; deleted++) {
            hold(&t, 3);
            if (deleted)
                CHECK_IS(scene_did(&t.s, zkl_claim_own_deleted(&t.s.claim)),
                         ZKL_DO_LOSE | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
            else CHECK_IS(scene_tick(&t.s, 2 * T), ZKL_DO_LOSE | ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
            CHECK_IS(resume(&t, &t.second), ENTERS);
            CHECK_IS(resume(&t, &t.third), 0);
            end(&t);
        }
    }
    TEST("a waiter whose node is gone enters again, for all") {
        reach(&t, ZKL_WAIT, 3);
        follow(&t, &t.second);
        CHECK_IS(scene_did(&t.s, zkl_claim_own_deleted(&t.s.claim)), ENTERS);
        CHECK_IS(resume(&t, &t.second), 0);
        end(&t);
    }
    TEST("what is refused to one is no answer to the next, which asks for itself") {
        reach(&t, ZKL_LIST, 3);
        follow(&t, &t.second);
        CHECK_IS(scene_list_fails(&t.s, ZKL_REFUSED, ZKL_AUTH),
                 ZKL_DO_FAIL | ZKL_DO_REMOVE | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.second), ENTERS);
        end(&t);
    }
    TEST("the end of the session ends all of them") {
        hold(&t, 3);
        zkl_clock_stop(&t.s.common.clock);
        CHECK_IS(zkl_claim_expire(&t.s.claim), ZKL_DO_LOSE | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(resume(&t, &t.second) | resume(&t, &t.third), 0);
        CHECK_IS(zkl_claim_expire(&t.second), ZKL_DO_FAIL | ZKL_DO_FORGET | ZKL_DO_FOLLOW);
        CHECK_IS(zkl_claim_expire(&t.third), ZKL_DO_FAIL | ZKL_DO_FORGET);
        end(&t);
    }
}

/* --- tokens -------------------------------------------------------------------------------- */

static void tokens(void) {
    struct turns t;
    TEST("tokens grow from grant to grant of a node") {
        hold(&t, 3);
        CHECK_IS(zkl_claim_token(&t.s.claim), 1042 * ZKL_BATCH_MAX);
        scene_release(&t.s);
        resume(&t, &t.second);
        CHECK_IS(zkl_claim_token(&t.second), 1042 * ZKL_BATCH_MAX + 1);
        end(&t);
    }
    TEST("without a batch the czxid is the token") {
        reach(&t, ZKL_HELD, 0);
        CHECK_IS(zkl_claim_token(&t.s.claim), 1042);
        end(&t);
    }
    TEST("a czxid that is too large for tokens of batches is refused, to them only") {
        for (int i = 0; i < 3; i++) {
            begin(&t, i < 2 ? ZKL_BATCH_MAX : 0);
            scene_start(&t.s);
            scene_created(&t.s, 42, ZKL_BATCH_CZXID_MAX + (i > 0));
            zkl_actions did = LISTED(&t.s, t.s.claim.name);
            CHECK_IS(did, i == 1 ? ZKL_DO_FAIL | ZKL_DO_REMOVE : ZKL_DO_GRANT);
            CHECK_IS(t.s.claim.code, i == 1 ? ZKL_UNSUPPORTED : ZKL_OK);
            t.s.claim.served = ZKL_BATCH_MAX - 1;
            if (i == 0) CHECK_IS(zkl_claim_token(&t.s.claim), INT64_MAX);
            end(&t);
        }
    }
}

int main(void) {
    following();
    not_following();
    handing_over();
    without_connection();
    batch_ends();
    yielding();
    giving_up();
    ends();
    tokens();
    return check_report();
}
