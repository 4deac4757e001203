/* rpc.c - words for a server's errors, as in libzookeeper. */
#include "rpc.h"

const char *zkl_error_words(int error) {
    switch (error) {
    case ZKL_ERROR_NONE: return NULL;
    case ZKL_ERROR_SYSTEM: return "system error";
    case ZKL_ERROR_RUNTIME_INCONSISTENCY: return "run time inconsistency";
    case ZKL_ERROR_CONNECTION_LOSS: return "connection loss";
    case ZKL_ERROR_MARSHALLING: return "marshalling error";
    case ZKL_ERROR_UNIMPLEMENTED:
        return "the server does not know the request: zklock needs ZooKeeper 3.5 or later, with "
               "create2 and multi (-6)";
    case ZKL_ERROR_OPERATION_TIMEOUT: return "operation timeout";
    case ZKL_ERROR_BAD_ARGUMENTS: return "bad arguments";
    case ZKL_ERROR_INVALID_STATE: return "invalid zhandle state";
    case ZKL_ERROR_NO_NODE: return "no node";
    case ZKL_ERROR_NO_AUTH: return "not authenticated";
    case ZKL_ERROR_BAD_VERSION: return "bad version";
    case ZKL_ERROR_NO_CHILDREN_FOR_EPHEMERALS: return "no children for ephemerals";
    case ZKL_ERROR_NODE_EXISTS: return "node exists";
    case ZKL_ERROR_NOT_EMPTY: return "not empty";
    case ZKL_ERROR_SESSION_EXPIRED: return "session expired";
    case ZKL_ERROR_INVALID_ACL: return "invalid acl";
    case ZKL_ERROR_AUTH_FAILED: return "authentication failed";
    case ZKL_ERROR_CLOSING: return "zookeeper is closing";
    case ZKL_ERROR_SESSION_MOVED: return "session moved to another server, so operation is ignored";
    case ZKL_ERROR_NO_WATCHER: return "the watcher couldn't be found";
    case ZKL_ERROR_QUOTA_EXCEEDED: /* libzookeeper 3.8.0 has no words for it */
        return "the server refuses: a hard quota of the path is exceeded (-125)";
    case ZKL_ERROR_THROTTLED: return "Operation was throttled due to high load";
    default: return "unknown error";
    }
}
