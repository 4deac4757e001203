/* zookeeper_link.h - the link to ZooKeeper, by libzookeeper. */
#ifndef ZKL_ZOOKEEPER_LINK_H
#define ZKL_ZOOKEEPER_LINK_H

#include "../shell/link.h"

extern const struct zkl_link_class zkl_zookeeper;
extern const char zkl_zookeeper_version[]; /* of the libzookeeper that it was built for */

#endif
