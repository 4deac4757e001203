/*
 * now.h - the monotonic clock of shell and links, for any thread.
 */
#ifndef ZKL_NOW_H
#define ZKL_NOW_H

#include "../core/clock.h"

zkl_time zkl_now(void);
zkl_time zkl_due(zkl_time timeout);     /* `timeout` from now; ZKL_NEVER stays ZKL_NEVER */
int zkl_poll_timeout(zkl_time timeout); /* in milliseconds for poll(), rounded up */

#endif
