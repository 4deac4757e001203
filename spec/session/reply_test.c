/* reply_test.c - answers that no server gives are not understood (reply.c). */
#include "../../src/session/call.h"
#include "../../src/session/internal.h"
#include "../../src/session/stake.h"
#include "check.h"

static const struct zkl_stat good = {.czxid = 5, .mzxid = 5}, zero = {.czxid = 0},
                             old = {.czxid = 4}, negative = {.czxid = 5, .version = -1};

/* The session's create before had czxid 4. */
static int sifted(enum call_kind kind, enum zkl_kind lock, const struct zkl_rpc *rpc,
                  struct answer answer) {
    static struct zkl_session session;
    static struct stake stake;
    struct call call = {
        .kind = kind, .session = &session, .stake = &stake, .node = (char *)"/l/lock"};
    session.created = 4;
    stake.claim.kind = lock;
    if (rpc) call.rpc = *rpc;
    zkl_reply_sift(&call, &answer);
    CHECK(answer.rc == ZKL_ERROR_NONE || (!answer.text && !answer.stat && !answer.names));
    return answer.rc;
}

static void check_create(enum zkl_kind lock, const char *made, const struct zkl_stat *stat,
                         enum zkl_error wanted) {
    CHECK_CASE("%s", made ? made : "no path");
    CHECK_IS(sifted(CALL_CREATE, lock, NULL, (struct answer){.text = made, .stat = stat}), wanted);
}

static void creates(void) {
    TEST("a sequential create gives the path that was asked for, with a counter") {
        check_create(ZKL_MUTEX, "/l/lock0000000042", &good, ZKL_ERROR_NONE);
        check_create(ZKL_MUTEX, "/l/lock-000000042", &good, ZKL_ERROR_NONE);
        check_create(ZKL_MUTEX, "/l/lock-2147483648", &good, ZKL_ERROR_NONE);
        check_create(ZKL_MUTEX, NULL, &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/l", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock00000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock-00000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock00000000x2", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock00000000+2", &good, ZKL_ERROR_MARSHALLING);
    }
    TEST("a create of a fixed name gives that name") {
        check_create(ZKL_UNFAIR, "/l/lock", &good, ZKL_ERROR_NONE);
        check_create(ZKL_UNFAIR, "/l/lock0000000042", &good, ZKL_ERROR_MARSHALLING);
    }
    TEST("a node that was made is newer than the session's last, and was never changed") {
        check_create(ZKL_MUTEX, "/l/lock0000000042", NULL, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock0000000042", &zero, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock0000000042", &old, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_MUTEX, "/l/lock0000000042", &negative, ZKL_ERROR_MARSHALLING);
    }
}

static void check_created(struct zkl_session *newest, int64_t czxid, enum zkl_error wanted) {
    static struct stake stake;
    const struct zkl_stat stat = {.czxid = czxid};
    struct call call = {
        .kind = CALL_CREATE, .session = newest, .stake = &stake, .node = (char *)"/l/lock"};
    struct answer answer = {.text = "/l/lock0000000009", .stat = &stat};
    zkl_reply_sift(&call, &answer);
    CHECK_IS(answer.rc, wanted);
}

static void orders(void) {
    TEST("each create of a session is newer than the one before") {
        static struct zkl_session newest;
        check_created(&newest, 5, ZKL_ERROR_NONE);
        check_created(&newest, 5, ZKL_ERROR_MARSHALLING);
        check_created(&newest, 6, ZKL_ERROR_NONE);
    }
}

static int transacted(const struct zkl_result *results) {
    static const struct zkl_op ops[] = {
        {.kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = "/l/a-"},
        {.kind = ZKL_OP_CREATE, .mode = ZKL_EPHEMERAL, .path = "/l/b"},
        {.kind = ZKL_OP_CHECK, .path = "/l/c"}};
    static const struct zkl_rpc rpc = {.kind = ZKL_RPC_MULTI, .ops = ops, .count = 3};
    return sifted(CALL_GUARD, ZKL_MUTEX, &rpc, (struct answer){.results = results});
}

static void transactions(void) {
    TEST("a transaction that was carried out has a good result of each operation") {
        struct zkl_result results[3] = {{.created = "/l/a-0000000001"}};
        CHECK_IS(transacted(results), ZKL_ERROR_NONE);
        CHECK_IS(transacted(NULL), ZKL_ERROR_MARSHALLING);
        results[2].error = ZKL_UNANSWERED;
        CHECK_IS(transacted(results), ZKL_ERROR_MARSHALLING);
        results[2].error = ZKL_ERROR_NONE;
        results[0].created = "/l/b-0000000001";
        CHECK_IS(transacted(results), ZKL_ERROR_MARSHALLING);
    }
}

static void lists(void) {
    static const struct {
        const char *what;
        int count;
        const char *names[2];
        enum zkl_error wanted;
    } rows[] = {
        {"two names", 2, {"a", "\xc3\xa4"}, ZKL_ERROR_NONE},
        {"a space", 2, {"a", "b c"}, ZKL_ERROR_NONE},
        {"no name", 2, {"a", NULL}, ZKL_ERROR_MARSHALLING},
        {"an empty name", 2, {"a", ""}, ZKL_ERROR_MARSHALLING},
        {"two segments", 2, {"a", "b/c"}, ZKL_ERROR_MARSHALLING},
        {"a control character", 2, {"a", "b\x1f"}, ZKL_ERROR_MARSHALLING},
        {"DEL", 2, {"a", "b\x7f"}, ZKL_ERROR_MARSHALLING},
        {"fewer than none", -1, {"a", "b"}, ZKL_ERROR_MARSHALLING},
    };
    TEST("a list has names that nodes can have") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct answer answer = {.names = rows[i].names, .count = rows[i].count};
            CHECK_CASE("%s", rows[i].what);
            CHECK_IS(sifted(CALL_LIST, ZKL_MUTEX, NULL, answer), rows[i].wanted);
            CHECK_IS(sifted(CALL_CHILDREN, ZKL_MUTEX, NULL, answer), rows[i].wanted);
        }
    }
    TEST("an empty list needs no names, a longer one does") {
        CHECK_IS(sifted(CALL_LIST, ZKL_MUTEX, NULL, (struct answer){0}), ZKL_ERROR_NONE);
        CHECK_IS(sifted(CALL_LIST, ZKL_MUTEX, NULL, (struct answer){.count = 1}),
                 ZKL_ERROR_MARSHALLING);
    }
}

static int got(enum call_kind kind, const struct zkl_stat *stat, const char *text, int size) {
    return sifted(kind, ZKL_MUTEX, NULL, (struct answer){.stat = stat, .text = text, .size = size});
}

static void reads(void) {
    TEST("data of n bytes have n bytes, and come with a stat") {
        CHECK_IS(got(CALL_GET, &zero, "abc", 3), ZKL_ERROR_NONE);
        CHECK_IS(got(CALL_GET, &zero, NULL, 0), ZKL_ERROR_NONE);
        CHECK_IS(got(CALL_GET, &zero, NULL, -1), ZKL_ERROR_NONE);
        CHECK_IS(got(CALL_GET, &zero, NULL, -2), ZKL_ERROR_MARSHALLING);
        CHECK_IS(got(CALL_GET, &zero, NULL, 3), ZKL_ERROR_MARSHALLING);
        CHECK_IS(got(CALL_GET, NULL, "abc", 3), ZKL_ERROR_MARSHALLING);
    }
    TEST("a node in a lock's path has a czxid and a version") {
        static const enum call_kind kinds[] = {CALL_GET_OWN, CALL_QUEUE_GET, CALL_MARK};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            CHECK_IS(got(kinds[i], &good, "abc", 3), ZKL_ERROR_NONE);
            CHECK_IS(got(kinds[i], NULL, "abc", 3), ZKL_ERROR_MARSHALLING);
            CHECK_IS(got(kinds[i], &zero, "abc", 3), ZKL_ERROR_MARSHALLING);
            CHECK_IS(got(kinds[i], &negative, "abc", 3), ZKL_ERROR_MARSHALLING);
        }
        CHECK_IS(got(CALL_GET_OWN, &good, NULL, 3), ZKL_ERROR_MARSHALLING);
    }
    TEST("a node that exists has a stat") {
        CHECK_IS(got(CALL_ROSTER_EXISTS, &good, NULL, 0), ZKL_ERROR_NONE);
        CHECK_IS(got(CALL_ROSTER_EXISTS, NULL, NULL, 0), ZKL_ERROR_MARSHALLING);
    }
    TEST("of a delete nothing but its success is taken") {
        CHECK_IS(got(CALL_BREAK, NULL, NULL, 0), ZKL_ERROR_NONE);
    }
    TEST("what comes with an error is not read") {
        struct answer answer = {.rc = ZKL_ERROR_NO_NODE, .text = "abc", .size = 3, .stat = &good};
        CHECK_IS(sifted(CALL_GET, ZKL_MUTEX, NULL, answer), ZKL_ERROR_NO_NODE);
    }
}

int main(void) {
    creates();
    orders();
    transactions();
    lists();
    reads();
    return check_report();
}
