/*
 * rpc.h - requests to a ZooKeeper server, and its answers, as plain data.
 *
 * A session puts out requests of this form. A shell sends them, by libzookeeper (src/zookeeper) or
 * to a server inside the process (src/memory), and puts in the answers. Errors have the numbers of
 * ZooKeeper's protocol (KeeperException.Code).
 */
#ifndef ZKL_RPC_H
#define ZKL_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zkl_error {
    ZKL_ERROR_NONE = 0,
    ZKL_ERROR_SYSTEM = -1,
    ZKL_ERROR_RUNTIME_INCONSISTENCY = -2,
    ZKL_ERROR_CONNECTION_LOSS = -4, /* the request may have been carried out */
    ZKL_ERROR_MARSHALLING = -5,     /* not understood */
    ZKL_ERROR_UNIMPLEMENTED = -6,
    ZKL_ERROR_OPERATION_TIMEOUT = -7,
    ZKL_ERROR_BAD_ARGUMENTS = -8, /* an impossible path, or the root */
    ZKL_ERROR_INVALID_STATE = -9,
    ZKL_ERROR_UNKNOWN_SESSION = -12,
    ZKL_ERROR_NO_NODE = -101,
    ZKL_ERROR_NO_AUTH = -102,
    ZKL_ERROR_BAD_VERSION = -103,
    ZKL_ERROR_NO_CHILDREN_FOR_EPHEMERALS = -108,
    ZKL_ERROR_NODE_EXISTS = -110,
    ZKL_ERROR_NOT_EMPTY = -111,
    ZKL_ERROR_SESSION_EXPIRED = -112,
    ZKL_ERROR_INVALID_ACL = -114,
    ZKL_ERROR_AUTH_FAILED = -115,
    ZKL_ERROR_CLOSING = -116,
    ZKL_ERROR_SESSION_MOVED = -118,
    ZKL_ERROR_NO_WATCHER = -121,
    ZKL_ERROR_REQUEST_TIMEOUT = -122,
    ZKL_ERROR_QUOTA_EXCEEDED = -125,
    ZKL_ERROR_THROTTLED = -127
};

/* NULL for ZKL_ERROR_NONE. */
const char *zkl_error_words(int error);

/* --- requests ------------------------------------------------------------------------------- */

enum zkl_node_mode {
    ZKL_PERSISTENT,
    ZKL_EPHEMERAL,  /* it goes with the session */
    ZKL_SEQUENTIAL, /* ephemeral, and the server adds a number to its name */
    ZKL_CONTAINER   /* the server removes it some time after its last child */
};

enum zkl_op_kind { ZKL_OP_SET, ZKL_OP_CREATE, ZKL_OP_DELETE, ZKL_OP_CHECK };

struct zkl_op {
    enum zkl_op_kind kind;
    enum zkl_node_mode mode; /* CREATE */
    int32_t version;         /* expected version of the node, -1: any; not for CREATE */
    const char *path;
    const char *data; /* SET, CREATE */
    size_t size;
};

enum zkl_rpc_kind {
    ZKL_RPC_WRITE,           /* the one operation in `ops` */
    ZKL_RPC_MULTI,           /* all of `ops` or none */
    ZKL_RPC_LIST,            /* the names of a node's children */
    ZKL_RPC_SYNC,            /* the server catches up with the leader */
    ZKL_RPC_GET,             /* data and stat */
    ZKL_RPC_EXISTS,          /* stat; sets a watch also without a node */
    ZKL_RPC_UNWATCH,         /* removes the session's data watch of the node */
    ZKL_RPC_UNWATCH_CHILDREN /* its watch of the node's children */
};

struct zkl_rpc {
    uint64_t id; /* the call's, also in the answer */
    enum zkl_rpc_kind kind;
    const char *path; /* WRITE, MULTI: of the first op */
    bool watch; /* asks for an event when the node is changed or deleted; LIST: when it is deleted,
                   or a child comes or goes */
    const struct zkl_op *ops; /* WRITE, MULTI */
    size_t count;             /* length of `ops` */
};

/* --- answers ---------------------------------------------------------------------------------- */

struct zkl_stat {
    int64_t czxid, mzxid; /* zxids of its creation and last change */
    int32_t version;      /* the data's */
    int32_t aversion;     /* the ACL's */
    uint64_t owner;       /* the session of an ephemeral node, or 0 */
    int64_t ctime;        /* creation, by the server's clock; 0: not known */
};

/* The result of an op. */
struct zkl_result {
    int error;            /* ZKL_UNANSWERED: the server did not say */
    const char *created;  /* CREATE: its path, with its number */
    struct zkl_stat stat; /* SET, and CREATE of a WRITE: of the node, after it */
};

#define ZKL_UNANSWERED INT32_MAX

struct zkl_answer {
    int error;                        /* enum zkl_error, or another number of a server */
    const char *data;                 /* GET */
    int size;                         /* length of `data`; -1: the node has none */
    const struct zkl_stat *stat;      /* GET, EXISTS; NULL: none came */
    const char *const *names;         /* LIST */
    int count;                        /* length of `names` */
    const struct zkl_result *results; /* WRITE, MULTI: by op; NULL: only `error` is known */
};

enum zkl_node_event {
    ZKL_NODE_CREATED,
    ZKL_NODE_DELETED,
    ZKL_NODE_CHANGED,
    ZKL_NODE_CHILDREN /* a child came or went */
};

#endif
