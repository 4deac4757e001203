/*
 * zookeeper_link.h - the link to ZooKeeper by libzookeeper, for zkl_client_new(&zkl_zookeeper,
 * ...).
 */
#ifndef ZKL_ZOOKEEPER_LINK_H
#define ZKL_ZOOKEEPER_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_zookeeper;
/* Makes the folder if missing. 0 if sessions can be saved there, else an errno value. */
int zkl_zookeeper_make_folder(const char *folder);
/*
 * Moves the session to other hosts when one of their servers knows it. `request` is a pause, which
 * ends with ZKL_OK, with ZKL_CONFLICT if a server does not know the session, or with
 * ZKL_UNSUPPORTED if libzookeeper keeps its servers, for lack of a gate. While the link has no
 * session the hosts need not answer. With the mutex held.
 * False: the client has another kind of link.
 */
bool zkl_zookeeper_move(zkl_client *client, const char *hosts, zkl_request *request,
                        zkl_time timeout);
/* An operation of the protocol that zklock needs. */
struct zkl_known {
    const char *name;
    bool known, answered; /* without an answer `known` is false and proves nothing */
};
#define ZKL_TRIALS 10
/* Tries each operation at the host's first answering address, and blocks. 0: no address. */
size_t zkl_zookeeper_try(const char *host, zkl_time timeout, struct zkl_known known[ZKL_TRIALS]);
#define ZKL_WORD_ANSWER 4096
/* Sets `text` to an address's answer to a four-letter word, "" without one. Blocks until `by`. */
void zkl_zookeeper_ask(const char *host, const char *word, zkl_time by, char text[ZKL_WORD_ANSWER]);
extern const char zkl_zookeeper_version[];

#endif
