/*
 * name_tail.c - the end of a name, which makes it a contender's. Any string is read safely, and an
 * accepted one has a number in range, a kind, and permits from 1 to their limit. The text before
 * the longest tail does not matter (name_uuid.c has that).
 *
 * Bounds:
 *   counter and marker    all strings to LONGEST: the longest marker, and "-" with ten digits
 *   permits               all strings to MOST: "permit-", ten digits, "-of-", ten digits, "-", and
 *                         a character too much
 *
 * cbmc: --unwind 34
 */
#include "../../src/core/name.c"

#include "any.h"

enum { LONGEST = 20, MOST = 33 };

static void show_permits(void) {
    char text[MOST];
    struct zkl_name name;
    size_t length = nondet_size();
    ASSUME(length <= MOST);
    if (!parse_permits(text, length, &name)) return;
    SHOW(name.kind == ZKL_PERMIT, "a name with permits is of that kind");
    SHOW(name.permits >= 1 && name.permits <= name.limit, "permits are from 1 to the limit");
    SHOW(length >= 14 && memcmp(text + length - 1, "-", 1) == 0, "permits end in a dash");
}

static void show_counter(void) {
    char text[LONGEST];
    struct zkl_name name;
    size_t length = nondet_size(), digits = nondet_bool() ? 10 : 9;
    bool negative = digits == 9 || nondet_bool();
    ASSUME(length <= LONGEST);
    if (!parse_counter(text, length, digits, negative, &name)) return;
    SHOW(name.kind >= ZKL_MUTEX && name.kind <= ZKL_PERMIT && name.kind != ZKL_UNFAIR,
         "a contender has a kind that queues");
    SHOW(negative ? name.sequence <= 0 && name.sequence >= -ZKL_SEQUENCE_LIMIT : name.sequence >= 0,
         "the number has the sign that it is written with");
    for (size_t i = length - digits; i < length; i++)
        SHOW(is_digit(text[i]), "the name ends in digits");
    if (name.kind != ZKL_PERMIT)
        SHOW(name.permits == 0 && name.limit == 0, "only permits have permits");
}

int main(void) {
    show_permits();
    show_counter();
    return 0;
}
