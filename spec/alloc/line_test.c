/*
 * line_test.c - src/core without memory. A list that cannot be taken leaves the line as it was.
 * Wraps calloc, the core's only allocation. AddressSanitizer fails on leaks.
 */
#include <stdlib.h>

#include "check.h"
#include "claim.h"

#define FIRST "_c_11111111-2222-3333-4444-555555555555-lock-0000000041"
#define SECOND "_c_66666666-7777-8888-9999-000000000000-__WRIT__0000000042"
#define THIRD "_c_66666666-7777-8888-9999-000000000001-__READ__0000000043"
#define LIMITED "_c_11111111-2222-3333-4444-555555555556-lock-2147483647"
#define COUNT(names) (sizeof(names) / sizeof *(names))

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static int countdown; /* the allocation that fails; 0: none */

void *__wrap_calloc(size_t count, size_t size) {
    if (countdown > 0 && --countdown == 0) return NULL;
    return __real_calloc(count, size);
}

/* Makes a line of two contenders, one with a czxid. A list is due before the next grant. */
static void open_line(struct zkl_line *line) {
    static const char *const names[] = {FIRST, "no contender", SECOND};
    static struct zkl_common common;
    *line = (struct zkl_line){.common = &common};
    CHECK(zkl_line_replace(line, names, COUNT(names)));
    line->contenders[0]->czxid = 1041;
    line->incomplete = true;
}

static void check_line(const struct zkl_line *line, const struct zkl_contender *kept) {
    CHECK_IS(line->count, 2);
    CHECK_IS(line->serial, 1);
    CHECK(line->incomplete && !line->exhausted);
    CHECK(line->contenders[0] == kept && kept->listed);
    CHECK_TEXT(kept->name, FIRST);
    CHECK_IS(kept->czxid, 1041);
    CHECK_IS(kept->references, 1);
    CHECK_TEXT(line->contenders[1]->name, SECOND);
    CHECK_IS(line->contenders[1]->references, 1);
}

/* Takes a list with an old contender, a new one, and one with the counter's last number. */
static bool replace(struct zkl_line *line) {
    static const char *const names[] = {LIMITED, FIRST, THIRD};
    return zkl_line_replace(line, names, COUNT(names));
}

int main(void) {
    int failures = 0;
    TEST("a list that lacks memory leaves the line as it was") {
        struct zkl_line line;
        for (;;) {
            open_line(&line);
            CHECK_CASE("allocation %d", failures + 1);
            countdown = failures + 1;
            bool replaced = replace(&line);
            if (replaced) break;
            check_line(&line, line.contenders[0]);
            failures++;
            zkl_line_clear(&line);
        }
        CHECK_IS(countdown, 1); /* the allocation was not reached */
        countdown = 0;
        CHECK_IS(line.count, 3);
        zkl_line_clear(&line);
    }
    TEST("each allocation failed once: of the array, and of both new contenders") {
        CHECK_IS(failures, 3);
    }
    TEST("a list that lacked memory is taken when there is memory again") {
        struct zkl_line line;
        open_line(&line);
        countdown = 2;
        CHECK(!replace(&line));
        CHECK(replace(&line));
        CHECK(line.exhausted && !line.incomplete);
        CHECK_IS(zkl_line_find(&line, FIRST)->czxid, 1041);
        CHECK(!zkl_line_find(&line, SECOND));
        zkl_line_clear(&line);
    }
    return check_report();
}
