/* member.h - nodes of this session that are there as long as their users want them. */
#ifndef ZKL_SESSION_MEMBER_H
#define ZKL_SESSION_MEMBER_H

#include "follower.h"

/* The state of the node of the member's name, as far as it is known. */
enum member_node {
    MEMBER_NODE_ABSENT, /* it is not there, or another's */
    MEMBER_NODE_UNSEEN, /* whether it is there, and whose, has to be looked at */
    MEMBER_NODE_OURS /* seen in this connection as this ZooKeeper session's, and no event since */
};

/* The parents of its node. An attempt makes those that the one before found missing. */
enum member_parents {
    MEMBER_PARENTS_THERE, /* for all that is known */
    MEMBER_PARENTS_MISSING,
    MEMBER_PARENTS_MADE,         /* by this attempt */
    MEMBER_PARENTS_MISSING_AGAIN /* this attempt made them, and found them missing */
};

struct zkl_member {
    struct follower base; /* first; counted by the list, too, until ENDED */
    enum zkl_member_state state;
    enum zkl_code code; /* ENDED: why */
    int error;          /* the server's error code behind that */
    char *path;
    char *data;  /* that its requests write: the user's `current` */
    char *newer; /* the user's `newest`, set while requests were out; NULL: these are `data` */
    uint64_t newest, current;    /* data are numbered; 0: the join's */
    uint64_t settled;            /* the last that its node had, or was refused for */
    struct zkl_request *sets;    /* that wait for their data to be settled; counted */
    struct watch *watch;         /* the watch of the node; pinned until ENDED */
    struct zkl_request *request; /* the join; NULL: the member was taken, or is leaving */
    unsigned changes;            /* how often its state has changed */
    enum member_node node;
    int64_t czxid;   /* the own node that was seen last */
    int32_t version; /* of the data of that */
    enum member_parents parents;
    enum zkl_code refusal; /* what this attempt was refused for, and the error code */
    int refused;
    zkl_time act_at;   /* when to ask again; ZKL_NEVER: when something comes */
    zkl_time asked_at; /* the last request */
    zkl_time doubt_at; /* until then a create whose reply was lost may be carried out */
};

enum member_call {
    MEMBER_PARENT, /* create of a missing parent */
    MEMBER_CREATE,
    MEMBER_GET,    /* whose node it is */
    MEMBER_EXISTS, /* the same of a node that may not be read */
    MEMBER_SET,
    MEMBER_REMOVE,
    MEMBER_CALLS
};

extern const struct call_kind zkl_member_calls[MEMBER_CALLS];

void zkl_member_suspend_all(struct zkl_session *session); /* the connection is lost */

/* --- for member_answers.c ------------------------------------------------------------------- */

/* How long an attempt waits after one that brought nothing. */
#define MEMBER_PAUSE (ZKL_SECOND / 10)

struct zkl_member *zkl_member_find(const struct zkl_session *session,
                                   const char *path); /* or NULL */
void zkl_member_post(struct zkl_member *member);
void zkl_member_change(struct zkl_member *member, enum zkl_member_state state);
void zkl_member_conclude(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_end(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_be_gone(struct zkl_member *member);
void zkl_member_settle(struct zkl_member *member, enum zkl_code code, int error);
void zkl_member_lose_sight(struct zkl_member *member);
void zkl_member_act_after(struct zkl_member *member, zkl_time pause);
void zkl_member_check_later(struct zkl_member *member);
void zkl_member_look(struct zkl_member *member, enum member_call kind, enum zkl_rpc_kind rpc);
void zkl_member_event(struct follower *follower, enum zkl_node_event event, const char *node);
void zkl_member_expire(struct follower *follower, enum zkl_code refusal);
void zkl_member_start(struct zkl_member *member); /* does the next step is due, if nothing is out */

#endif
