/*
 * line_test.c - the order of contenders. BUG-07 (order as text), BUG-12 (a predecessor that was
 * only waiting), Q-02.
 */
#include "line.h"

#include "scene.h"

#define FOREIGN(number) "_c_11111111-2222-3333-4444-5555555555" number

static void open_mutex(void) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
}

/* Gives the scene's claim the node `sequence`, as in the newest list. Returns the claim. */
static struct zkl_claim *give_place(int32_t sequence, int64_t czxid) {
    s.claim.node.sequence = sequence;
    s.claim.node.czxid = czxid;
    s.claim.node.list_serial = s.line.serial;
    return &s.claim;
}

static void set_czxid(const char *name, int64_t czxid) {
    struct zkl_contender *contender = zkl_line_find(&s.line, name);
    CHECK(contender != NULL);
    if (contender) contender->czxid = czxid;
}

static const char *name_ahead(void) {
    const struct zkl_contender *ahead = zkl_line_ahead(&s.line, &s.claim);
    return ahead ? ahead->name : "";
}

static void lists(void) {
    TEST("an empty list is a line without contenders") {
        CHECK(zkl_line_replace(&s.line, NULL, 0));
        CHECK_IS(s.line.count, 0);
        CHECK_IS(s.line.serial, 1);
        CHECK(!zkl_line_find(&s.line, AHEAD));
        CHECK(!zkl_line_ahead(&s.line, give_place(42, 1)));
    }
    TEST("children that are no contenders are ignored") {
        LINE("config", AHEAD, "-foreign", "ex0000000001", "lock-1", "x-1-0000000001");
        CHECK_IS(s.line.count, 1);
        CHECK_TEXT(s.line.contenders[0]->name, AHEAD);
        LINE("config");
        CHECK_IS(s.line.count, 0);
    }
    TEST("the line is sorted by number, whatever client made the node (BUG-07)") {
        LINE("zz__lock__0000000010", "lock-0000000009", "aa-lock-1000000000",
             "__rlock__0000000100");
        CHECK_TEXT(s.line.contenders[0]->name, "lock-0000000009");
        CHECK_TEXT(s.line.contenders[1]->name, "zz__lock__0000000010");
        CHECK_TEXT(s.line.contenders[2]->name, "__rlock__0000000100");
        CHECK_TEXT(s.line.contenders[3]->name, "aa-lock-1000000000");
        CHECK(!s.line.exhausted);
    }
    TEST("a contender keeps its czxid and the serial of its first list") {
        LINE(AHEAD);
        struct zkl_contender *ahead = s.line.contenders[0];
        ahead->czxid = 7;
        LINE(BEHIND, AHEAD);
        CHECK(s.line.contenders[0] == ahead);
        CHECK_IS(ahead->first_list, 1);
        CHECK_IS(s.line.contenders[1]->first_list, 2);
        CHECK_IS(ahead->czxid, 7);
    }
    TEST("a contender that is referred to outlives its line") {
        LINE(AHEAD);
        CHECK(s.other && s.other->listed);
        LINE(BEHIND);
        CHECK(!s.other->listed);
        zkl_line_forget(&s.line, s.other);
        CHECK_IS(s.line.count, 1);
        struct zkl_contender *behind = zkl_contender_ref(s.line.contenders[0]);
        s.line.path_exists = true;
        zkl_line_clear(&s.line);
        CHECK(!behind->listed && !s.line.path_exists);
        zkl_line_forget(&s.line, behind);
        CHECK_IS(s.line.count, 0);
        zkl_contender_unref(behind);
        zkl_line_clear(&s.line);
        CHECK_TEXT(s.other->name, AHEAD);
    }
    TEST("a contender of the old list is listed only if the new list has it") {
        LINE(AHEAD, "lock-0000000042", BEHIND);
        struct zkl_contender *old[3];
        for (int i = 0; i < 3; i++) old[i] = zkl_contender_ref(s.line.contenders[i]);
        LINE("lock-0000000042");
        for (int i = 0; i < 3; i++) {
            CHECK_IS(old[i]->listed, i == 1);
            zkl_contender_unref(old[i]);
        }
    }
    TEST("a line's serial grows with each list, and is never 0") {
        s.line.serial = UINT32_MAX;
        LINE(AHEAD);
        CHECK_IS(s.line.serial, 1);
    }
    TEST("a contender is forgotten once, and is not in the line then") {
        LINE(AHEAD, "lock-0000000042", BEHIND);
        zkl_line_forget(&s.line, s.other);
        zkl_line_forget(&s.line, s.other);
        CHECK_IS(s.line.count, 2);
        CHECK(!zkl_line_find(&s.line, AHEAD));
        CHECK(zkl_line_find(&s.line, "lock-0000000042") && zkl_line_find(&s.line, BEHIND));
    }
    TEST("a name is found only if it is the whole name") {
        LINE(AHEAD);
        CHECK(zkl_line_find(&s.line, AHEAD) != NULL);
        CHECK(!zkl_line_find(&s.line, "lock-0000000041"));
        CHECK(!zkl_line_find(&s.line, "lock-"));
        CHECK(!zkl_line_find(&s.line, ""));
    }
}

static void numbers(void) {
    TEST("the nearest smaller number is ahead, equal and larger numbers are not") {
        LINE("lock-0000000007", "lock-0000000040", "__READ__0000000042", BEHIND);
        give_place(42, 1042);
        CHECK_TEXT(name_ahead(), "lock-0000000040");
        CHECK_IS(zkl_line_count_ahead(&s.line, &s.claim), 2);
        give_place(7, 1007);
        CHECK_TEXT(name_ahead(), "");
        CHECK_IS(zkl_line_count_ahead(&s.line, &s.claim), 0);
        CHECK(!zkl_line_unranked(&s.line, &s.claim, NULL));
    }
    TEST("a reader with its writer's number is ahead of all contenders behind the writer") {
        scene_open(ZKL_WRITE, ZKL_NEVER, false);
        LINE(WRITER, scene_name(42));
        give_place(42, 1042);
        LINE(FOREIGN("aa") "-__READ__0000000041", scene_name(42));
        CHECK(!s.line.exhausted);
        CHECK_TEXT(name_ahead(), FOREIGN("aa") "-__READ__0000000041");
        LINE(FOREIGN("aa") "-__READ__0000000041", WRITER, scene_name(42));
        CHECK(!s.line.exhausted);
        CHECK_IS(zkl_line_count_ahead(&s.line, &s.claim), 2);
    }
    TEST("the last number in range still tells the order") {
        LINE("lock-0000000000", "lock-2147483646");
        CHECK(!s.line.exhausted);
        give_place(2147483646, 9);
        CHECK_TEXT(name_ahead(), "lock-0000000000");
    }
}

static const char *name_ahead_of_kind(enum zkl_kind kind) {
    s.claim.kind = kind;
    give_place(42, 1042);
    return name_ahead();
}

static void kinds(void) {
    TEST("a reader passes over readers, up to the nearest writer or mutex") {
        scene_open(ZKL_READ, ZKL_NEVER, false);
        LINE("lock-0000000007", "__WRIT__0000000008", "__READ__0000000009", "__rlock__0000000010");
        CHECK_TEXT(name_ahead_of_kind(ZKL_READ), "__WRIT__0000000008");
        CHECK_TEXT(name_ahead_of_kind(ZKL_WRITE), "__rlock__0000000010");
        CHECK_TEXT(name_ahead_of_kind(ZKL_MUTEX), "__rlock__0000000010");
        LINE("__READ__0000000007", "__READ__0000000009");
        CHECK_TEXT(name_ahead_of_kind(ZKL_READ), "");
    }
    TEST("a reader's predecessor is the nearest writer, if there is a writer") {
        LINE("r__READ__0000000002", "s__READ__0000000003");
        CHECK(!zkl_line_ahead_of(&s.line, s.line.contenders[0]));
        CHECK(!zkl_line_ahead_of(&s.line, s.line.contenders[1]));
        LINE("w__WRIT__0000000001", "r__READ__0000000002", "s__READ__0000000003",
             "t__READ__0000000004");
        CHECK(zkl_line_ahead_of(&s.line, s.line.contenders[3]) == s.line.contenders[0]);
    }
    TEST("a line is free for a reader if there are readers only, for others if it is empty") {
        LINE("config");
        for (int kind = ZKL_MUTEX; kind <= ZKL_WRITE; kind++)
            CHECK(zkl_line_is_free(&s.line, (enum zkl_kind)kind));
        LINE("__READ__0000000007", "__rlock__0000000009");
        CHECK(zkl_line_is_free(&s.line, ZKL_READ));
        CHECK(!zkl_line_is_free(&s.line, ZKL_WRITE) && !zkl_line_is_free(&s.line, ZKL_MUTEX));
        LINE("__READ__0000000007", "lock-0000000009");
        CHECK(!zkl_line_is_free(&s.line, ZKL_READ));
        LINE("__WRIT__0000000009");
        CHECK(!zkl_line_is_free(&s.line, ZKL_READ));
    }
}

static void exhausted(void) {
    static const char *const exhausting[][2] = {{"lock-0000000001", "lock-2147483647"},
                                                {"a-lock-2147483647", "b-lock-2147483647"},
                                                {"lock--2147483647", "lock-2147483646"},
                                                {"lock--000000001", "lock-0000000000"},
                                                {"a-lock-0000000007", "b-lock-0000000007"},
                                                {"__WRIT__0000000007", "a__WRIT__0000000007"},
                                                {"__READ__0000000007", "a__READ__0000000007"},
                                                {"lock-0000000001", "lock-9999999999"}};
    TEST("numbers out of range, negative or equal do not tell the order (Q-02)") {
        EACH(exhausting, i) {
            CHECK_CASE("%s %s", exhausting[i][0], exhausting[i][1]);
            scene_open(ZKL_MUTEX, ZKL_NEVER, false);
            scene_line(exhausting[i], 2);
            CHECK(s.line.exhausted);
        }
    }
    TEST("two writers of one number exhaust a line, even with a reader between them") {
        LINE("a__WRIT__0000000007", "b__READ__0000000007", "c__WRIT__0000000007");
        CHECK(s.line.exhausted);
    }
    TEST("a claim in an exhausted line needs the unknown czxids of its own list only") {
        LINE("a-lock-2147483647", "b-lock-2147483647", "c-lock-2147483647");
        give_place(INT32_MAX, 100);
        set_czxid("b-lock-2147483647", 100);
        LINE("a-lock-2147483647", "b-lock-2147483647", "c-lock-2147483647", "d-lock-2147483647");
        struct zkl_contender *first = zkl_line_unranked(&s.line, &s.claim, NULL);
        CHECK(first && strcmp(first->name, "a-lock-2147483647") == 0);
        struct zkl_contender *second = zkl_line_unranked(&s.line, &s.claim, first);
        CHECK(second && strcmp(second->name, "c-lock-2147483647") == 0);
        CHECK(!zkl_line_unranked(&s.line, &s.claim, second));
    }
    TEST("a claim that rechecks an exhausted line needs the czxid of its last contender, too") {
        LINE(AHEAD, BEHIND, "__lock__2147483647");
        give_place(42, 10)->recheck = true;
        CHECK(s.line.exhausted);
        struct zkl_contender *last = s.line.contenders[2];
        CHECK(zkl_line_unranked(&s.line, &s.claim, s.line.contenders[1]) == last);
    }
    TEST("the nearest smaller czxid is ahead in an exhausted line") {
        LINE("a-lock-2147483647", "b-lock-2147483647", "c-lock--2147483647", "lock-0000000001");
        give_place(INT32_MAX, 100);
        set_czxid("a-lock-2147483647", 101);
        set_czxid("b-lock-2147483647", 98);
        set_czxid("c-lock--2147483647", 99);
        set_czxid("lock-0000000001", 3);
        CHECK_TEXT(name_ahead(), "c-lock--2147483647");
        CHECK_IS(zkl_line_count_ahead(&s.line, &s.claim), 3);
    }
    TEST("a contender first listed after the claim's own list is behind it, without a get") {
        LINE("b-lock-2147483647");
        give_place(INT32_MAX, 100);
        set_czxid("b-lock-2147483647", 100);
        LINE("a-lock--2147483647", "b-lock-2147483647");
        CHECK(!zkl_line_unranked(&s.line, &s.claim, NULL));
        CHECK_TEXT(name_ahead(), "");
    }
    TEST("no node that may be kept is known to be first in an exhausted line") {
        LINE("_c_11111111-2222-3333-4000-000000000001-lock-0000000041");
        CHECK(zkl_line_first_keepable(&s.line) == s.line.contenders[0]);
        LINE("_c_11111111-2222-3333-4000-000000000001-lock-2147483647");
        CHECK(s.line.exhausted && !zkl_line_first_keepable(&s.line));
        s.line.exhausted = false;
        zkl_line_clear(&s.line);
        CHECK(!zkl_line_first_keepable(&s.line));
    }
    TEST("numbers tell the order again when those out of range are gone") {
        LINE("lock-0000000001", LIMITED);
        CHECK(s.line.exhausted);
        LINE("lock-0000000001", "lock-0000000002");
        CHECK(!s.line.exhausted);
    }
}

static void repeated(void) {
    TEST("a name that a list has twice is in the line once") {
        LINE(AHEAD, BEHIND, AHEAD, AHEAD, BEHIND);
        CHECK(s.line.count == 2);
        CHECK(!s.line.exhausted);
        LINE(BEHIND, AHEAD, AHEAD);
        CHECK(s.line.count == 2);
        CHECK(zkl_line_find(&s.line, AHEAD) == s.line.contenders[0]);
    }
    TEST("a repeated name needs only one get of its czxid") {
        scene_enter(ZKL_MUTEX);
        scene_created(42, 1042);
        CHECK_IS(LISTED(LIMITED, s.claim.node.name, AHEAD, LIMITED, AHEAD), ZKL_DO_RANK);
        struct zkl_contender *first = zkl_line_unranked(&s.line, &s.claim, NULL);
        struct zkl_contender *second = zkl_line_unranked(&s.line, &s.claim, first);
        CHECK(first && second && first != second);
        CHECK(!zkl_line_unranked(&s.line, &s.claim, second));
    }
}

static void orphans(void) {
    TEST("a node of this session without a claim is an orphan; a foreign one never") {
        scene_enter(ZKL_MUTEX);
        const char *own = scene_name(42);
        LINE(AHEAD, own, BEHIND);
        CHECK(!zkl_line_orphan(&s.line));
        CHECK(zkl_line_find_nonce(&s.line, s.claim.node.nonce) != NULL);
        CHECK(!zkl_line_find_nonce(&s.line, s.claim.node.nonce + 1));
        s.common.session++;
        CHECK(!zkl_line_find_nonce(&s.line, s.claim.node.nonce));
        s.common.session--;
        s.claim.node.nonce += 7;
        LINE(AHEAD, scene_name(44), BEHIND);
        CHECK(!zkl_line_orphan(&s.line));
        s.claim.node.nonce += 7;
        const struct zkl_contender *orphan = zkl_line_orphan(&s.line);
        CHECK(!orphan); /* a claim had it when it was first listed */
        LINE(AHEAD, "_c_10000000-0000-0abc-0000-000000000063-lock-0000000050");
        orphan = zkl_line_orphan(&s.line);
        CHECK(orphan && orphan->nonce == 0x63);
        s.common.session++;
        CHECK(!zkl_line_orphan(&s.line));
    }
    TEST("an orphan that a lagging list hides is not found a second time") {
        const char *name = "_c_10000000-0000-0abc-0000-000000000063-lock-0000000050";
        LINE(AHEAD, name);
        zkl_claim_init(&s.second, &s.line, ZKL_MUTEX, ZKL_NEVER, false);
        struct zkl_contender *orphan = zkl_line_orphan(&s.line);
        orphan->czxid = 1050;
        zkl_claim_adopt(&s.second, orphan);
        CHECK_IS(s.second.node.sequence, 50);
        CHECK_IS(s.second.node.czxid, 1050);
        LINE(AHEAD);
        LINE(AHEAD, name);
        CHECK(!zkl_line_orphan(&s.line));
    }
    TEST("a line may have others if it shows another session's contender, or has changed") {
        CHECK(!zkl_line_may_have_others(&s.line));
        LINE(AHEAD);
        CHECK(zkl_line_may_have_others(&s.line));
        scene_enter(ZKL_MUTEX);
        scene_created(42, 1042);
        LINE(s.claim.node.name);
        CHECK(!zkl_line_may_have_others(&s.line));
        s.line.changed = true;
        CHECK(zkl_line_may_have_others(&s.line));
        zkl_line_clear(&s.line);
        CHECK(!zkl_line_may_have_others(&s.line));
    }
    TEST("a name longer than ours is not this session's, whatever its uuid says") {
        const char *name = "_c_10000000-0000-0abc-0000-000000000063"
                           "-a-name-that-none-of-our-attempts-can-have-lock-0000000050";
        LINE(name);
        CHECK(s.line.count == 1);
        CHECK(!zkl_line_orphan(&s.line));
        CHECK(!zkl_line_find_nonce(&s.line, 0x63));
        s.common.session = 1;
        CHECK(!zkl_line_orphan(&s.line));
    }
    TEST("no node is an orphan without a session, not even if its name tells no session") {
        LINE("0123456789abcdef0123456789abcdef__lock__0000000007");
        s.common.session = 0;
        CHECK(!zkl_line_orphan(&s.line));
    }
}

/* The line's claims in order, as the digits of their deadlines. */
static int64_t claims_of(const struct zkl_line *line) {
    int64_t digits = 0;
    for (const struct zkl_claim *claim = line->claims; claim; claim = claim->next)
        digits = digits * 10 + claim->deadline;
    return digits;
}

static void claims(void) {
    struct zkl_claim claim[5];
    TEST("a line keeps its claims in order of arrival, whichever claim goes") {
        struct zkl_line line = {0};
        for (int i = 1; i <= 4; i++) zkl_claim_init(&claim[i], &line, ZKL_MUTEX, i, false);
        CHECK_IS(claims_of(&line), 1234);
        zkl_claim_detach(&claim[1]);
        CHECK_IS(claims_of(&line), 234);
        zkl_claim_detach(&claim[3]);
        CHECK_IS(claims_of(&line), 24);
        zkl_claim_detach(&claim[4]);
        CHECK_IS(claims_of(&line), 2);
        zkl_claim_init(&claim[0], &line, ZKL_MUTEX, 5, false);
        CHECK_IS(claims_of(&line), 25);
        zkl_claim_detach(&claim[2]);
        zkl_claim_detach(&claim[0]);
        CHECK(!line.claims && line.claims_end == &line.claims);
    }
}

int main(void) {
    check_before(open_mutex);
    lists();
    claims();
    numbers();
    kinds();
    exhausted();
    repeated();
    orphans();
    return check_report();
}
