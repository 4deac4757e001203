/* internal.h - what the files of src/world share. */
#ifndef ZKL_WORLD_INTERNAL_H
#define ZKL_WORLD_INTERNAL_H

#include "../memory/letter.h"
#include "../memory/tree.h"
#include "../shell/runtime.h"
#include "agenda.h"
#include "world.h"

/*
 * A world begins right after its machine's boot, so that small times are seen; a server's time in
 * milliseconds is not 0. The epoch is that moment in milliseconds since 1970.
 */
#define BEGIN_MS 1
#define BEGIN (BEGIN_MS * ZKL_SECOND / 1000)
#define EPOCH INT64_C(1577836800000)

/* An entry of the agenda: a server's tree, or a client. */
struct item {
    struct zkl_due due;
    bool is_server;
};

struct server {
    struct item item;
    struct server *next;
    char *name;
    struct zkl_tree *tree;
    zkl_time delay;          /* of each packet, in addition */
    struct zkl_link **links; /* by the number of their session, which a tree counts from 1 */
    size_t room;
};

/* A request, lease or watcher that the collector found; it is dropped when the world is over. */
struct deferred {
    struct deferred *next;
    void *held;
    void (*drop)(void *held);
};

/* A client of this world. */
struct resident {
    struct zkl_client client;
    struct item item;
    struct zkl_world *world; /* NULL: it is over */
    struct resident *next;
    struct zkl_list place; /* in the world's news, or alone */
    uint32_t number, process;
    bool stopped, dead;
    struct deferred *deferred;
    zkl_time stopped_at, ended_at; /* ended_at: when the world was over */
};

/* Packets arrive at the client, and it does its rounds. */
static inline bool zkl_resident_runs(const struct resident *resident) {
    return !resident->stopped && !resident->dead;
}

struct messages {
    struct zkl_world_message *list;
    size_t count, room, most; /* most: what is over it is not kept */
};

struct zkl_world {
    zkl_time now, delay, changed;
    bool held; /* packets arrive when they are hastened, and not by time */
    uint64_t random[ZKL_WORLD_STREAMS + 1]; /* the last stream is the world's own */
    struct zkl_agenda agenda;
    struct server *servers;
    struct resident *residents, **end;
    struct resident **numbered; /* by number - 1 */
    size_t count, room;
    struct zkl_list news; /* residents with news */
    struct messages messages;
};

enum packet_kind {
    PACKET_OPEN,    /* up: connects, with the session or for a new one */
    PACKET_OPENED,  /* the answer */
    PACKET_EXPIRED, /* the other answer: the session is over */
    PACKET_PING,    /* up; there is no answer to wait for */
    PACKET_REQUEST, /* up */
    PACKET_ANSWER,  /* the same packet, on its way back */
    PACKET_EVENT,
    PACKET_CLOSE, /* up: ends the session */
    PACKET_CLOSED
};

struct packet {
    struct zkl_list place;
    enum packet_kind kind;
    zkl_time sent, due;
    struct zkl_rpc *rpc;
    struct zkl_letter *letter; /* the answer, or the event */
    bool adrift;               /* its connection has ended: nobody is there for the answer */
    bool told;                 /* the client knows that the answer is lost */
};

struct zkl_link {
    struct resident *resident;
    char *chroot;
    zkl_time timeout;
    bool reopen;

    struct server *server;
    uint64_t session; /* at the server; 0: none */
    zkl_time heard;   /* when the server last heard of it */

    bool opening;              /* a new session is wanted */
    bool online;               /* there is a connection, or one is being made */
    bool attached;             /* the server knows whose connection it is */
    bool connected;            /* the client was told so */
    bool cut;                  /* there can be no connection */
    bool leaving;              /* the end of the session is under way */
    zkl_time open_at, told_at; /* told_at: when the client notices the end of the connection */

    struct zkl_list up, down; /* packets under way */
    struct zkl_list missed;   /* events for the next connection */
    struct zkl_list lost;     /* packets whose answers were under way */
    struct zkl_list dropped;  /* packets that did not arrive */
};

/* world.c */
zkl_time zkl_world_delay_of(struct zkl_world *world);
uint64_t zkl_world_chance(struct zkl_world *world, uint64_t bound); /* of the world's own stream */
void zkl_resident_refresh(struct resident *resident); /* what is due first may have changed */

/* server.c */
struct server *zkl_world_server(struct zkl_world *world, const char *name); /* NULL: no memory */
struct server *zkl_world_find_server(const struct zkl_world *world, const char *name);
void zkl_server_free(struct server *server);
void zkl_server_due(struct zkl_world *world, struct server *server); /* carries out what is due */
void zkl_server_take(struct zkl_world *world, struct zkl_link *link, struct packet *packet);
/* To be called after each change of the tree: sends its events, and sets its next tick. */
void zkl_server_settle(struct zkl_world *world, struct server *server);
/* The server hears nothing of the session from now on. */
void zkl_server_silence(struct zkl_world *world, struct zkl_link *link);

/* link.c */
extern const struct zkl_link_class zkl_world_link;
zkl_time zkl_link_due(const struct zkl_link *link);
void zkl_link_carry_out(struct zkl_link *link); /* the first thing that is due */
void zkl_link_send_down(struct zkl_link *link, struct packet *packet);
/* Sends an event, by this connection or the next one. */
void zkl_link_miss(struct zkl_link *link, struct packet *packet);
/* Ends the connection; the client notices at `told_at`. */
void zkl_link_break(struct zkl_link *link, zkl_time told_at);
void zkl_link_tell_end(struct zkl_link *link); /* the client notices now */
void zkl_link_go_on(struct zkl_link *link, zkl_time stopped_for);

/* packet.c */
struct packet *zkl_packet_new(enum packet_kind kind); /* NULL: out of memory */
struct packet *zkl_packet_of_event(enum zkl_node_event kind, const char *path);
struct packet *zkl_packet_first(const struct zkl_list *list); /* NULL: none */
void zkl_packet_free(struct packet *packet);
void zkl_packets_free(struct zkl_list *list);
void zkl_packet_describe(const struct packet *packet, size_t hidden, char text[200]);

/* message.c */
/* The packet arrives then, or gets lost: ZKL_NEVER. */
void zkl_link_note(const struct zkl_link *link, const struct packet *packet, bool up,
                   zkl_time arrived);

#endif
