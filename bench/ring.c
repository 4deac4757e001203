/*
 * ring.c - to be preloaded into nginx: notes when a thread of the session rang its bell
 * (src/zookeeper/bell.c), so that nginx_app.lua knows how long its light thread took to run.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static _Atomic double rung;

/* Seconds, by the clock of zkl_now(). */
double last_ring(void);

double last_ring(void) {
    return atomic_load(&rung);
}

/* The worker's own thread sends, too: answers, and pokes. */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    ssize_t (*next)(int, const void *, size_t, int) =
        (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    struct timespec time;
    if (size == 1 && gettid() != getpid()) {
        clock_gettime(CLOCK_BOOTTIME, &time);
        atomic_store(&rung, (double)time.tv_sec + (double)time.tv_nsec / 1e9);
    }
    return next(fd, bytes, size, flags);
}
