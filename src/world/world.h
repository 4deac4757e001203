/*
 * world.h - a world of virtual time, with clients, network and ZooKeeper servers. Its owner frees
 * it. Use it from one thread at a time.
 *
 *     while ((number = zkl_world_advance(world, until, SIZE_MAX))) take the client's events
 *
 * Only zkl_world_advance() moves the time, from one due step to the next. A seed decides packet
 * delays and expiries of silent sessions. Equal seeds and calls give equal worlds, as nothing
 * depends on real time, addresses or other random numbers.
 *
 * Each server name has a tree (../memory/tree.h). A server expires sessions by their last sign of
 * life, as ZooKeeper does. A running, connected client pings every third of its timeout, so its
 * session lives. If the client stops or disconnects, its last sign is up to a third of the timeout
 * old, and the expiry comes up to a tick late, at most half of the timeout.
 *
 * A connection keeps order. When it ends, the first packets to the server, a random number, still
 * arrive. Answers are lost. Events come with the next connection, like those of watches that are
 * set again. A process is a number.
 */
#ifndef ZKL_WORLD_H
#define ZKL_WORLD_H

#include "../shell/client.h"

struct zkl_world;

/* Packets take up to `delay`. NULL: no memory. */
struct zkl_world *zkl_world_new(uint64_t seed, zkl_time delay);
/* Closes the world's clients, which live until their last reference. */
void zkl_world_free(struct zkl_world *world);

/* The time since the world began. */
zkl_time zkl_world_now(const struct zkl_world *world);

/* A random number below `bound`. Streams are independent. */
#define ZKL_WORLD_STREAMS 4
uint64_t zkl_world_draw(struct zkl_world *world, unsigned stream, uint64_t bound);

/*
 * Like zkl_client_new(), for a process of this world and the server named `hosts`. Not to be used
 * after the world's end. NULL: no memory.
 */
zkl_client *zkl_world_client(struct zkl_world *world, uint32_t process,
                             const struct zkl_options *options);

/* True for a client of any world, even an ended one. No thread may wait for such a client. */
bool zkl_world_is_client(const zkl_client *client);

/* The client's number, from 1. 0: in no world, or in an ended one. */
uint32_t zkl_world_number(const zkl_client *client);
bool zkl_world_has(const struct zkl_world *world, const zkl_client *client);
const char *zkl_world_server_name(const zkl_client *client);

/*
 * Carries out due steps. Returns the number of the first client with news; or 0, after `steps`
 * steps, or at `until`, when no more is due.
 */
uint32_t zkl_world_advance(struct zkl_world *world, zkl_time until, size_t steps);
/* Turns a zkl_client_now() into nanoseconds since 1970. A world begins in 2020. */
zkl_time zkl_world_date(zkl_time time);
zkl_time zkl_world_date_now(const struct zkl_world *world);

/* The time of the last change of a server's data. */
zkl_time zkl_world_changed_at(const struct zkl_world *world);
/* When a client next ends a hold, pause or request by itself; ZKL_NEVER: not at all. */
zkl_time zkl_world_next_end(const struct zkl_world *world);

/*
 * Postpones the drop of an object that the collector found to the world's end, so that the moment
 * of a collection changes nothing in the world. False: in no world, or no memory; the caller drops
 * the object.
 */
bool zkl_world_defer(zkl_client *client, void *object, void (*drop)(void *object));

void zkl_world_totals(struct zkl_world *world, struct zkl_totals *totals);

/* --- processes ------------------------------------------------------------------------------ */

/* Stops a process. Its clients neither act nor receive until zkl_world_go_on(). */
void zkl_world_stop(struct zkl_world *world, uint32_t process);
void zkl_world_go_on(struct zkl_world *world, uint32_t process);
/* Kills a process. Its connections end, and its clients never act again. */
void zkl_world_kill(struct zkl_world *world, uint32_t process);

/* --- the network, and servers ---------------------------------------------------------------- */

/*
 * Prevents connections until zkl_world_heal(). The client notices at once or, `silently`, within
 * two thirds of its timeout. False: already cut, or closed.
 */
bool zkl_world_cut(zkl_client *client, bool silently);
bool zkl_world_heal(zkl_client *client); /* False: not cut */
/* False: no session. */
bool zkl_world_expire(zkl_client *client);

/* Delays each packet from the server. False: no memory. */
bool zkl_world_delay(struct zkl_world *world, const char *name, zkl_time delay);
/* See zkl_memory_reset(), zkl_memory_children(). */
void zkl_world_reset(struct zkl_world *world, const char *name);
int zkl_world_children(struct zkl_world *world, const char *name, const char *path, char **names);

/* --- single steps ----------------------------------------------------------------------------- */

/* Makes each packet wait for zkl_world_hasten(). Call before the first client. */
void zkl_world_hold(struct zkl_world *world);
/* From now on draws random numbers by another seed, and holds no packet. */
void zkl_world_reseed(struct zkl_world *world, uint64_t seed);
/* zkl_world_advance() at the present time. */
uint32_t zkl_world_settle(struct zkl_world *world);
/* The first due time, held packets left out, or ZKL_NEVER. */
zkl_time zkl_world_due(const struct zkl_world *world);

enum zkl_world_next { ZKL_WORLD_NOTHING, ZKL_WORLD_PACKET, ZKL_WORLD_SESSION_END };

/* The kind of the next packet from a client to its server (`up`), or back. */
enum zkl_world_next zkl_world_under_way(const struct zkl_world *world, uint32_t number, bool up);
/* Describes that packet. False: none. */
bool zkl_world_packet(const struct zkl_world *world, uint32_t number, bool up, char text[200]);
/* Makes that packet due now. */
void zkl_world_hasten(struct zkl_world *world, uint32_t number, bool up);

/* --- recorded packets ------------------------------------------------------------------------- */

struct zkl_world_message {
    uint32_t client_number;
    bool up;                /* to the server */
    zkl_time sent, arrived; /* arrived: ZKL_NEVER if lost */
    char text[200];
};

/* Records the first `limit` packets, pings left out. */
void zkl_world_keep_messages(struct zkl_world *world, size_t limit);
/* Lists the records by time of arrival or loss, valid until the next record. Returns a count. */
size_t zkl_world_messages(const struct zkl_world *world, const struct zkl_world_message **list);

#endif
