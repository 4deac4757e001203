/* link.h - a client's connection through the proxy, and the faults done to it
 *
 * A link has two sockets and a lane for each direction. It admits requests and
 * replies, counts them, matches replies to requests, and applies the rules.
 */
#ifndef RIG_LINK_H
#define RIG_LINK_H

#include "lane.h"

#include <netinet/in.h>

/* Operations are small integers from 0. */
const char *operation_name(int operation); /* NULL after the last one */
int operation_of_name(const char *name);   /* -1: unknown name */

enum { OPERATIONS_MAX = 32 };

enum action { PASS, DROP_REQUEST, CUT_AFTER, DROP_REPLY, HOLD };

/* Acts on the request that brings `remaining` to zero. */
struct rule {
    enum action action;
    int operation;
    long remaining;
};

/* State that all links share. */
struct traffic {
    bool up_open;        /* requests are forwarded */
    bool down_open;      /* replies and events are forwarded */
    nanoseconds one_way; /* delay in each direction */
    struct fifo rules;   /* each a struct rule, in the order given */
    uint32_t lacks;      /* a bit for each operation whose requests are dropped */
    bool deaf;           /* to four-letter words */
    bool renews;         /* connect requests are made to ask for a new session */
    unsigned long requests[OPERATIONS_MAX]; /* forwarded in full, by operation */
    unsigned long flights;                  /* bursts */
    unsigned long events;                   /* forwarded in full */
    uint64_t up_bytes, down_bytes;          /* frames that were forwarded in full */
};

struct link {
    int client, server;  /* sockets; -1 when closed */
    bool connecting;     /* the server's socket is not ready for writing */
    struct lane up;      /* from the client to the server */
    struct lane down;    /* from the server to the client */
    struct fifo awaited; /* requests without a reply, each a struct awaited (link.c) */
    bool greeted;        /* the connect request has been admitted */
    bool welcomed;       /* the connect reply has been admitted */
    bool held;           /* by a hold rule */
    bool judged;         /* the rules were applied to the first request in `up` */
    uint64_t burst;      /* number of the latest burst */
    bool burst_open;     /* no reply to it has been forwarded */
    bool up_done, down_done;
};

/* Takes over the client's socket, and begins to connect to the target. */
struct link *link_open(int client, const struct sockaddr_in *target);

/* Reads from the ready sockets. */
void link_read(struct link *link, bool client_ready, bool server_ready);

/* Moves all that can move at `now`. */
void link_run(struct link *link, struct traffic *traffic, nanoseconds now);

/* When link_run is to be called again even if no socket is ready. */
nanoseconds link_due(const struct link *link, const struct traffic *traffic);

void link_reset(struct link *link);
bool link_finished(const struct link *link);
void link_free(struct link *link);

#endif
