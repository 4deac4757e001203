/* zookeeper_link.h - the link to ZooKeeper, by libzookeeper. */
#ifndef ZKL_ZOOKEEPER_LINK_H
#define ZKL_ZOOKEEPER_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_zookeeper;
/* Whether sessions can be saved in that folder, which is made if need be: 0, or an errno value. */
int zkl_zookeeper_folder(const char *folder);
extern const char zkl_zookeeper_version[]; /* of the libzookeeper that it was built for */

#endif
