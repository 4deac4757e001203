/*
 * line.c - the order of a line. Comparison is a total order, the line is exhausted when its numbers
 * do not show the order, and all questions about the order agree.
 *
 * Bounds:
 *   contenders   up to COUNT, of any number and kind; four (-DCOUNT=4) took 41 s
 *   names        of one character; otherwise only numbers differ
 *   list         sorted by the comparison, as by qsort()
 *   czxids       unknown, or known and different
 *
 * cbmc: --unwind 5
 */
#include "../../src/core/line.c"

#include "any.h"

#ifndef COUNT
#define COUNT 3
#endif

bool zkl_name_parse(const char *text, struct zkl_name *name) {
    (void)text;
    (void)name;
    return false;
}

static struct zkl_contender *any_contender(char name) {
    int kind = nondet_int();
    struct zkl_contender *contender = malloc(sizeof *contender + 2);
    ASSUME(contender);
    ASSUME(kind == ZKL_MUTEX || kind == ZKL_READ || kind == ZKL_WRITE || kind == ZKL_PERMIT);
    contender->kind = (enum zkl_kind)kind;
    contender->sequence = nondet_int32();
    contender->czxid = nondet_int64();
    contender->first_list = 1;
    contender->name[0] = name;
    contender->name[1] = '\0';
    ASSUME(contender->czxid >= 0);
    return contender;
}

static void show_comparison(void) {
    struct zkl_contender *a = any_contender(nondet_char()), *b = any_contender(nondet_char()),
                         *c = any_contender(nondet_char());
    int ab = compare_contenders(&a, &b), bc = compare_contenders(&b, &c);
    SHOW((ab < 0) == (compare_contenders(&b, &a) > 0), "a comparison says the same both ways");
    SHOW(ab >= 0 || bc >= 0 || compare_contenders(&a, &c) < 0, "the comparison is transitive");
    SHOW(ab != 0 || (a->sequence == b->sequence && a->name[0] == b->name[0]),
         "only contenders of one name are equal");
}

static bool is_pair(const struct zkl_contender *a, const struct zkl_contender *b) {
    return (a->kind == ZKL_READ) != (b->kind == ZKL_READ);
}

static bool do_numbers_tell(const struct zkl_line *line) {
    bool tell = true;
    for (size_t i = 0; i < line->count; i++) {
        const struct zkl_contender *here = line->contenders[i];
        if (here->sequence < 0 || here->sequence == INT32_MAX) tell = false;
        for (size_t j = 0; j < i; j++) {
            const struct zkl_contender *other = line->contenders[j];
            if (other->sequence == here->sequence && !is_pair(other, here)) tell = false;
        }
    }
    return tell;
}

/* The claim with this contender's node. */
static struct zkl_claim claim_of(struct zkl_line *line, const struct zkl_contender *own) {
    struct zkl_claim claim = {.line = line, .kind = own->kind};
    claim.node.sequence = own->sequence;
    claim.node.czxid = own->czxid;
    claim.node.list_serial = 1;
    claim.node.name[0] = own->name[0];
    return claim;
}

static void show_order(struct zkl_line *line, size_t i) {
    size_t ahead = 0;
    struct zkl_contender *own = line->contenders[i], *nearest = NULL;
    struct zkl_claim claim = claim_of(line, own);
    SHOW(zkl_line_own(&claim) == own, "a claim finds its own node");
    if (zkl_line_unranked(line, &claim, NULL)) return; /* it asks first */
    SHOW(!zkl_line_precedes(line, own, &claim), "no claim is ahead of itself");
    for (size_t j = 0; j < line->count; j++) {
        struct zkl_contender *other = line->contenders[j];
        struct zkl_claim of_other = claim_of(line, other);
        bool before = zkl_line_precedes(line, other, &claim);
        bool tied = !line->exhausted && own->sequence == other->sequence;
        SHOW(j == i || tied || before != zkl_line_precedes(line, own, &of_other),
             "of two contenders one is ahead");
        ahead += before;
        if (!before || !zkl_kinds_exclude(own->kind, other->kind)) continue;
        if (!nearest || !line->exhausted || other->czxid > nearest->czxid) nearest = other;
    }
    SHOW(zkl_line_count_ahead(line, &claim) == ahead, "those ahead are counted");
    SHOW(zkl_line_ahead(line, &claim) == nearest, "the nearest that excludes it is ahead");
    if (line->exhausted) return;
    struct zkl_contender *before = zkl_line_ahead_of(line, own);
    bool tied = before && before->sequence == own->sequence;
    SHOW(tied || before == nearest, "the nearest is also ahead of the claim's node");
}

int main(void) {
    struct zkl_contender *list[COUNT];
    struct zkl_line line = {.contenders = list, .count = nondet_size()};
    ASSUME(line.count <= COUNT);
    show_comparison();
    for (int i = 0; i < COUNT; i++) list[i] = any_contender((char)('a' + i));
    for (int i = 1; i < COUNT; i++) {
        ASSUME(compare_contenders(&list[i - 1], &list[i]) < 0);
        for (int j = 0; j < i; j++) ASSUME(list[i]->czxid == 0 || list[i]->czxid != list[j]->czxid);
    }
    line.exhausted = numbers_exhausted(&line);
    SHOW(line.exhausted == !do_numbers_tell(&line),
         "a line is exhausted when its numbers tell no order");
    for (size_t i = 0; i < COUNT; i++)
        if (i < line.count) show_order(&line, i);
    return 0;
}
