/* time.c - when the session has something to do. */
#include "internal.h"

void zkl_session_wake(struct zkl_session *session, zkl_time due) {
    if (due < session->due) session->due = due;
}

zkl_time zkl_session_after(const struct zkl_session *session, zkl_time timeout) {
    return timeout >= ZKL_NEVER - session->now ? ZKL_NEVER : session->now + timeout;
}
