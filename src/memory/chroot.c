/* chroot.c - see chroot.h. */
#include <stdlib.h>
#include <string.h>

#include "chroot.h"

static const char *append_path(char **end, const char *chroot, const char *path) {
    char *start = *end;
    size_t length = strlen(chroot);
    size_t rest = length > 0 && strcmp(path, "/") == 0 ? 0 : strlen(path);
    memcpy(start, chroot, length);
    memcpy(start + length, path, rest);
    start[length + rest] = '\0';
    *end = start + length + rest + 1;
    return start;
}

static const char *append_data(char **end, const struct zkl_op *op) {
    char *start = *end;
    if (op->size > 0) memcpy(start, op->data, op->size);
    *end = start + op->size;
    return start;
}

static size_t count_text(const char *chroot, const struct zkl_rpc *rpc) {
    size_t each = strlen(chroot) + 1, size = rpc->path ? each + strlen(rpc->path) : 0;
    for (size_t i = 0; i < rpc->count; i++)
        size += each + strlen(rpc->ops[i].path) + rpc->ops[i].size;
    return size;
}

struct zkl_rpc *zkl_chroot_prepend(const char *chroot, const struct zkl_rpc *rpc) {
    struct zkl_rpc *copy =
        malloc(sizeof *copy + rpc->count * sizeof *rpc->ops + count_text(chroot, rpc));
    if (!copy) return NULL;
    struct zkl_op *ops = (struct zkl_op *)(copy + 1);
    char *end = (char *)(ops + rpc->count);
    *copy = *rpc;
    copy->ops = ops;
    if (rpc->path) copy->path = append_path(&end, chroot, rpc->path);
    for (size_t i = 0; i < rpc->count; i++) {
        ops[i] = rpc->ops[i];
        ops[i].path = append_path(&end, chroot, rpc->ops[i].path);
        ops[i].data = append_data(&end, &rpc->ops[i]);
    }
    return copy;
}
