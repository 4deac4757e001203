/* reply.h - what a server's answer looks like to the part that asked. */
#ifndef ZKL_SESSION_REPLY_H
#define ZKL_SESSION_REPLY_H

#include "../core/claim_state.h"
#include "rpc.h"

struct call;

struct answer {
    int rc; /* enum zkl_error */
    enum zkl_reply reply;
    enum zkl_code why; /* REFUSED: the code for the user */
    const char *text;  /* data, or the path that a single create made */
    int size;          /* of data */
    const struct zkl_stat *stat;
    const char *const *names;
    int count; /* of them */
    const struct zkl_result *results;
    zkl_time now;
};

/* An answer that no server gives becomes one that was not understood. */
void zkl_reply_sift(const struct call *call, struct answer *answer);

/* Forms of an answer without an error, by what is taken from it. */
typedef bool zkl_answer_form(const struct call *call, const struct answer *answer);
zkl_answer_form zkl_answer_is_creation; /* a lock's */
zkl_answer_form zkl_answer_is_transaction;
zkl_answer_form zkl_answer_is_list;
zkl_answer_form zkl_answer_is_data;
zkl_answer_form zkl_answer_is_node;    /* in a lock's path */
zkl_answer_form zkl_answer_is_version; /* of such a one */
zkl_answer_form zkl_answer_is_stat;

/* The data of a get: their size; whether they are these bytes; a copy (NULL: out of memory). */
size_t zkl_answer_size(const struct answer *answer);
bool zkl_answer_has(const struct answer *answer, const char *data, size_t size);
char *zkl_answer_copy(const struct answer *answer);

#endif
