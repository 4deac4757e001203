/* line_test.c - contenders that somebody refers to. claims/line.txt has the order of a line. */
#include "line.h"

#include "scene.h"

static void open_mutex(void) {
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
}

int main(void) {
    check_before(open_mutex);
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
    TEST("a node is found by its nonce only in the session that made it") {
        scene_start();
        LINE(AHEAD, scene_name(42));
        CHECK(zkl_line_find_nonce(&s.line, s.claim.node.nonce) != NULL);
        CHECK(!zkl_line_find_nonce(&s.line, s.claim.node.nonce + 1));
        s.common.session++;
        CHECK(!zkl_line_find_nonce(&s.line, s.claim.node.nonce));
    }
    return check_report();
}
