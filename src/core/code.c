#include "code.h"

const char *zkl_code_name(enum zkl_code code) {
    switch (code) {
    case ZKL_OK: return "ok";
    case ZKL_TIMEOUT: return "timeout";
    case ZKL_IN_DOUBT: return "unknown";
    case ZKL_LOST: return "lost";
    case ZKL_RELEASED: return "released";
    case ZKL_EXPIRED: return "expired";
    case ZKL_CONNECTION: return "connection";
    case ZKL_CLOSED: return "closed";
    case ZKL_INTERRUPTED: return "interrupted";
    case ZKL_NOT_OWNER: return "not_owner";
    case ZKL_WOULD_DEADLOCK: return "would_deadlock";
    case ZKL_CONFLICT: return "conflict";
    case ZKL_AUTH: return "auth";
    case ZKL_NO_NODE: return "no_node";
    case ZKL_TOO_MANY: return "too_many";
    case ZKL_BUSY: return "busy";
    case ZKL_NO_MEMORY: return "no_memory";
    case ZKL_UNSUPPORTED: return "unsupported";
    case ZKL_CONTEXT: return "context";
    case ZKL_FORKED: return "forked";
    }
    return "no code";
}
