/*
 * name.h - the names of lock nodes, written by zkl_name_prefix() and read by zkl_name_parse(). The
 * functions keep no state, so any thread may call them.
 *
 * We write Curator's protected form, so that Java, Go and Rust clients queue with us. Its uuid
 * tells the node's owner and the attempt that made it:
 *
 *   _c_<session: 16 hex><nonce: 16 hex, with the uuid's dashes>-lock-0000000042
 *
 * We recognise every known client's contender, a name that ends in one of the markers below and the
 * server's counter, `\d{10}` or `-\d{9,10}`. Any other child of a lock path is ignored.
 *
 *   lock-       Curator, go-zookeeper, zookeeper-client (Rust), ours
 *   __lock__    kazoo Lock and WriteLock      __rlock__  kazoo ReadLock
 *   __WRIT__    Curator write lock            __READ__   Curator read lock
 *   permit-3-of-10-                           ours, 3 permits of a semaphore of 10
 */
#ifndef ZKL_NAME_H
#define ZKL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for our longest name, with its counter and the final NUL. */
#define ZKL_NAME_SIZE 88

/*
 * The counter in a name is the parent's count of creations. At its maximum the server stops
 * counting (ZOOKEEPER-3249); later nodes share that number, but some made at one moment get
 * -2147483648. Servers before 3.6 went on with negative numbers. Seed Q-02.
 */
#define ZKL_SEQUENCE_LIMIT INT32_MAX

enum zkl_kind { ZKL_MUTEX, ZKL_READ, ZKL_WRITE, ZKL_UNFAIR, ZKL_PERMIT };

/* By kind; NULL at the end. */
extern const char *const zkl_kind_names[];

/* Whether a node serves one grant or several. */
enum zkl_reuse {
    ZKL_ONE_GRANT,
    ZKL_MANY_GRANTS, /* its tokens count its grants */
    ZKL_MAY_BE_KEPT  /* as ZKL_MANY_GRANTS, and the node may stay while nobody holds the lock */
};

struct zkl_name {
    enum zkl_kind kind;
    int32_t sequence; /* at most ZKL_SEQUENCE_LIMIT */
    int32_t permits;  /* PERMIT: how many, 1 to limit; else 0 */
    int32_t limit;    /* PERMIT: of the semaphore; else 0 */
    uint64_t session; /* from the uuid; 0: none */
    uint64_t nonce;
    enum zkl_reuse reuse; /* told by the nonce, if it is our mutex; else ZKL_ONE_GRANT */
};

/*
 * Bits in a node's nonce that tell its reuse. Nonces are counted, so a nonce with such a bit begins
 * with 0x4000 or 0x2000. In an RFC 4122 uuid, as Curator makes it, these 16 bits begin with 0x8 to
 * 0xb.
 */
#define ZKL_NONCE_KEEPS (UINT64_C(1) << 62)
#define ZKL_NONCE_COUNTS (UINT64_C(1) << 61)

/*
 * Data of a contender's node. ZKL_REVOKE_DATA alone, Curator's word, asks the holder to give way.
 * ZKL_HELD_WORD, behind any data, also behind that word, says that a node that may be kept is held,
 * and will not be kept.
 */
#define ZKL_REVOKE_DATA "__REVOKE__"
#define ZKL_HELD_WORD "\x1fheld"

bool zkl_data_says_held(const char *data, size_t size);
bool zkl_data_asks_to_give_way(const char *data, size_t size);

/* A signal, in the node of a waiter in a condition. */
#define ZKL_SIGNAL_DATA "__SIGNAL__"

/* Reads a child's name. False: it is no contender's. */
bool zkl_name_parse(const char *text, struct zkl_name *name);

/* Writes the name of a new node, without the counter that the server adds. */
void zkl_name_prefix(char text[ZKL_NAME_SIZE], enum zkl_kind kind, uint64_t session,
                     uint64_t nonce);

/* As zkl_name_prefix(), for a PERMIT. */
void zkl_name_permit_prefix(char text[ZKL_NAME_SIZE], int32_t permits, int32_t limit,
                            uint64_t session, uint64_t nonce);

/*
 * Writes the name of the reader that this writer of ours becomes, with the same uuid and, as in
 * Curator, the same number.
 */
void zkl_name_downgrade(char text[ZKL_NAME_SIZE], const char *writer);

/*
 * The node of ZKL_UNFAIR, a child of the lock's path, but no contender in a line. All clients use
 * this name, so it tells neither owner nor attempt.
 */
#define ZKL_NAME_FIXED "lock"

/* Nodes of this kind share one name. */
static inline bool zkl_kind_is_fixed(enum zkl_kind kind) {
    return kind == ZKL_UNFAIR;
}

/* Contenders of these kinds exclude each other; permits.h decides between two PERMITs. */
static inline bool zkl_kinds_exclude(enum zkl_kind a, enum zkl_kind b) {
    return a != ZKL_READ || b != ZKL_READ;
}

/* The number does not tell the order. */
static inline bool zkl_sequence_exhausted(int32_t sequence) {
    return sequence < 0 || sequence == ZKL_SEQUENCE_LIMIT;
}

#endif
