/* hash_test.c - the hash of http://www.isthe.com/chongo/tech/comp/fnv/, by the page's vectors. */
#include "../../src/core/hash.h"
#include "check.h"

int main(void) {
    TEST("texts have the hashes that FNV-1a gives them") {
        CHECK_IS(zkl_hash("", 0), 0x811c9dc5);
        CHECK_IS(zkl_hash("a", 1), 0xe40c292c);
        CHECK_IS(zkl_hash("b", 1), 0xe70c2de5);
        CHECK_IS(zkl_hash("foobar", 6), 0xbf9cf968);
    }
    return check_report();
}
