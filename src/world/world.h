/*
 * world.h - a world of virtual time: clients, the network and the servers of ZooKeeper, in one
 * thread. A seed decides how long each packet is under way, and when a server ends the session of
 * a client that it does not hear of.
 *
 * Time stands still in all calls but zkl_world_advance(), which goes from one thing that is due to
 * the next. The same seed and the same calls are the same world: nothing here asks for the real
 * time, for an address or for another random number.
 *
 * A server is a tree (../memory/tree.h) for each name. It expires a session as ZooKeeper's do: by
 * what it last heard of it. A client whose process runs and that has a connection pings it at
 * least each third of the session timeout, so its session lives. When the process is stopped or
 * killed, or the client is cut off, the server last heard of it up to a third of the timeout ago,
 * and it may expire the session late by a tick, half of the timeout at most.
 *
 * A connection brings what is sent in order. When it ends, what is under way to the server arrives
 * up to a point that the seed chooses; answers under way are lost; events come with the next
 * connection, as watches that a client sets again would bring them.
 *
 * A process of the world is known by a number. One thread at a time may use a world.
 */
#ifndef ZKL_WORLD_H
#define ZKL_WORLD_H

#include "../shell/client.h"

struct zkl_world;

/* Packets are under way for up to `delay`. NULL: out of memory. */
struct zkl_world *zkl_world_new(uint64_t seed, zkl_time delay);
/* Its clients are closed, and go with their last reference. */
void zkl_world_free(struct zkl_world *world);

/* The time since the world began. */
zkl_time zkl_world_now(const struct zkl_world *world);

/* A random number below `bound`, of one of the streams: a draw from one changes no other stream. */
#define ZKL_WORLD_STREAMS 4
uint64_t zkl_world_draw(struct zkl_world *world, unsigned stream, uint64_t bound);

/*
 * A client as zkl_client_new() makes it, of a process of this world; `hosts` is the name of its
 * server. It may be used while the world is there. NULL: out of memory.
 */
zkl_client *zkl_world_client(struct zkl_world *world, uint32_t process,
                             const struct zkl_options *options);

/* Whether it is of a world, perhaps one that is over: only zkl_world_advance() waits for it. */
bool zkl_world_owns(const zkl_client *client);

/* Its number: the first client of a world has 1. 0: it is of no world, or of one that is over. */
uint32_t zkl_world_number(const zkl_client *client);
bool zkl_world_has(const struct zkl_world *world, const zkl_client *client);
/* The name of its server. */
const char *zkl_world_name(const zkl_client *client);

/*
 * Carries out what is due, one thing after the other. Returns the number of the first client that
 * has news; or 0, when nothing more is due by `until`, which is the time then, or when `most`
 * things were done.
 */
uint32_t zkl_world_advance(struct zkl_world *world, zkl_time until, size_t most);
/* A time by its clients' clocks as nanoseconds since 1970: a world begins in 2020. */
zkl_time zkl_world_date(zkl_time time);
zkl_time zkl_world_today(const struct zkl_world *world); /* the same of its time */

/* When a server last changed something. */
zkl_time zkl_world_changed(const struct zkl_world *world);
/* When the first hold, pause or request of a client is to end by itself; ZKL_NEVER: none. */
zkl_time zkl_world_ends_at(const struct zkl_world *world);

/*
 * Drops `held`, a request, lease or watcher that the collector found, only when the world is over,
 * so that the collector has no effect in it. False: the client is of no world, or out of memory:
 * the caller drops `held`.
 */
bool zkl_world_defer(zkl_client *client, void *held, void (*drop)(void *held));

/* Adds what all its clients have counted. */
void zkl_world_totals(struct zkl_world *world, struct zkl_totals *totals);

/* --- processes ------------------------------------------------------------------------------ */

/* The clients of the process do nothing, and nothing arrives at them, until it goes on. */
void zkl_world_stop(struct zkl_world *world, uint32_t process);
void zkl_world_go_on(struct zkl_world *world, uint32_t process);
/* Its connections end; its clients never do anything any more. */
void zkl_world_kill(struct zkl_world *world, uint32_t process);

/* --- the network, and servers ---------------------------------------------------------------- */

/*
 * The connection ends, and there is none until it is healed. `silently`: the client notices
 * within two thirds of the timeout, else at once. False: it was cut off before, or is closed.
 */
bool zkl_world_cut(zkl_client *client, bool silently);
bool zkl_world_heal(zkl_client *client); /* false: it was not cut off */
/* The server ends the session. False: it has none. */
bool zkl_world_expire(zkl_client *client);

/* Packets to and from the server of that name take `delay` longer. False: out of memory. */
bool zkl_world_delay(struct zkl_world *world, const char *name, zkl_time delay);
/* As zkl_memory_reset(), zkl_memory_children(). */
void zkl_world_reset(struct zkl_world *world, const char *name);
int zkl_world_children(struct zkl_world *world, const char *name, const char *path, char **names);

/* --- one thing at a time ---------------------------------------------------------------------- */

/* From now on, before the first client, a packet is under way until it is hastened. */
void zkl_world_hold(struct zkl_world *world);
/* As zkl_world_advance(), of what is due by now. */
uint32_t zkl_world_settle(struct zkl_world *world);
/* When the first thing is due, without packets that are held; ZKL_NEVER: nothing is. */
zkl_time zkl_world_due(const struct zkl_world *world);

enum zkl_world_way {
    ZKL_WORLD_NOTHING,
    ZKL_WORLD_PACKET,
    ZKL_WORLD_LAST /* after which the client has no session */
};

/* The next packet to (`up`) or from the server of the client of that number. */
enum zkl_world_way zkl_world_under_way(const struct zkl_world *world, uint32_t number, bool up);
/* That packet in words; false: none is under way. */
bool zkl_world_packet(const struct zkl_world *world, uint32_t number, bool up, char text[200]);
/* It arrives now. */
void zkl_world_hasten(struct zkl_world *world, uint32_t number, bool up);

/* --- what was under way ----------------------------------------------------------------------- */

struct zkl_world_message {
    uint32_t client;        /* its number */
    bool up;                /* to the server */
    zkl_time sent, arrived; /* since the world began; arrived: ZKL_NEVER if it got lost */
    char text[200];
};

/* From now on the first `most` packets are kept that arrive or get lost, but no pings. */
void zkl_world_keep_messages(struct zkl_world *world, size_t most);
/* How many were kept; in the order of their arrival or loss, until more are. */
size_t zkl_world_messages(const struct zkl_world *world, const struct zkl_world_message **list);

#endif
