/*
 * member.h - ephemeral nodes that exist as long as their users want them. The user and, until
 * ENDED, the session's list hold references.
 */
#ifndef ZKL_SESSION_MEMBER_H
#define ZKL_SESSION_MEMBER_H

#include "follower.h"

/* The node at the member's path, as far as is known. */
enum member_node {
    MEMBER_NODE_ABSENT, /* absent, or another client's */
    MEMBER_NODE_UNSEEN, /* not known, so a get is due */
    MEMBER_NODE_OURS /* seen in this connection as this ZooKeeper session's, and no event since */
};

/* The parents of its node. If an attempt finds them missing, the next makes them. */
enum member_parents {
    MEMBER_PARENTS_THERE, /* as far as is known */
    MEMBER_PARENTS_MISSING,
    MEMBER_PARENTS_MADE,         /* in the same flight as the create */
    MEMBER_PARENTS_MISSING_AGAIN /* although the attempt made them */
};

struct zkl_member {
    struct follower base; /* first */
    enum zkl_member_state state;
    enum zkl_code code; /* reason of ENDED */
    int error;          /* the server's error code for `code` */
    char *path;
    char *data;                          /* for its requests */
    char *next_data;                     /* by a later set, until no request is out; or NULL */
    uint64_t newest_number, data_number; /* numbers of the newest set, and of `data`; 0: join */
    uint64_t settled_number;             /* the last data's that the node got, or was refused */
    struct zkl_request *sets;            /* that wait until their data are settled; references */
    struct watch *watch;
    struct zkl_request *join; /* NULL: its user took the member, or dropped it */
    unsigned changes;
    enum member_node node;
    int64_t czxid;   /* the own node's, as seen last */
    int32_t version; /* its data's version */
    enum member_parents parents;
    enum zkl_code refusal; /* by the last attempt; OK: not refused */
    int refusal_error;
    zkl_time act_at;      /* when to ask next; ZKL_NEVER: after an event */
    zkl_time asked_at;    /* when it asked last */
    zkl_time doubt_until; /* a lost create may be carried out until then */
};

enum member_call {
    MEMBER_PARENT,
    MEMBER_CREATE,
    MEMBER_GET,    /* to see the node's owner */
    MEMBER_EXISTS, /* likewise, if we may not read the node */
    MEMBER_SET,
    MEMBER_REMOVE,
    MEMBER_CALLS
};

extern const struct call_kind zkl_member_calls[MEMBER_CALLS];

void zkl_member_suspend_all(struct zkl_session *session); /* the connection is lost */

/* --- for member_answers.c ------------------------------------------------------------------- */

/* Time between attempts. */
#define MEMBER_PAUSE (ZKL_SECOND / 10)

struct zkl_member *zkl_member_find(const struct zkl_session *session,
                                   const char *path); /* or NULL */
void zkl_member_post_news(struct zkl_member *member);
void zkl_member_change_state(struct zkl_member *member, enum zkl_member_state state);
void zkl_member_note_reason(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_end(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_note_absence(struct zkl_member *member);
void zkl_member_settle(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_lose_sight(struct zkl_member *member);
void zkl_member_act_after(struct zkl_member *member, zkl_time pause);
void zkl_member_check_later(struct zkl_member *member);
void zkl_member_read(struct zkl_member *member, enum member_call kind, enum zkl_rpc_kind rpc);
void zkl_member_event(struct follower *follower, enum zkl_node_event event, const char *node);
void zkl_member_expire(struct follower *follower, enum zkl_code refusal);
void zkl_member_start(struct follower *follower); /* if a step is due */

#endif
