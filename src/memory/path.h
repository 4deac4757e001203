/* path.h - the paths that nodes may have. Pure. */
#ifndef ZKL_MEMORY_PATH_H
#define ZKL_MEMORY_PATH_H

#include <stdbool.h>

/*
 * The rule of ZooKeeper's PathUtils: absolute, no empty part, "." or "..", and only UTF-8
 * characters that are one char in Java and allowed in names. The last part of a `sequential` path
 * may be empty, "." or "..", as a number is appended.
 */
bool zkl_node_path_is_valid(const char *path, bool sequential);

#endif
