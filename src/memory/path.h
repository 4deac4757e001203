/* path.h - which paths a node may have. */
#ifndef ZKL_MEMORY_PATH_H
#define ZKL_MEMORY_PATH_H

#include <stdbool.h>

/*
 * The rule of ZooKeeper's PathUtils: absolute, no empty part, no "." or "..", and only characters
 * of UTF-8 that Java has in one char and a name may have. To the last part of a `sequential`
 * node's path the server adds a number: until then that part may be empty, "." or "..".
 */
bool zkl_node_path_is_valid(const char *path, bool sequential);

#endif
