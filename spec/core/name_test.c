/* name_test.c - names that are read, by the script name.txt (script.h), and names that are written.
 */
#include "name.h"

#include <stdlib.h>

#include "script.h"

#define UUID "_c_550e8400-e29b-41d4-a716-446655440000-"
#define HEX "550e8400e29b41d4a716446655440000"
#define SESSION UINT64_C(0x550e8400e29b41d4)
#define NONCE UINT64_C(0xa716446655440000)

/* --- spec/core/name.txt ----------------------------------------------------------------------- */

/* Writes the name with `{uuid}` and `{hex}` replaced. */
static void expand(char *name, const char *text) {
    static const struct { const char *word, *with; } parts[] = {{"{uuid}", UUID}, {"{hex}", HEX}};
    *name = '\0';
    while (*text) {
        const char *part = NULL;
        EACH(parts, i) {
            size_t length = strlen(parts[i].word);
            if (!part && strncmp(text, parts[i].word, length) == 0) {
                part = parts[i].with;
                text += length;
            }
        }
        if (part) strcat(name, part);
        else strncat(name, text++, 1);
    }
}

static void say_name(const struct zkl_name *name) {
    static const char *const reuses[] = {"", " counts", " kept"};
    script_say("%s %" PRId32, zkl_kind_names[name->kind], name->sequence);
    if (name->permits || name->limit)
        script_say(" %" PRId32 " of %" PRId32, name->permits, name->limit);
    if (name->session == SESSION && name->nonce == NONCE) script_say(" uuid");
    else if (name->session || name->nonce) script_say(" another uuid");
    script_say("%s", reuses[name->reuse]);
}

/* read <name>...: says what each name tells; ignore <name>...: says the contenders among them */
static void script_play(const char *who) {
    (void)who;
    if (!is(0, "read") && !is(0, "ignore")) wrong = "there is no such step";
    for (size_t i = 1; i < words && !wrong; i++) {
        char text[SCRIPT_LINE];
        struct zkl_name name;
        memset(&name, 0xff, sizeof name); /* as after an earlier name */
        expand(text, word[i]);
        bool is_contender = zkl_name_parse(text, &name);
        if (is(0, "ignore") && !is_contender) continue;
        if (*script_outcome) script_say(", ");
        if (is_contender) say_name(&name);
        else script_say("none");
    }
}

static void script_begin(void) {}

/* --- other tests ------------------------------------------------------------------------------ */

static void others(void) {
    struct zkl_name name;
    TEST("a number that says nothing about the order is exhausted") {
        CHECK(!zkl_sequence_exhausted(0) && !zkl_sequence_exhausted(2147483646));
        CHECK(zkl_sequence_exhausted(INT32_MAX) && zkl_sequence_exhausted(-1));
        CHECK(zkl_sequence_exhausted(INT32_MIN));
    }
    TEST("a name with a space instead of a digit is ignored, and so is the empty name") {
        CHECK(!zkl_name_parse("", &name) && !zkl_name_parse("lock- 000000042", &name));
        CHECK(!zkl_name_parse("lock-0000000042 ", &name));
        CHECK(zkl_name_parse("a lock-0000000042", &name));
    }
}

/* Writes and reads a name with these bits in its nonce. */
static struct zkl_name read_nonce(uint64_t bits) {
    struct zkl_name name = {0};
    char text[ZKL_NAME_SIZE];
    zkl_name_prefix(text, ZKL_MUTEX, 7, 9 | bits);
    strcat(text, "0000000041");
    CHECK(zkl_name_parse(text, &name));
    CHECK_IS(name.nonce, 9 | bits);
    return name;
}

static void nonces(void) {
    TEST("a node with tokens that count its grants says so in its nonce, unless it may be kept") {
        const uint64_t keeps = ZKL_NONCE_KEEPS, counts = ZKL_NONCE_COUNTS;
        CHECK_IS(read_nonce(0).reuse, ZKL_ONE_GRANT);
        CHECK_IS(read_nonce(counts).reuse, ZKL_MANY_GRANTS);
        CHECK_IS(read_nonce(keeps).reuse, ZKL_MAY_BE_KEPT);
        CHECK_IS(read_nonce(keeps | counts).reuse, ZKL_ONE_GRANT);
    }
}

static void lengths(void) {
    enum { LONG = 1 << 20 };
    struct zkl_name name;
    TEST("a very long name is read like a short one") {
        char *text = malloc(LONG + 64);
        CHECK(text != NULL);
        if (text) {
            memset(text, 'a', LONG);
            strcpy(text + LONG, "-lock-0000000042");
            CHECK(zkl_name_parse(text, &name));
            CHECK_IS(name.sequence, 42);
            memset(text, '0', LONG);
            strcpy(text + LONG, "0000000042");
            CHECK(!zkl_name_parse(text, &name));
            memset(text, '-', LONG);
            memcpy(text, "_c_", 3);
            strcpy(text + LONG, "lock-0000000042");
            CHECK(zkl_name_parse(text, &name));
            CHECK_IS(name.session, 0);
        }
        free(text);
    }
    TEST("every beginning of a name is read within its bounds") {
        static const char whole[] = UUID "__WRIT__-2147483647";
        for (size_t length = 0; length < sizeof whole; length++) {
            char *text = calloc(length + 1, 1);
            CHECK(text != NULL);
            if (!text) continue;
            memcpy(text, whole, length);
            zkl_name_parse(text, &name);
            free(text);
        }
    }
}

static void writing(void) {
    char text[2 * ZKL_NAME_SIZE];
    struct zkl_name name;
    TEST("our names are Curator's, with session and nonce as the uuid") {
        zkl_name_prefix(text, ZKL_MUTEX, SESSION, NONCE);
        CHECK_TEXT(text, UUID "lock-");
        CHECK(!zkl_name_parse(text, &name));
        zkl_name_prefix(text, ZKL_READ, SESSION, NONCE);
        CHECK_TEXT(text, UUID "__READ__");
        zkl_name_prefix(text, ZKL_WRITE, 1, 2);
        CHECK_TEXT(text, "_c_00000000-0000-0001-0000-000000000002-__WRIT__");
        zkl_name_permit_prefix(text, 3, 10, SESSION, NONCE);
        CHECK_TEXT(text, UUID "permit-3-of-10-");
    }
    TEST("the longest name has room, and is read back") {
        zkl_name_permit_prefix(text, INT32_MAX, INT32_MAX, UINT64_MAX, UINT64_MAX);
        snprintf(text + strlen(text), ZKL_NAME_SIZE, "%d", INT32_MIN);
        CHECK(strlen(text) < ZKL_NAME_SIZE);
        CHECK(zkl_name_parse(text, &name));
        CHECK(name.permits == INT32_MAX && name.limit == INT32_MAX);
        CHECK_IS(name.sequence, -INT32_MAX);
        CHECK(name.session == UINT64_MAX && name.nonce == UINT64_MAX);
    }
}

static void downgrading(void) {
    char text[ZKL_NAME_SIZE];
    TEST("a writer's reader has the same uuid and number, and only the marker differs") {
        zkl_name_downgrade(text, UUID "__WRIT__0000000042");
        CHECK_TEXT(text, UUID "__READ__0000000042");
    }
    TEST("a node of another kind than writer keeps its name") {
        zkl_name_downgrade(text, UUID "lock-0000000042");
        CHECK_TEXT(text, UUID "lock-0000000042");
    }
}

static void data(void) {
    static const struct {
        const char *text;
        bool asks, held;
    } rows[] = {{"", false, false},
                {"shop:1", false, false},
                {"shop:1" ZKL_HELD_WORD, false, true},
                {ZKL_HELD_WORD, false, true},
                {ZKL_HELD_WORD "!", false, false},
                {ZKL_REVOKE_DATA, true, false},
                {ZKL_REVOKE_DATA ZKL_HELD_WORD, true, true},
                {ZKL_REVOKE_DATA ZKL_HELD_WORD ZKL_HELD_WORD, false, true},
                {"x" ZKL_REVOKE_DATA, false, false},
                {ZKL_REVOKE_DATA "x", false, false},
                {"__REVOKE_", false, false}};
    TEST("data asks to give way, says that the lock is held, or both") {
        EACH(rows, i) {
            CHECK_CASE("%s", rows[i].text);
            CHECK_IS(zkl_data_asks_to_give_way(rows[i].text, strlen(rows[i].text)), rows[i].asks);
            CHECK_IS(zkl_data_says_held(rows[i].text, strlen(rows[i].text)), rows[i].held);
        }
    }
}

int main(int argc, char **argv) {
    data();
    others();
    nonces();
    lengths();
    writing();
    downgrading();
    return script_main(argc, argv, "spec/core/name.txt");
}
