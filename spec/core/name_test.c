/*
 * name_test.c - which children of a lock path are contenders, and what their
 * names say. BUG-07 (names compared as text), PIT-22 and Q-02 (the counter).
 */
#include "name.h"

#include <stdlib.h>

#include "check.h"

struct row {
    const char *text;
    enum zkl_kind kind;
    int32_t sequence;
};

#define UUID "_c_550e8400-e29b-41d4-a716-446655440000-"
#define HEX "550e8400e29b41d4a716446655440000"

static void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct zkl_name name;
        CHECK_CASE("%s", rows[i].text);
        CHECK(zkl_name_parse(rows[i].text, &name));
        CHECK_IS(name.kind, rows[i].kind);
        CHECK_IS(name.sequence, rows[i].sequence);
    }
}

static void contenders(void) {
    static const struct row rows[] = {
        {UUID "lock-0000000042", ZKL_MUTEX, 42},                 /* Curator mutex, vostok, kezhuw */
        {"_c_" HEX "-lock-0000000042", ZKL_MUTEX, 42},           /* go-zookeeper */
        {UUID "__READ__0000000042", ZKL_READ, 42},               /* Curator read */
        {UUID "__WRIT__0000000042", ZKL_WRITE, 42},              /* Curator write */
        {HEX "__lock__0000000042", ZKL_MUTEX, 42},               /* kazoo Lock, WriteLock */
        {HEX "__rlock__0000000042", ZKL_READ, 42},               /* kazoo ReadLock */
        {HEX "-lock-0000000042", ZKL_MUTEX, 42},                 /* kazoo subclass */
        {"lock-0000000042", ZKL_MUTEX, 42},                      /* madelson, metamx */
        {"550e8400-e29b-41d4-a716-446655440000-lock-0000000042", /* the recipe's text */
         ZKL_MUTEX, 42},
        {"__lock__0000000042", ZKL_MUTEX, 42},
        {"my lock-lock-lock-0000000007", ZKL_MUTEX, 7},
        {"__lock____rlock__0000000001", ZKL_READ, 1}, /* the last marker counts */
        {"x-__READ__0000000001__WRIT__0000000002", ZKL_WRITE, 2},
    };
    TEST("the contender of every known client is recognised") {
        check_rows(rows, sizeof rows / sizeof *rows);
    }
}

static void permits(void) {
    static const struct {
        const char *text;
        int32_t permits, limit, sequence;
    } rows[] = {
        {UUID "permit-3-of-10-0000000042", 3, 10, 42},
        {UUID "permit-10-of-10-0000000042", 10, 10, 42},
        {UUID "permit-1-of-1--000000042", 1, 1, -42},
        {UUID "permit-2-of-3--2147483648", 2, 3, -INT32_MAX},
        {UUID "permit-2147483647-of-2147483647-2147483647", INT32_MAX, INT32_MAX, INT32_MAX},
    };
    static const char *const bad[] = {"permit-0-of-10-0000000042",
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
                                      "of-0000000042"};
    struct zkl_name name;
    TEST("a permit's name says how many of how many it is, and its number") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            CHECK_CASE("%s", rows[i].text);
            CHECK(zkl_name_parse(rows[i].text, &name));
            CHECK_IS(name.kind, ZKL_PERMIT);
            CHECK_IS(name.permits, rows[i].permits);
            CHECK_IS(name.limit, rows[i].limit);
            CHECK_IS(name.sequence, rows[i].sequence);
            CHECK_IS(name.session, 0x550e8400e29b41d4);
        }
    }
    TEST("a name that no semaphore of ours writes is no permit") {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            CHECK_CASE("%s", bad[i]);
            CHECK(!zkl_name_parse(bad[i], &name));
        }
    }
    TEST("the longest name of a permit has room, and is read back") {
        char text[2 * ZKL_NAME_SIZE];
        zkl_name_permits(text, INT32_MAX, INT32_MAX, UINT64_MAX, UINT64_MAX);
        snprintf(text + strlen(text), ZKL_NAME_SIZE, "%d", INT32_MIN);
        CHECK(strlen(text) < ZKL_NAME_SIZE);
        CHECK(zkl_name_parse(text, &name));
        CHECK_IS(name.permits, INT32_MAX);
        CHECK_IS(name.limit, INT32_MAX);
        CHECK_IS(name.sequence, -INT32_MAX);
        CHECK(name.session == UINT64_MAX && name.nonce == UINT64_MAX);
    }
    TEST("a permit is written with how many of how many") {
        char text[ZKL_NAME_SIZE];
        zkl_name_permits(text, 3, 10, 0x550e8400e29b41d4, 0xa716446655440000);
        CHECK_TEXT(text, UUID "permit-3-of-10-");
    }
    TEST("no other name has permits") {
        CHECK(zkl_name_parse(UUID "lock-0000000042", &name));
        CHECK_IS(name.permits, 0);
        CHECK_IS(name.limit, 0);
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
        "lock",
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
        "lock-\xd9\xa0\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4", /* digits, but not ASCII */
    };
    TEST("any other child is ignored") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct zkl_name name;
            CHECK_CASE("%s", rows[i]);
            CHECK(!zkl_name_parse(rows[i], &name));
        }
    }
}

static void counters(void) {
    static const struct row rows[] = {
        {"lock-0000000000", ZKL_MUTEX, 0},
        {"lock-0000000001", ZKL_MUTEX, 1},
        {"lock-2147483646", ZKL_MUTEX, 2147483646},
        {"lock-2147483647", ZKL_MUTEX, INT32_MAX}, /* ZOOKEEPER-3249: it sticks here */
        {"lock-2147483648", ZKL_MUTEX, INT32_MAX},
        {"lock-4294967295", ZKL_MUTEX, INT32_MAX},
        {"lock-9999999999", ZKL_MUTEX, INT32_MAX},
        {"lock--2147483647", ZKL_MUTEX, -2147483647},
        {"lock--000000001", ZKL_MUTEX, -1}, /* %010d counts the sign */
        {"lock--999999999", ZKL_MUTEX, -999999999},
        {"__lock__-000000001", ZKL_MUTEX, -1},
        {"__rlock__-1000000000", ZKL_READ, -1000000000},
        {UUID "__WRIT__-2147483647", ZKL_WRITE, -2147483647},
        {UUID "__READ__-000000042", ZKL_READ, -42},
    };
    TEST("the counter is read as a signed number of 32 bits (Q-02, PIT-22)") {
        check_rows(rows, sizeof rows / sizeof *rows);
    }
    TEST("a number that says nothing about the order is exhausted") {
        struct zkl_name name;
        CHECK(!zkl_sequence_exhausted(0));
        CHECK(!zkl_sequence_exhausted(2147483646));
        CHECK(zkl_sequence_exhausted(INT32_MAX));
        CHECK(zkl_sequence_exhausted(-1));
        CHECK(zkl_sequence_exhausted(INT32_MIN));
        CHECK(zkl_name_parse("lock--2147483648", &name) && zkl_sequence_exhausted(name.sequence));
        CHECK(zkl_name_parse("lock--9999999999", &name) && zkl_sequence_exhausted(name.sequence));
    }
}

static void uuids(void) {
    struct zkl_name name;
    TEST("a uuid tells session and attempt, with dashes or without") {
        CHECK(zkl_name_parse(UUID "lock-0000000042", &name));
        CHECK(name.session == UINT64_C(0x550e8400e29b41d4));
        CHECK(name.nonce == UINT64_C(0xa716446655440000));
        CHECK(zkl_name_parse("_c_" HEX "-lock-0000000042", &name));
        CHECK(name.session == UINT64_C(0x550e8400e29b41d4));
        CHECK(name.nonce == UINT64_C(0xa716446655440000));
    }
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
            "_c_11111111-2222-3333-4000000000000001-lock-0000000041",
            "_c_111111112222333340-0000-0000000001-lock-0000000041",
            "_c_11111111-2222-3333-0000-000000000001-lock-0000000041",
            "_c_11111111-2222-3333-4000-000000000001-__WRIT__0000000041"};
        char text[ZKL_NAME_SIZE];
        zkl_name_prefix(text, ZKL_MUTEX, 7, 9 | ZKL_NONCE_KEEPS);
        strcat(text, "0000000041");
        CHECK(zkl_name_parse(text, &name) && name.keeps);
        CHECK(name.nonce == (9 | ZKL_NONCE_KEEPS));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            CHECK_CASE("%s", others[i]);
            CHECK(zkl_name_parse(others[i], &name) && !name.keeps);
        }
    }
    TEST("so does a node whose tokens count its grants; one that may be kept has such tokens") {
        static const struct {
            uint64_t bits;
            bool keeps, counts;
        } rows[] = {{0, false, false},
                    {ZKL_NONCE_COUNTS, false, true},
                    {ZKL_NONCE_KEEPS, true, true},
                    {ZKL_NONCE_KEEPS | ZKL_NONCE_COUNTS, false, false}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            char text[ZKL_NAME_SIZE];
            zkl_name_prefix(text, ZKL_MUTEX, 7, 9 | rows[i].bits);
            strcat(text, "0000000041");
            CHECK(zkl_name_parse(text, &name));
            CHECK_IS(name.keeps, rows[i].keeps);
            CHECK_IS(name.counts, rows[i].counts);
        }
    }
    TEST("what only looks like a uuid names no session") {
        static const char *const rows[] = {
            "lock-0000000042",
            HEX "__lock__0000000042",
            HEX "-lock-0000000042",
            "_c_-lock-0000000042",
            "_c_550e8400-lock-0000000042",
            "_c_550e8400-e29b-41d4-a716-44665544000-lock-0000000042",  /* 31 digits */
            "_c_550E8400-E29B-41D4-A716-446655440000-lock-0000000042", /* capitals */
            "_c_550e8400-e29b-41d4-a716-44665544000g-lock-0000000042",
            "_c_550e8400 e29b 41d4 a716 446655440000-lock-0000000042",
            "_cx550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_C_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "c_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_c__c_550e8400-e29b-41d4-a716-446655440000-lock-0000000042",
            "_c_550e8400-e29b-41d4__lock__0000000042",
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            CHECK_CASE("%s", rows[i]);
            name.session = name.nonce = 99;
            name.keeps = name.counts = true; /* as the name before this one */
            CHECK(zkl_name_parse(rows[i], &name));
            CHECK_IS(name.session, 0);
            CHECK_IS(name.nonce, 0);
            CHECK(!name.keeps && !name.counts);
        }
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
    TEST("every cut of a name is read within its bounds") {
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
    static const enum zkl_kind kinds[] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE};
    static const uint64_t numbers[] = {0, 1, UINT64_C(0x0123456789abcdef),
                                       UINT64_C(0xffffffffffffffff), UINT64_C(0x8000000000000000)};
    char text[ZKL_NAME_SIZE];
    TEST("we write what Curator writes, with session and nonce for a uuid") {
        zkl_name_prefix(text, ZKL_MUTEX, UINT64_C(0x550e8400e29b41d4),
                        UINT64_C(0xa716446655440000));
        CHECK_TEXT(text, UUID "lock-");
        zkl_name_prefix(text, ZKL_READ, UINT64_C(0x550e8400e29b41d4), UINT64_C(0xa716446655440000));
        CHECK_TEXT(text, UUID "__READ__");
        zkl_name_prefix(text, ZKL_WRITE, 1, 2);
        CHECK_TEXT(text, "_c_00000000-0000-0001-0000-000000000002-__WRIT__");
    }
    TEST("what we write we read back, and it fits with any counter") {
        for (size_t i = 0; i < 3 * 5 * 5; i++) {
            static const int32_t counters_[] = {0, 42, INT32_MAX, -1, -2147483647};
            uint64_t session = numbers[i / 5 % 5], nonce = numbers[i % 5];
            for (size_t j = 0; j < 5; j++) {
                struct zkl_name name;
                char whole[2 * ZKL_NAME_SIZE];
                zkl_name_prefix(text, kinds[i / 25], session, nonce);
                CHECK(!zkl_name_parse(text, &name));
                snprintf(whole, sizeof whole, "%s%010" PRId32, text, counters_[j]);
                CHECK(strlen(whole) < ZKL_NAME_SIZE);
                CHECK(zkl_name_parse(whole, &name));
                CHECK(name.kind == kinds[i / 25] && name.sequence == counters_[j]);
                CHECK(name.session == session && name.nonce == nonce);
            }
        }
    }
}

static void downgrading(void) {
    char text[ZKL_NAME_SIZE];
    struct zkl_name writer, reader;
    TEST("a writer's reader has the same uuid and number, and only the marker differs") {
        const char *name = UUID "__WRIT__0000000042";
        zkl_name_downgrade(text, name);
        CHECK_TEXT(text, UUID "__READ__0000000042");
        CHECK(zkl_name_parse(name, &writer) && zkl_name_parse(text, &reader));
        CHECK(writer.kind == ZKL_WRITE && reader.kind == ZKL_READ);
        CHECK(reader.sequence == writer.sequence);
        CHECK(reader.session == writer.session && reader.nonce == writer.nonce);
        CHECK_IS(strlen(text), strlen(name));
    }
    TEST("what is no writer keeps its name") {
        zkl_name_downgrade(text, UUID "lock-0000000042");
        CHECK_TEXT(text, UUID "lock-0000000042");
    }
}

/* What a node's data says, whatever stands before or behind it. */
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
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            CHECK_CASE("%s", rows[i].text);
            CHECK_IS(zkl_data_asks(rows[i].text, strlen(rows[i].text)), rows[i].asks);
            CHECK_IS(zkl_data_says_held(rows[i].text, strlen(rows[i].text)), rows[i].held);
        }
    }
}

int main(void) {
    data();
    contenders();
    permits();
    others();
    counters();
    uuids();
    lengths();
    writing();
    downgrading();
    return check_report();
}
