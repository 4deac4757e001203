/* reply_test.c - reply.c rejects answers that no server gives. */
#include "../../src/session/guard.h"
#include "../../src/session/internal.h"
#include "../../src/session/member.h"
#include "../../src/session/query.h"
#include "../../src/session/stake_feed.h"
#include "check.h"

#define OF_STAKE(kind) (&zkl_stake_calls[STAKE_##kind])
#define OF_QUERY(kind) (&zkl_query_calls[QUERY_##kind])

static const struct zkl_stat good = {.czxid = 5, .mzxid = 5}, zero = {.czxid = 0},
                             old = {.czxid = 4}, negative = {.czxid = 5, .version = -1};

/* The session's last create had czxid 4. */
static int rc_of(const struct call_kind *kind, enum zkl_node_mode mode, const struct zkl_rpc *rpc,
                 struct answer answer) {
    static struct zkl_session session;
    struct call call = {
        .kind = kind, .session = &session, .op = {.mode = mode}, .node = (char *)"/l/lock"};
    session.newest_czxid = 4;
    if (rpc) call.rpc = *rpc;
    zkl_reply_sift(&call, &answer);
    CHECK(answer.rc == ZKL_ERROR_NONE || (!answer.text && !answer.stat && !answer.names));
    return answer.rc;
}

static void check_create(enum zkl_node_mode mode, const char *made, const struct zkl_stat *stat,
                         enum zkl_error wanted) {
    CHECK_CASE("%s", made ? made : "no path");
    CHECK_IS(rc_of(OF_STAKE(CREATE), mode, NULL, (struct answer){.text = made, .stat = stat}),
             wanted);
}

static void creates(void) {
    TEST("a sequential create gives the path that was asked for, with a counter") {
        check_create(ZKL_SEQUENTIAL, "/l/lock0000000042", &good, ZKL_ERROR_NONE);
        check_create(ZKL_SEQUENTIAL, "/l/lock-000000042", &good, ZKL_ERROR_NONE);
        check_create(ZKL_SEQUENTIAL, "/l/lock-2147483648", &good, ZKL_ERROR_NONE);
        check_create(ZKL_SEQUENTIAL, NULL, &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/l", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock00000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock-00000000042", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock00000000x2", &good, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock00000000+2", &good, ZKL_ERROR_MARSHALLING);
    }
    TEST("a create of a fixed name gives that name") {
        check_create(ZKL_EPHEMERAL, "/l/lock", &good, ZKL_ERROR_NONE);
        check_create(ZKL_EPHEMERAL, "/l/lock0000000042", &good, ZKL_ERROR_MARSHALLING);
    }
    TEST("a created node has a larger czxid than the session's create before, and a version") {
        check_create(ZKL_SEQUENTIAL, "/l/lock0000000042", NULL, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock0000000042", &zero, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock0000000042", &old, ZKL_ERROR_MARSHALLING);
        check_create(ZKL_SEQUENTIAL, "/l/lock0000000042", &negative, ZKL_ERROR_MARSHALLING);
    }
}

static void check_created(struct zkl_session *newest, int64_t czxid, enum zkl_error wanted) {
    const struct zkl_stat stat = {.czxid = czxid};
    struct call call = {.kind = OF_STAKE(CREATE),
                        .session = newest,
                        .op = {.mode = ZKL_SEQUENTIAL},
                        .node = (char *)"/l/lock"};
    struct answer answer = {.text = "/l/lock0000000009", .stat = &stat};
    zkl_reply_sift(&call, &answer);
    CHECK_IS(answer.rc, wanted);
}

static void orders(void) {
    TEST("each create of a session has a larger czxid than the create before") {
        static struct zkl_session newest;
        check_created(&newest, 5, ZKL_ERROR_NONE);
        check_created(&newest, 5, ZKL_ERROR_MARSHALLING);
        check_created(&newest, 6, ZKL_ERROR_NONE);
    }
}

static int rc_of_transaction(const struct zkl_result *results) {
    static const struct zkl_op ops[] = {
        {.kind = ZKL_OP_CREATE, .mode = ZKL_SEQUENTIAL, .path = "/l/a-"},
        {.kind = ZKL_OP_CREATE, .mode = ZKL_EPHEMERAL, .path = "/l/b"},
        {.kind = ZKL_OP_CHECK, .path = "/l/c"}};
    static const struct zkl_rpc rpc = {.kind = ZKL_RPC_MULTI, .ops = ops, .count = 3};
    return rc_of(&zkl_guard_call, 0, &rpc, (struct answer){.results = results});
}

static void transactions(void) {
    TEST("a transaction that was carried out has a good result of each operation") {
        struct zkl_result results[3] = {{.created = "/l/a-0000000001"}};
        CHECK_IS(rc_of_transaction(results), ZKL_ERROR_NONE);
        CHECK_IS(rc_of_transaction(NULL), ZKL_ERROR_MARSHALLING);
        results[2].error = ZKL_UNANSWERED;
        CHECK_IS(rc_of_transaction(results), ZKL_ERROR_MARSHALLING);
        results[2].error = ZKL_ERROR_NONE;
        results[0].created = "/l/b-0000000001";
        CHECK_IS(rc_of_transaction(results), ZKL_ERROR_MARSHALLING);
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
        {"an empty first name", 2, {"", "a"}, ZKL_ERROR_MARSHALLING},
        {"an empty name", 2, {"a", ""}, ZKL_ERROR_MARSHALLING},
        {"two segments", 2, {"a", "b/c"}, ZKL_ERROR_MARSHALLING},
        {"a control character", 2, {"a", "b\x1f"}, ZKL_ERROR_MARSHALLING},
        {"DEL", 2, {"a", "b\x7f"}, ZKL_ERROR_MARSHALLING},
        {"a negative count", -1, {"a", "b"}, ZKL_ERROR_MARSHALLING},
    };
    TEST("a list of children with a name that no node can have is rejected") {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct answer answer = {.names = rows[i].names, .count = rows[i].count};
            CHECK_CASE("%s", rows[i].what);
            CHECK_IS(rc_of(OF_STAKE(LIST), 0, NULL, answer), rows[i].wanted);
            CHECK_IS(rc_of(OF_QUERY(CHILDREN), 0, NULL, answer), rows[i].wanted);
        }
    }
    TEST("an empty list needs no names, a longer one does") {
        CHECK_IS(rc_of(OF_STAKE(LIST), 0, NULL, (struct answer){0}), ZKL_ERROR_NONE);
        CHECK_IS(rc_of(OF_STAKE(LIST), 0, NULL, (struct answer){.count = 1}),
                 ZKL_ERROR_MARSHALLING);
    }
}

static int rc_of_get(const struct call_kind *kind, const struct zkl_stat *stat, const char *text,
                     int size) {
    return rc_of(kind, 0, NULL, (struct answer){.stat = stat, .text = text, .size = size});
}

static void reads(void) {
    TEST("data of n bytes have n bytes, and come with a stat") {
        CHECK_IS(rc_of_get(OF_QUERY(GET), &zero, "abc", 3), ZKL_ERROR_NONE);
        CHECK_IS(rc_of_get(OF_QUERY(GET), &zero, NULL, 0), ZKL_ERROR_NONE);
        CHECK_IS(rc_of_get(OF_QUERY(GET), &zero, NULL, -1), ZKL_ERROR_NONE);
        CHECK_IS(rc_of_get(OF_QUERY(GET), &zero, NULL, -2), ZKL_ERROR_MARSHALLING);
        CHECK_IS(rc_of_get(OF_QUERY(GET), &zero, NULL, 3), ZKL_ERROR_MARSHALLING);
        CHECK_IS(rc_of_get(OF_QUERY(GET), NULL, "abc", 3), ZKL_ERROR_MARSHALLING);
    }
    TEST("a node in a lock's path has a czxid and a version") {
        static const struct call_kind *const kinds[] = {OF_STAKE(GET_OWN), OF_QUERY(ENTRY),
                                                        OF_STAKE(MARK)};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            CHECK_IS(rc_of_get(kinds[i], &good, "abc", 3), ZKL_ERROR_NONE);
            CHECK_IS(rc_of_get(kinds[i], NULL, "abc", 3), ZKL_ERROR_MARSHALLING);
            CHECK_IS(rc_of_get(kinds[i], &zero, "abc", 3), ZKL_ERROR_MARSHALLING);
            CHECK_IS(rc_of_get(kinds[i], &negative, "abc", 3), ZKL_ERROR_MARSHALLING);
        }
        CHECK_IS(rc_of_get(OF_STAKE(GET_OWN), &good, NULL, 3), ZKL_ERROR_MARSHALLING);
    }
    TEST("a node that exists has a stat") {
        CHECK_IS(rc_of_get(&zkl_member_calls[MEMBER_EXISTS], &good, NULL, 0), ZKL_ERROR_NONE);
        CHECK_IS(rc_of_get(&zkl_member_calls[MEMBER_EXISTS], NULL, NULL, 0), ZKL_ERROR_MARSHALLING);
    }
    TEST("a delete's answer needs no content") {
        CHECK_IS(rc_of_get(OF_QUERY(BREAK), NULL, NULL, 0), ZKL_ERROR_NONE);
    }
    TEST("an answer with an error loses its content") {
        struct answer answer = {.rc = ZKL_ERROR_NO_NODE, .text = "abc", .size = 3, .stat = &good};
        CHECK_IS(rc_of(OF_QUERY(GET), 0, NULL, answer), ZKL_ERROR_NO_NODE);
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
