/* path.h - which paths a node may have. */
#ifndef ZKL_MEMORY_PATH_H
#define ZKL_MEMORY_PATH_H

#include <stdbool.h>

/*
 * The rule of ZooKeeper's PathUtils: absolute, no empty part, no "." or "..", characters of
 * UTF-8 that Java has in one char and a name may have. Of a `sequential` node the server adds a
 * number to the last part, which may be anything until then.
 */
bool zkl_node_path_is_valid(const char *path, bool sequential);

#endif
