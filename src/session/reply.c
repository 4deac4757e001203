/*
 * reply.c - sifts the replies of a server, before anything relies on them (answers.c).
 *
 *   - Only a reply of ZKL_ERROR_NONE has a content, and then all of it.
 *   - The path of a create is the requested path, with the parent's counter behind it if it is
 *     sequential. Its czxid is larger than that of the session's create before.
 *   - A list has no empty or impossible name; a name may come twice, or be of any length (line.c).
 *   - A node in a lock's path has a czxid above 0, and a version of at least 0.
 *   - Data of n bytes has n bytes.
 *   - A transaction that was carried out has a good result for each op.
 *
 * Any other reply is ZKL_UNKNOWN, as if it were lost, and proves nothing. The claim machine handles
 * good replies that contradict each other (zkl_claim_spend_round).
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "internal.h"

/* As libzookeeper calls it. */
#define NOT_UNDERSTOOD ZKL_ERROR_MARSHALLING

/* --- parts of a reply -------------------------------------------------------------------- */

/* "%010d" of an int32. */
static bool is_counter(const char *text) {
    size_t length = strlen(text);
    if (length != 10 && (length != 11 || *text != '-')) return false;
    size_t sign = *text == '-';
    return sign + strspn(text + sign, "0123456789") == length;
}

static bool is_created(const char *asked, const char *made, bool sequential) {
    size_t length = strlen(asked);
    if (!made || strncmp(made, asked, length) != 0) return false;
    return sequential ? is_counter(made + length) : made[length] == '\0';
}

/* A name that ZooKeeper allows, as far as it matters here. */
static bool is_name(const char *name) {
    if (!name || *name == '\0') return false;
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < 0x20 || c == 0x7f || c == '/') return false;
    }
    return true;
}

static bool is_lock_node(const struct zkl_stat *stat) {
    return stat && stat->czxid > 0 && stat->version >= 0;
}

/* --- replies ------------------------------------------------------------------------------- */

bool zkl_answer_is_creation(const struct call *call, const struct answer *answer) {
    struct zkl_session *session = call->session;
    bool sequential = call->op.mode == ZKL_SEQUENTIAL;
    if (!is_lock_node(answer->stat) || answer->stat->czxid <= session->newest_czxid) return false;
    if (!is_created(call->node, answer->text, sequential)) return false;
    session->newest_czxid = answer->stat->czxid;
    return true;
}

bool zkl_answer_is_transaction(const struct call *call, const struct answer *answer) {
    const struct zkl_result *results = answer->results;
    for (size_t i = 0; results && i < call->rpc.count; i++) {
        const struct zkl_op *op = &call->rpc.ops[i];
        bool sequential = op->kind == ZKL_OP_CREATE && op->mode == ZKL_SEQUENTIAL;
        if (results[i].error != ZKL_ERROR_NONE) return false;
        if (sequential && !is_created(op->path, results[i].created, true)) return false;
    }
    return results != NULL;
}

bool zkl_answer_is_list(const struct call *call, const struct answer *answer) {
    (void)call;
    if (answer->count < 0 || (answer->count > 0 && !answer->names)) return false;
    for (int i = 0; i < answer->count; i++)
        if (!is_name(answer->names[i])) return false;
    return true;
}

/* Size -1 means no data. */
bool zkl_answer_is_data(const struct call *call, const struct answer *answer) {
    (void)call;
    return answer->stat && answer->size >= -1 && (answer->size <= 0 || answer->text);
}

bool zkl_answer_is_node(const struct call *call, const struct answer *answer) {
    return zkl_answer_is_data(call, answer) && is_lock_node(answer->stat);
}

bool zkl_answer_is_version(const struct call *call, const struct answer *answer) {
    (void)call;
    return is_lock_node(answer->stat);
}

bool zkl_answer_is_stat(const struct call *call, const struct answer *answer) {
    (void)call;
    return answer->stat != NULL;
}

static bool is_sound(const struct call *call, const struct answer *answer) {
    if (answer->rc != ZKL_ERROR_NONE) return false;
    return !call->kind->is_sound || call->kind->is_sound(call, answer);
}

void zkl_reply_sift(const struct call *call, struct answer *answer) {
    if (is_sound(call, answer)) return;
    int rc = answer->rc == ZKL_ERROR_NONE ? NOT_UNDERSTOOD : answer->rc;
    *answer = (struct answer){.rc = rc, .results = answer->results};
}

size_t zkl_answer_size(const struct answer *answer) {
    return answer->size > 0 ? (size_t)answer->size : 0;
}

bool zkl_answer_has(const struct answer *answer, const char *data, size_t size) {
    return zkl_answer_size(answer) == size && (size == 0 || memcmp(answer->text, data, size) == 0);
}

char *zkl_answer_copy(const struct answer *answer) {
    size_t size = zkl_answer_size(answer);
    char *copy = malloc(size + 1);
    if (copy && size) memcpy(copy, answer->text, size);
    return copy;
}
