/*
 * ring.c - a library to preload into nginx, which notes when a thread of the session rang its bell
 * (src/shell/bell.c), so that nginx_app.lua knows how long the light thread took to go on.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static _Atomic double rung_at;

/* Seconds, by the clock of zkl_now(). */
double last_ring(void);

double last_ring(void) {
    return atomic_load(&rung_at);
}

/* Only a byte from another thread is a ring. The worker's own thread sends answers and pokes. */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    ssize_t (*real_send)(int, const void *, size_t, int) =
        (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    struct timespec time;
    if (size == 1 && gettid() != getpid()) {
        clock_gettime(CLOCK_BOOTTIME, &time);
        atomic_store(&rung_at, (double)time.tv_sec + (double)time.tv_nsec / 1e9);
    }
    return real_send(fd, bytes, size, flags);
}
