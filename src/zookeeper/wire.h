/*
 * wire.h - ZooKeeper's protocol on a socket of our own, without libzookeeper. For any thread,
 * without the mutex. A call with `by` blocks until then at most.
 */
#ifndef ZKL_ZOOKEEPER_WIRE_H
#define ZKL_ZOOKEEPER_WIRE_H

#include "internal.h"

enum zkl_wire { ZKL_WIRE_ANSWERED, ZKL_WIRE_CLOSED, ZKL_WIRE_SILENT };

int zkl_milliseconds(zkl_time timeout); /* a session timeout in milliseconds, with an upper bound */
int zkl_wire_connect(const struct sockaddr_storage *server, zkl_time by); /* -1: failed */
int zkl_wire_begin(const struct sockaddr_storage *server); /* begins to connect; -1: failed */
/*
 * Goes on with that connection, and sends a word to which each server says something, or hangs up,
 * which is an answer, too. ZKL_WIRE_CLOSED: the server cannot be reached.
 */
enum zkl_wire zkl_wire_question(int fd, zkl_time by);
/*
 * Sends the first message, with an all-zero `id` for a new session, and waits for the answer, with
 * its session id. `answered_id` is 0 if the server does not know the session. False: no answer.
 */
bool zkl_wire_greet(int fd, const clientid_t *id, zkl_time timeout, zkl_time by,
                    uint64_t *answered_id);

struct packet {
    size_t size;
    char bytes[256];
};
#define ZKL_WIRE_END_SESSION (-11) /* operation */
struct packet zkl_packet(int operation);
void zkl_put_number(struct packet *packet, int number);
void zkl_put_flag(struct packet *packet, bool flag);
void zkl_put_text(struct packet *packet, const char *text);
bool zkl_wire_send(int fd, struct packet *packet);
bool zkl_wire_send_credentials(int fd, const char *scheme, const char *auth);
/* Waits for an answer, and sets `error` to the answer's error. */
enum zkl_wire zkl_wire_hear(int fd, zkl_time by, int *error);
/* Sends a four-letter word, and reads text until then, or until `text` is full. */
enum zkl_wire zkl_wire_ask(int fd, const char *word, zkl_time by, char *text, size_t size);

#endif
