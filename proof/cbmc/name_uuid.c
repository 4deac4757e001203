/*
 * name_uuid.c - the beginning of a name. Any string is read safely, and only a mutex of ours tells
 * of its node's grants, in the nonce's first bits.
 *
 * Bounds:
 *   text      all strings to LONGEST: "_c_", 32 digits, five dashes, or more in their place
 *
 * cbmc: --unwind 42
 */
#include "../../src/core/name.c"

#include "any.h"

enum { LONGEST = 40 };

int main(void) {
    char text[LONGEST + 1];
    struct zkl_name name;
    int kind = nondet_int();
    text[LONGEST] = '\0';
    ASSUME(kind >= ZKL_MUTEX && kind <= ZKL_PERMIT);
    name.kind = (enum zkl_kind)kind;
    parse_uuid(text, &name);
    bool once = name.reuse == ZKL_ONE_GRANT;
    SHOW(once || name.kind == ZKL_MUTEX, "only a mutex serves several grants");
    SHOW(once || is_dashed(text + 3), "a mutex of several grants has a uuid written as ours");
    uint64_t told = name.nonce & (ZKL_NONCE_KEEPS | ZKL_NONCE_COUNTS);
    SHOW(name.reuse != ZKL_MAY_BE_KEPT || told == ZKL_NONCE_KEEPS,
         "the nonce says that it may be kept");
    SHOW(name.reuse != ZKL_MANY_GRANTS || told == ZKL_NONCE_COUNTS,
         "the nonce says that it counts");
    SHOW((name.session == 0 && name.nonce == 0) || strncmp(text, "_c_", 3) == 0,
         "without the prefix there is no session");
    return 0;
}
