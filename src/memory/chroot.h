/* chroot.h - requests of a client with a chroot. Pure. */
#ifndef ZKL_CHROOT_H
#define ZKL_CHROOT_H

#include "../session/rpc.h"

/*
 * A copy with the chroot before each path ("/" is the chroot), in one block for free(). NULL: no
 * memory.
 */
struct zkl_rpc *zkl_chroot_prepend(const char *chroot, const struct zkl_rpc *rpc);

#endif
