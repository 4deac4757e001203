/* chroot.h - requests of a client that sees a part of the tree only. */
#ifndef ZKL_CHROOT_H
#define ZKL_CHROOT_H

#include "../session/rpc.h"

/*
 * A copy of the request with the chroot in front of each path ("/" is the chroot itself), in one
 * block of memory to free(). NULL: out of memory.
 */
struct zkl_rpc *zkl_chroot_enter(const char *chroot, const struct zkl_rpc *rpc);

#endif
