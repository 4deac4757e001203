/*
 * reply.c - any answer to any request is read safely. Without an error it has all that its kind
 * needs, else no content.
 *
 * Bounds:
 *   forms       all
 *   results     to COUNT, one for each operation; the loop has one body for all
 *   names       to COUNT in a list, each of any text to NAME bytes, or NULL
 *   paths       to PATH bytes when asked for, 11 more when created
 *   data        not read
 *
 * cbmc: --unwind 16
 */
#include "../../src/session/reply.c"

#include "any.h"

/* CBMC has no strspn. */
size_t strspn(const char *text, const char *accepted) {
    size_t count = 0;
    while (text[count] && strchr(accepted, text[count])) count++;
    return count;
}

enum { COUNT = 2, NAME = 3, PATH = 2, MADE = PATH + 12 };

static char asked[PATH + 1], made[MADE + 1], names[COUNT][NAME + 1], others[COUNT][MADE + 1];

static bool is_plain(const char *name) {
    if (!name || !*name) return false;
    for (int i = 0; i < NAME && name[i]; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/') return false;
    return true;
}

static bool has_number(const char *path, const char *created) {
    size_t length = strlen(path), whole = strlen(created);
    return whole >= length + 10 && whole <= length + 11 && memcmp(path, created, length) == 0;
}

static void fill(char *text, size_t size) {
    for (size_t i = 0; i < size; i++) text[i] = nondet_char();
    text[size] = '\0';
}

enum form { ANY, CREATION, TRANSACTION, LIST, DATA, NODE, VERSION, STAT, FORMS };

static zkl_answer_form *const forms[FORMS] = {
    NULL,
    zkl_answer_is_creation,
    zkl_answer_is_transaction,
    zkl_answer_is_list,
    zkl_answer_is_data,
    zkl_answer_is_node,
    zkl_answer_is_version,
    zkl_answer_is_stat,
};

int main(void) {
    struct zkl_session *session = malloc(sizeof *session);
    ASSUME(session);
    struct zkl_op ops[COUNT];
    struct zkl_result results[COUNT];
    struct zkl_stat stat;
    const char *list[COUNT];
    int form = nondet_int();
    ASSUME(form >= ANY && form < FORMS);
    struct call_kind kind = {.is_sound = forms[form]};
    struct call call = {.session = session, .kind = &kind, .node = asked};
    fill(asked, PATH);
    fill(made, MADE);
    for (int i = 0; i < COUNT; i++) {
        fill(names[i], NAME);
        fill(others[i], MADE);
        list[i] = nondet_bool() ? names[i] : NULL;
        ops[i].path = asked;
        results[i].created = nondet_bool() ? others[i] : NULL;
    }
    call.op.mode = nondet_bool() ? ZKL_SEQUENTIAL : ZKL_EPHEMERAL;
    call.rpc.ops = ops;
    call.rpc.count = nondet_size();
    ASSUME(call.rpc.count <= COUNT);
    struct answer answer = {.rc = nondet_int(),
                            .text = nondet_bool() ? made : NULL,
                            .size = nondet_int(),
                            .stat = nondet_bool() ? &stat : NULL,
                            .names = nondet_bool() ? list : NULL,
                            .count = nondet_int(),
                            .results = nondet_bool() ? results : NULL};
    ASSUME(answer.count <= COUNT);
    int64_t created = session->newest_czxid;
    int rc = answer.rc;

    zkl_reply_sift(&call, &answer);
    SHOW(rc == ZKL_ERROR_NONE || answer.rc == rc, "an error stays that error");
    SHOW(session->newest_czxid >= created, "the newest create stays the newest");
    if (answer.rc != ZKL_ERROR_NONE) {
        SHOW(!answer.stat && !answer.text && !answer.names && answer.count == 0 && answer.size == 0,
             "an error has no content");
        return 0;
    }
    switch ((enum form)form) {
    case CREATION:
        SHOW(answer.stat && answer.stat->czxid > created, "a create is newer than those before");
        SHOW(session->newest_czxid == answer.stat->czxid, "a create is the newest from then on");
        SHOW(answer.text && strncmp(answer.text, asked, strlen(asked)) == 0,
             "a created path begins as it was asked for");
        SHOW(call.op.mode != ZKL_SEQUENTIAL || has_number(asked, answer.text),
             "a created path has a number");
        break;
    case TRANSACTION:
        SHOW(answer.results, "a transaction has results");
        for (size_t i = 0; i < call.rpc.count; i++) {
            SHOW(answer.results[i].error == ZKL_ERROR_NONE,
                 "a transaction without an error has good results");
            bool counts = ops[i].kind == ZKL_OP_CREATE && ops[i].mode == ZKL_SEQUENTIAL;
            SHOW(!counts || has_number(asked, answer.results[i].created),
                 "each create of a transaction has its number");
        }
        break;
    case LIST:
        SHOW(answer.count >= 0, "a list is not of a negative length");
        for (int i = 0; i < answer.count; i++)
            SHOW(is_plain(answer.names[i]), "each name is one that a node may have");
        break;
    case NODE:
        SHOW(answer.stat && answer.stat->czxid > 0 && answer.stat->version >= 0,
             "a lock's node has a czxid and a version");
        SHOW(answer.size <= 0 || answer.text, "data with a size exist");
        break;
    case DATA: SHOW(answer.stat && (answer.size <= 0 || answer.text), "a node's data exist"); break;
    case VERSION: SHOW(answer.stat && answer.stat->version >= 0, "a version is at least 0"); break;
    case STAT: SHOW(answer.stat, "a stat exists"); break;
    default: break;
    }
    return 0;
}
