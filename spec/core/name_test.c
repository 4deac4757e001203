/*
 * name_test.c - names of contenders. BUG-07 (names compared as text), PIT-22 and Q-02 (the
 * counter).
 */
#include "name.h"

#include <stdlib.h>

#include "check.h"

#define UUID "_c_550e8400-e29b-41d4-a716-446655440000-"
#define HEX "550e8400e29b41d4a716446655440000"
#define SESSION UINT64_C(0x550e8400e29b41d4)
#define NONCE UINT64_C(0xa716446655440000)

enum uuid { NO_UUID, WITH_UUID };

struct row {
    const char *text;
    enum zkl_kind kind;
    int32_t sequence;
    enum uuid uuid;
};

static void check_row(const struct row *row, int32_t permits, int32_t limit) {
    struct zkl_name name;
    memset(&name, 0xff, sizeof name); /* as after an earlier name */
    CHECK_CASE("%s", row->text);
    CHECK(zkl_name_parse(row->text, &name));
    CHECK_IS(name.kind, row->kind);
    CHECK_IS(name.sequence, row->sequence);
    CHECK_IS(name.permits, permits);
    CHECK_IS(name.limit, limit);
    CHECK_IS(name.session, row->uuid == WITH_UUID ? SESSION : 0);
    CHECK_IS(name.nonce, row->uuid == WITH_UUID ? NONCE : 0);
    CHECK_IS(name.reuse, ZKL_ONE_GRANT);
}

static void contenders(void) {
    static const struct row rows[] = {
        {UUID "lock-0000000042", ZKL_MUTEX, 42, WITH_UUID}, /* Curator mutex, vostok, kezhuw */
        {"_c_" HEX "-lock-0000000042", ZKL_MUTEX, 42, WITH_UUID}, /* go-zookeeper */
        {UUID "__READ__0000000042", ZKL_READ, 42, WITH_UUID},     /* Curator read */
        {UUID "__WRIT__0000000042", ZKL_WRITE, 42, WITH_UUID},    /* Curator write */
        {HEX "__lock__0000000042", ZKL_MUTEX, 42, NO_UUID},       /* kazoo Lock, WriteLock */
        {HEX "__rlock__0000000042", ZKL_READ, 42, NO_UUID},       /* kazoo ReadLock */
        {HEX "-lock-0000000042", ZKL_MUTEX, 42, NO_UUID},         /* kazoo subclass */
        {"lock-0000000042", ZKL_MUTEX, 42, NO_UUID},              /* madelson, metamx */
        {"550e8400-e29b-41d4-a716-446655440000-lock-0000000042",  /* recipe's text */
         ZKL_MUTEX, 42, NO_UUID},
        {"__lock__0000000042", ZKL_MUTEX, 42, NO_UUID},
        {"my lock-lock-lock-0000000007", ZKL_MUTEX, 7, NO_UUID},
        {"__lock____rlock__0000000001", ZKL_READ, 1, NO_UUID}, /* the last marker counts */
        {"x-__READ__0000000001__WRIT__0000000002", ZKL_WRITE, 2, NO_UUID},
    };
    static const struct {
        struct row row;
        int32_t permits, limit;
    } permits[] = {
        {{UUID "permit-3-of-10-0000000042", ZKL_PERMIT, 42, WITH_UUID}, 3, 10},
        {{UUID "permit-10-of-10-0000000042", ZKL_PERMIT, 42, WITH_UUID}, 10, 10},
        {{UUID "permit-9-of-19-0000000042", ZKL_PERMIT, 42, WITH_UUID}, 9, 19},
        {{UUID "permit-1-of-1--000000042", ZKL_PERMIT, -42, WITH_UUID}, 1, 1},
        {{UUID "permit-2-of-3--2147483648", ZKL_PERMIT, -INT32_MAX, WITH_UUID}, 2, 3},
        {{UUID "permit-2147483647-of-2147483647-2147483647", ZKL_PERMIT, INT32_MAX, WITH_UUID},
         INT32_MAX,
         INT32_MAX},
    };
    static const struct row counters[] = {
        {"lock-0000000000", ZKL_MUTEX, 0, NO_UUID},
        {"lock-2147483646", ZKL_MUTEX, 2147483646, NO_UUID},
        {"lock-2147483647", ZKL_MUTEX, INT32_MAX, NO_UUID}, /* ZOOKEEPER-3249: it sticks here */
        {"lock-2147483648", ZKL_MUTEX, INT32_MAX, NO_UUID},
        {"lock-9999999999", ZKL_MUTEX, INT32_MAX, NO_UUID},
        {"lock--000000001", ZKL_MUTEX, -1, NO_UUID}, /* %010d counts the sign */
        {"lock--999999999", ZKL_MUTEX, -999999999, NO_UUID},
        {"__rlock__-1000000000", ZKL_READ, -1000000000, NO_UUID},
        {UUID "__WRIT__-2147483647", ZKL_WRITE, -2147483647, WITH_UUID},
        {UUID "__READ__-000000042", ZKL_READ, -42, WITH_UUID},
        {"lock--2147483648", ZKL_MUTEX, -INT32_MAX, NO_UUID},
        {"lock--9999999999", ZKL_MUTEX, -INT32_MAX, NO_UUID},
    };
    TEST("the contender of every known client is recognised") {
        EACH(rows, i) check_row(&rows[i], 0, 0);
    }
    TEST("a permit's name says its permits, the limit and its number") {
        EACH(permits, i) check_row(&permits[i].row, permits[i].permits, permits[i].limit);
    }
    TEST("the counter is read as a signed number of 32 bits (Q-02, PIT-22)") {
        EACH(counters, i) check_row(&counters[i], 0, 0);
    }
    TEST("a number that says nothing about the order is exhausted") {
        CHECK(!zkl_sequence_exhausted(0) && !zkl_sequence_exhausted(2147483646));
        CHECK(zkl_sequence_exhausted(INT32_MAX) && zkl_sequence_exhausted(-1));
        CHECK(zkl_sequence_exhausted(INT32_MIN));
    }
}

static void others(void) {
    static const char *const rows[] = {
        "",
        "0",
        "0000000042",
        "-0000000042",
        "lock",
        "lock-",
        "config",
        "hello",
        "-foreign",
        "lock-1",
        "lock-42",
        "lock-000000042",
        "lock-00000000042",
        "lock-000000004x",
        "lock-0000000042 ",
        "lock-0000000042-",
        "lock-+000000042",
        "lock- 000000042",
        "lock--00000042",
        "lock---000000042",
        "lock--00000000042",
        "lock-0x00000042",
        "LOCK-0000000042",
        "Lock-0000000042",
        "lock_0000000042",
        "_lock_0000000042",
        "__lock_0000000042",
        "_lock__0000000042",
        "__read__0000000042",
        "__WRITE__0000000042",
        "__READ__",
        "__WRIT__42",
        "__rlock__",
        "read-0000000042",
        "write-0000000042", /* madelson */
        "x-72057594037927936-0000000042",
        "x-0100000000000000-0000000042", /* recipes, Java and C */
        "ex0000000042",
        "sh0000000042",
        "sem0000000042", /* zk-ruby */
        "lock-" HEX "-0000000042",
        "read-" HEX "-0000000042", /* aiozk */
        "semaphore-0000000042",
        UUID "lease-0000000042",
        UUID "latch-0000000042",
        UUID "permit-3-0000000042",
        HEX,
        "_c_" HEX,
        UUID,
        UUID "lock-",
        UUID "lock-42",
        UUID "lock-000000004:",
        "permit-0-of-10-0000000042",
        "permit-11-of-10-0000000042",
        "permit-1-of-0-0000000042",
        "permit-01-of-10-0000000042",
        "permit-1-of-010-0000000042",
        "permit--of-10-0000000042",
        "permit-1-of--0000000042",
        "permit-1-of-20000000042",
        "permit-11234567890-0000000042",
        "permit-1-of-10-42",
        "permit-1-of-2147483648-0000000042",
        "permit-1-0000000042",
        "permit--1-of-3-0000000042",
        "permit-1-of-99999999999-0000000042",
        "permit-1-in-10-0000000042",
        "permits-1-of-2-0000000042",
        "1-of-2-0000000042",
        "-of-2-0000000042",
        "of-0000000042",
        "lock-\xd9\xa0\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4", /* digits, but not in ASCII */
    };
    TEST("a child with any other name is ignored") {
        EACH(rows, i) {
            struct zkl_name name;
            CHECK_CASE("%s", rows[i]);
            CHECK(!zkl_name_parse(rows[i], &name));
        }
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

static void uuids(void) {
    TEST("a node that may be kept says so in its nonce, and no other client's does") {
        static const char *const others[] = {
            "_c_11111111-2222-3333-4444-555555555555-lock-0000000041",
            "_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000041",
            "_c_111111112222333340000000000000001-lock-0000000041",
            "_c_11111111-22223333-4000-000000000001-lock-0000000041",
            "_c_11111111-2222-33334000-000000000001-lock-0000000041",
            "_c_11111111-2222-3333-4000000000000001-lock-0000000041",
            "_c_11111111222233334000000000000001-lock-0000000041",
            "_c_11111111-222233334000000000000001-lock-0000000041",
            "_c_11111111-2222-33334000000000000001-lock-0000000041",
            "_c_111111112222333340-0000-0000000001-lock-0000000041",
            "_c_11111111-2222-3333-0000-000000000001-lock-0000000041",
            "_c_11111111-2222-3333-4000-000000000001-__WRIT__0000000041"};
        CHECK_IS(read_nonce(ZKL_NONCE_KEEPS).reuse, ZKL_MAY_BE_KEPT);
        EACH(others, i) {
            struct zkl_name name;
            CHECK_CASE("%s", others[i]);
            CHECK(zkl_name_parse(others[i], &name) && name.reuse == ZKL_ONE_GRANT);
        }
    }
    TEST("a node with tokens that count its grants says so in its nonce, unless it may be kept") {
        const uint64_t keeps = ZKL_NONCE_KEEPS, counts = ZKL_NONCE_COUNTS;
        CHECK_IS(read_nonce(0).reuse, ZKL_ONE_GRANT);
        CHECK_IS(read_nonce(counts).reuse, ZKL_MANY_GRANTS);
        CHECK_IS(read_nonce(keeps).reuse, ZKL_MAY_BE_KEPT);
        CHECK_IS(read_nonce(keeps | counts).reuse, ZKL_ONE_GRANT);
    }
    TEST("a text that only looks like a uuid names no session") {
        static const char *const rows[] = {
            "_c_-lock-0000000042",
            "_c_550e8400-lock-0000000042",
            "_c_550e8400-e29b-41d4-a716-44665544000-lock-0000000042",  /* 31 digits */
            "_c_550E8400-E29B-41D4-A716-446655440000-lock-0000000042", /* capitals */
            "_c_550e8400-e29b-41d4-a716-44665544000g-lock-0000000042",
            "_c_550e8400-e29b-41d4-a716-44665544000:-lock-0000000042",
            "_c_550e8400 e29b 41d4 a716 446655440000-lock-0000000042",
            "_cx550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_C_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "c_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_c__c_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_c_550e8400-e29b-41d4__lock__0000000042",
        };
        EACH(rows, i) check_row(&(struct row){rows[i], ZKL_MUTEX, 42, NO_UUID}, 0, 0);
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

int main(void) {
    data();
    contenders();
    others();
    uuids();
    lengths();
    writing();
    downgrading();
    return check_report();
}
