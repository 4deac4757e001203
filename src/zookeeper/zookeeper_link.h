/* zookeeper_link.h - the link to ZooKeeper, by libzookeeper. */
#ifndef ZKL_ZOOKEEPER_LINK_H
#define ZKL_ZOOKEEPER_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_zookeeper;
/* Whether sessions can be saved in that folder, which is made if need be: 0, or an errno value. */
int zkl_zookeeper_folder(const char *folder);
/*
 * Gives the session other hosts, when one of their servers knows it. The mutex is held. Ends the
 * request, a pause: with ZKL_OK, or ZKL_CONFLICT when a server does not know the session. False:
 * the client has another link.
 */
bool zkl_zookeeper_move(zkl_client *client, const char *hosts, zkl_request *request,
                        zkl_time timeout);
/* An operation that zklock needs, by its name in ZooKeeper's protocol. */
struct zkl_known {
    const char *name;
    bool known, answered; /* by the server; one that is silent may know it */
};
#define ZKL_TRIALS 10
/* Tries each operation at the host's first address that answers, and blocks. 0: it has none. */
size_t zkl_zookeeper_try(const char *host, zkl_time timeout, struct zkl_known known[ZKL_TRIALS]);
extern const char zkl_zookeeper_version[]; /* of the libzookeeper that it was built for */

#endif
