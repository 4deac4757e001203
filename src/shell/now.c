/*
 * now.c - see now.h.
 */
#include "now.h"

#include <limits.h>
#include <time.h>

zkl_time zkl_now(void) {
    struct timespec time;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &time); /* a sleeping machine loses its locks */
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (zkl_time)time.tv_sec * ZKL_SECOND + time.tv_nsec;
}

zkl_time zkl_due(zkl_time timeout) {
    zkl_time now = zkl_now();
    return timeout >= ZKL_NEVER - now ? ZKL_NEVER : now + timeout;
}

int zkl_poll_timeout(zkl_time timeout) {
    bool forever = timeout / 1000000 >= INT_MAX;
    return forever ? -1 : (int)((timeout + 999999) / 1000000);
}
