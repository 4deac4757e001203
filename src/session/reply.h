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
bool zkl_answer_is_creation(const struct call *call, const struct answer *answer); /* a lock's */
bool zkl_answer_is_transaction(const struct call *call, const struct answer *answer);
bool zkl_answer_is_list(const struct call *call, const struct answer *answer);
bool zkl_answer_is_data(const struct call *call, const struct answer *answer);
bool zkl_answer_is_node(const struct call *call,
                        const struct answer *answer); /* in a lock's path */
bool zkl_answer_is_version(const struct call *call,
                           const struct answer *answer); /* of such a one */
bool zkl_answer_is_stat(const struct call *call, const struct answer *answer);

/* The data of a get: their size; whether they are these bytes; a copy (NULL: out of memory). */
size_t zkl_answer_size(const struct answer *answer);
bool zkl_answer_has(const struct answer *answer, const char *data, size_t size);
char *zkl_answer_copy(const struct answer *answer);

#endif
