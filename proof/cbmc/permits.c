/*
 * permits.c - a semaphore. All claims that fit at once, each by its own session's list, have at
 * most the limit. A claim that fits still fits when contenders ahead go and others come behind.
 *
 * A session's list may have dead contenders and lack new ones. It has all living ones ahead of the
 * session's claim (line.h says why).
 *
 * Bounds:
 *   contenders   COUNT: holders, a waiter, and a dead one
 *   permits      from 1 to the limit, which is any above 0
 *   order        by numbers, or by known czxids
 *
 * cbmc: --unsigned-overflow-check --pointer-overflow-check --unwind 5
 */
#include "../../src/core/permits.c"
#include "../../src/core/line.c"

#include "any.h"

#ifndef COUNT
#define COUNT 4
#endif

static struct zkl_contender *contenders[COUNT]; /* in order */
static int32_t limit;
static bool exhausted;

static void make_contenders(void) {
    limit = nondet_int32();
    exhausted = nondet_bool();
    ASSUME(limit >= 1);
    for (int i = 0; i < COUNT; i++) {
        contenders[i] = malloc(sizeof(struct zkl_contender));
        ASSUME(contenders[i]);
        contenders[i]->permits = nondet_int32();
        contenders[i]->limit = limit;
        ASSUME(contenders[i]->permits >= 1 && contenders[i]->permits <= limit);
        contenders[i]->sequence = nondet_int32();
        contenders[i]->czxid = nondet_int64();
        ASSUME(!exhausted || contenders[i]->czxid > 0);
        if (i == 0) continue;
        ASSUME(exhausted || contenders[i - 1]->sequence < contenders[i]->sequence);
        ASSUME(!exhausted || contenders[i - 1]->czxid < contenders[i]->czxid);
    }
}

/* Lists the contenders in the bit set. */
static struct zkl_line list_of(struct zkl_contender **room, unsigned set) {
    struct zkl_line line = {.contenders = room, .exhausted = exhausted};
    for (int i = 0; i < COUNT; i++)
        if (set >> i & 1) room[line.count++] = contenders[i];
    return line;
}

static struct zkl_claim claim_of(int i) {
    struct zkl_claim claim = {.permits = contenders[i]->permits, .limit = limit};
    claim.node.sequence = contenders[i]->sequence;
    claim.node.czxid = contenders[i]->czxid;
    claim.node.name[0] = 'x';
    return claim;
}

/* A possible list of contender i's session, while the bits `there` live. */
static unsigned any_list(int i, unsigned there) {
    unsigned list = nondet_uint32(), ahead = (1u << i) - 1;
    ASSUME(list < 1u << COUNT);
    ASSUME((list & there & ahead) == (there & ahead));
    return list;
}

static void show_exclusion(void) {
    unsigned there = nondet_uint32();
    int64_t held = 0;
    ASSUME(there < 1u << COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct zkl_contender *room[COUNT];
        struct zkl_line line = list_of(room, any_list(i, there));
        struct zkl_claim claim = claim_of(i);
        bool fits = zkl_permits_fit(&line, &claim);
        if (there >> i & 1 && fits) held += claim.permits;
    }
    SHOW(held <= limit, "all that fit have no more than the limit");
}

/* For the last contender but one, with one behind it. */
static void show_one(void) {
    struct zkl_contender *room[COUNT], *fewer_room[COUNT];
    const int i = COUNT - 2, j = 0;
    unsigned there = nondet_uint32(), fewer = nondet_uint32();
    ASSUME(there < 1u << COUNT && fewer < 1u << COUNT);
    unsigned ahead = (1u << i) - 1;
    ASSUME((fewer & ahead & ~there) == 0); /* nobody comes ahead */
    struct zkl_claim claim = claim_of(i), first = claim_of(j);
    struct zkl_line line = list_of(room, there), later = list_of(fewer_room, fewer);
    bool fits = zkl_permits_fit(&line, &claim);
    SHOW(!fits || zkl_permits_fit(&later, &claim), "a claim that fits once fits for ever");
    SHOW(!fits || zkl_permits_all_ahead_hold(&line, &claim), "what fits is at the head");
    SHOW((there & ahead) != 0 || fits, "the first fits");
    if (!(there >> j & 1)) return;
    SHOW(!zkl_permits_needs_no_mark(&line, &first) || !(there >> i & 1),
         "a claim behind has seen it");
    SHOW(!zkl_permits_stranger(&line, &claim), "none is a stranger");
    contenders[j]->limit = nondet_int32();
    SHOW((zkl_permits_stranger(&line, &claim) == contenders[j]) == (contenders[j]->limit != limit),
         "a stranger ahead is found");
}

int main(void) {
    make_contenders();
    show_exclusion();
    show_one();
    return 0;
}
