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
extern const char zkl_zookeeper_version[]; /* of the libzookeeper that it was built for */

#endif
