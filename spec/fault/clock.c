/*
 * clock.c - preloaded, a wall clock that jumps as the first byte of the file $WALL_CLOCK says, '+'
 * an hour ahead, '-' an hour back, otherwise not at all. Monotonic clocks go on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600 };

static const char *direction;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("WALL_CLOCK");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) direction = page;
    close(file);
}

static time_t offset(void) {
    char jump = direction == NULL ? '0' : *(const volatile char *)direction;
    return jump == '+' ? HOUR : jump == '-' ? -HOUR : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset();
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}
