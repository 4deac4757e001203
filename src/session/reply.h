/*
 * reply.h - a server's answer as call_kind.answer() gets it, valid until that returns, and checks
 * of its content.
 */
#ifndef ZKL_SESSION_REPLY_H
#define ZKL_SESSION_REPLY_H

#include "../core/claim_state.h"
#include "rpc.h"

struct call;

struct answer {
    int rc; /* enum zkl_error */
    enum zkl_reply reply;
    enum zkl_code why; /* REFUSED: for the user */
    const char *text;  /* data, or the path of a single create */
    int size;          /* length of data */
    const struct zkl_stat *stat;
    const char *const *names;
    int count; /* length of `names` */
    const struct zkl_result *results;
    zkl_time now;
};

/* Gives a malformed answer an rc that counts as unknown. */
void zkl_reply_sift(const struct call *call, struct answer *answer);

/* Checks of an answer's content, for call_kind.is_sound. */
typedef bool zkl_answer_form(const struct call *call, const struct answer *answer);
zkl_answer_form zkl_answer_is_creation; /* a lock's node */
zkl_answer_form zkl_answer_is_transaction;
zkl_answer_form zkl_answer_is_list;
zkl_answer_form zkl_answer_is_data;
zkl_answer_form zkl_answer_is_node;    /* a node in a lock's path */
zkl_answer_form zkl_answer_is_version; /* the version of such a node */
zkl_answer_form zkl_answer_is_stat;

/* The data of a get, as size, comparison, and copy (NULL: out of memory). */
size_t zkl_answer_size(const struct answer *answer);
bool zkl_answer_has(const struct answer *answer, const char *data, size_t size);
char *zkl_answer_copy(const struct answer *answer);

#endif
