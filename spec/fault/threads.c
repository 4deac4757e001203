/*
 * threads.c - preloaded, limits the threads that are started while the file $THREADS exists to the
 * number in it, as a container does. The file may have a signal's number, too. The signal comes
 * before the refusal, and the process has 0.2 s to handle it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
    void *(*run)(void *);
    void *argument;
};

static atomic_int living;

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    void *result = start.run(start.argument);
    atomic_fetch_sub(&living, 1);
    return result;
}

/* Returns the allowed number of threads, -1 without a limit, and the signal, or 0. */
static int read_limit(int *signal) {
    const char *path = getenv("THREADS");
    FILE *file = path ? fopen(path, "re") : NULL;
    int number = -1;
    *signal = 0;
    if (file && fscanf(file, "%d %d", &number, signal) < 1) number = -1;
    if (file) fclose(file);
    return number;
}

static void get_signal(int signal) {
    const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    kill(getpid(), signal);
    nanosleep(&pause, NULL);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument) {
    create *next = (create *)dlsym(RTLD_NEXT, "pthread_create");
    int signal, most = read_limit(&signal);
    if (most < 0) return next(thread, attributes, function, argument);
    if (atomic_fetch_add(&living, 1) >= most) {
        atomic_fetch_sub(&living, 1);
        if (signal) get_signal(signal);
        return EAGAIN;
    }
    struct start *start = malloc(sizeof *start);
    *start = (struct start){function, argument};
    int error = next(thread, attributes, run, start);
    if (error) atomic_fetch_sub(&living, 1);
    return error;
}
