/*
 * threads.c - preloaded, limits the threads that are started while the file $THREADS exists to the
 * number in it, as a container does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The allowed number of threads; -1: no limit. */
static int limit(void) {
    const char *path = getenv("THREADS");
    FILE *file = path ? fopen(path, "re") : NULL;
    int number = -1;
    if (file && fscanf(file, "%d", &number) != 1) number = -1;
    if (file) fclose(file);
    return number;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                   void *argument) {
    create *next = (create *)dlsym(RTLD_NEXT, "pthread_create");
    int most = limit();
    if (most < 0) return next(thread, attributes, function, argument);
    if (atomic_fetch_add(&living, 1) >= most) {
        atomic_fetch_sub(&living, 1);
        return EAGAIN;
    }
    struct start *start = malloc(sizeof *start);
    *start = (struct start){function, argument};
    int error = next(thread, attributes, run, start);
    if (error) atomic_fetch_sub(&living, 1);
    return error;
}
