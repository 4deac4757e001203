/*
 * code.h - the codes with which an operation can end, as constants for any thread.
 * docs/reference/codes.md says when each is given.
 */
#ifndef ZKL_CODE_H
#define ZKL_CODE_H

enum zkl_code {
    ZKL_OK,
    ZKL_TIMEOUT,    /* the deadline passed; for a try, no answer showed a holder */
    ZKL_IN_DOUBT,   /* "unknown": carried out, or may have been, or may yet be */
    ZKL_LOST,       /* the lease was lost before its release */
    ZKL_RELEASED,   /* this handle was released before */
    ZKL_EXPIRED,    /* the ZooKeeper session ended while waiting */
    ZKL_CONNECTION, /* connect() found no server in time */
    ZKL_CLOSED,
    ZKL_INTERRUPTED,    /* session:interrupt(), or an error in the wait */
    ZKL_NOT_OWNER,      /* the lease belongs to another lock */
    ZKL_WOULD_DEADLOCK, /* the owner would wait for itself */
    ZKL_CONFLICT,       /* the path is in use by another kind of lock */
    ZKL_AUTH,           /* the server's ACL refuses */
    ZKL_NO_NODE,        /* the chroot, or the node that was asked for, does not exist */
    ZKL_TOO_MANY,       /* too many paths of nodes, or of watches, in one session */
    ZKL_BUSY,           /* a try saw a holder or a contender; or `max_waiters` wait already */
    ZKL_NO_MEMORY,
    ZKL_UNSUPPORTED, /* not built, or not possible here */
    ZKL_CONTEXT,     /* the event loop does not allow this call here */
    ZKL_FORKED       /* the session belongs to the parent process */
};

/* Static text, never NULL. */
const char *zkl_code_name(enum zkl_code code);

#endif
