/* internal.h - declarations for src/world. A world has one thread. */
#ifndef ZKL_WORLD_INTERNAL_H
#define ZKL_WORLD_INTERNAL_H

#include "../memory/letter.h"
#include "../memory/tree.h"
#include "../shell/runtime.h"
#include "agenda.h"
#include "world.h"

/*
 * A world's clock begins at BEGIN, because a server's milliseconds are never 0. EPOCH is the
 * beginning in milliseconds since 1970.
 */
#define BEGIN_MS 1
#define BEGIN (BEGIN_MS * ZKL_SECOND / 1000)
#define EPOCH INT64_C(1577836800000)

/* A server or a client in the agenda. */
struct item {
    struct zkl_due due;
    bool is_server;
};

struct server {
    struct item item;
    struct server *next;
    char *name;
    struct zkl_tree *tree;
    zkl_time delay;          /* added to each packet from the server */
    struct zkl_link **links; /* by session number, from 1 */
    size_t room;
};

/* An object that the collector found, to be dropped at the world's end. */
struct deferred {
    struct deferred *next;
    void *object;
    void (*drop)(void *object);
};

/* A client of a world. */
struct resident {
    struct zkl_client client;
    struct item item;
    struct zkl_world *world; /* NULL: it has ended */
    struct resident *next;
    struct zkl_list place; /* in the world's news, or in none */
    uint32_t number, process;
    bool stopped, dead;
    struct deferred *deferred;
    zkl_time stopped_at, ended_at; /* ended_at: the world's end, by its clock */
};

/* True for a client that receives packets and makes rounds. */
static inline bool zkl_resident_runs(const struct resident *resident) {
    return !resident->stopped && !resident->dead;
}

struct messages {
    struct zkl_world_message *list;
    size_t count, room, limit; /* `limit` is the largest `count` */
};

struct zkl_world {
    zkl_time now, longest_delay, changed_at;
    bool packets_held;                      /* no packet arrives before it is hastened */
    uint64_t random[ZKL_WORLD_STREAMS + 1]; /* the last is the world's own */
    struct zkl_agenda agenda;
    struct server *servers;
    struct resident *residents, **residents_end;
    struct resident **numbered; /* by number - 1 */
    size_t count, room;
    struct zkl_list news; /* residents with news */
    struct messages messages;
};

enum packet_kind {
    PACKET_OPEN,    /* to the server, for the link's session or a new one */
    PACKET_OPENED,  /* to the client */
    PACKET_EXPIRED, /* to the client, whose session is over */
    PACKET_PING,    /* to the server, without an answer */
    PACKET_REQUEST, /* to the server */
    PACKET_ANSWER,  /* to the client; was a PACKET_REQUEST */
    PACKET_EVENT,   /* to the client */
    PACKET_CLOSE,   /* to the server */
    PACKET_CLOSED   /* to the client */
};

struct packet {
    struct zkl_list place;
    enum packet_kind kind;
    zkl_time sent, due;
    struct zkl_rpc *rpc;
    struct zkl_letter *letter; /* answer or event */
    bool adrift;               /* its connection ended, so nobody waits for the answer */
    bool loss_told;            /* the client knows that the answer is lost */
};

struct zkl_link {
    struct resident *resident;
    char *chroot;
    zkl_time timeout;
    bool reopen;

    struct server *server;
    uint64_t session;  /* at the server; 0: none */
    zkl_time heard_at; /* when the server last heard of the session */

    bool wants_session;
    bool online;    /* connected or connecting */
    bool attached;  /* the server has tied the session to this connection */
    bool connected; /* as the client was told */
    bool cut;       /* no connection is possible */
    bool end_sent;  /* PACKET_CLOSE was sent */
    zkl_time open_at;
    zkl_time notice_at; /* when the client notices its connection's end */

    struct zkl_list up, down; /* packets under way */
    struct zkl_list missed;   /* events for the next connection */
    struct zkl_list lost;     /* requests whose answers were lost */
    struct zkl_list dropped;  /* requests that did not arrive */
};

/* world.c */
zkl_time zkl_world_draw_delay(struct zkl_world *world);
uint64_t zkl_world_chance(struct zkl_world *world, uint64_t bound); /* the world's own stream */
void zkl_resident_refresh(struct resident *resident); /* the next due time may have changed */

/* server.c */
struct server *zkl_world_server(struct zkl_world *world, const char *name); /* NULL: no memory */
struct server *zkl_world_find_server(const struct zkl_world *world, const char *name);
void zkl_server_free(struct server *server);
void zkl_server_tick(struct zkl_world *world, struct server *server);
/* Carries out a packet that arrived. */
void zkl_server_receive(struct zkl_world *world, struct zkl_link *link, struct packet *packet);
/* Call after each change of the tree. Sends the tree's events, and sets the server's next tick. */
void zkl_server_settle(struct zkl_world *world, struct server *server);
/* The server hears no more of the session, so it will expire. */
void zkl_server_stop_hearing(struct zkl_world *world, struct zkl_link *link);

/* link.c */
extern const struct zkl_link_class zkl_world_link;
zkl_time zkl_link_due(const struct zkl_link *link);
void zkl_link_carry_out(struct zkl_link *link); /* carries out the earliest due step */
void zkl_link_send_down(struct zkl_link *link, struct packet *packet);
/* Sends an event by this connection or the next. */
void zkl_link_send_event(struct zkl_link *link, struct packet *packet);
void zkl_link_release_packets(struct zkl_link *link);
/* Ends the connection. */
void zkl_link_break(struct zkl_link *link, zkl_time notice_at);
void zkl_link_notice_end(struct zkl_link *link);
/* After a stop of the process. */
void zkl_link_go_on(struct zkl_link *link, zkl_time stopped_for);

/* packet.c */
struct packet *zkl_packet_new(enum packet_kind kind); /* NULL: no memory */
struct packet *zkl_packet_of_event(enum zkl_node_event kind, const char *path);
struct packet *zkl_packet_first(const struct zkl_list *list); /* NULL: none */
void zkl_packet_free(struct packet *packet);
void zkl_packets_free(struct zkl_list *list);
/* Cuts a chroot of `hidden` bytes off paths. */
void zkl_packet_describe(const struct packet *packet, size_t hidden, char text[200]);

/* message.c */
/* `arrived` is ZKL_NEVER for a lost packet. */
void zkl_link_record(const struct zkl_link *link, const struct packet *packet, bool up,
                     zkl_time arrived);

#endif
