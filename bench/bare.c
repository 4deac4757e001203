/*
 * bare.c - the yardstick: the three requests of an uncontended lock, made one
 * after the other with libzookeeper's own synchronous calls.
 *
 *   bare HOSTS PATH    reads a count from each line of standard input, makes
 *                      that many cycles of create, get_children and delete,
 *                      and answers with their duration in seconds
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADED
#include <zookeeper/zookeeper.h>

static void discard(const char *message) {
    (void)message;
}

static void check(int rc, const char *what) {
    if (rc == ZOK) return;
    fprintf(stderr, "bare: %s: %s\n", what, zerror(rc));
    exit(1);
}

static void cycle(zhandle_t *handle, const char *path) {
    char prefix[256], node[300];
    struct String_vector names;
    struct Stat stat;
    snprintf(prefix, sizeof prefix, "%s/_c_00000000-0000-0000-0000-000000000000-lock-", path);
    check(zoo_create2(handle, prefix, "bare", 4, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                      node, sizeof node, &stat),
          "create");
    check(zoo_get_children(handle, path, 0, &names), "get_children");
    deallocate_String_vector(&names);
    check(zoo_delete(handle, node, -1), "delete");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    unsigned count;
    if (argc != 3) {
        fprintf(stderr, "usage: bare HOSTS PATH\n");
        return 2;
    }
    zhandle_t *handle = zookeeper_init2(argv[1], NULL, 10000, NULL, NULL, 0, discard);
    if (!handle) return 1;
    zoo_set_servers_resolution_delay(handle, -1); /* the fastest it can be */
    int rc = zoo_create(handle, argv[2], "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    if (rc != ZNODEEXISTS) check(rc, "create of the parent");
    while (scanf("%u", &count) == 1) {
        double begin = seconds();
        for (unsigned i = 0; i < count; i++) cycle(handle, argv[2]);
        printf("%.6f\n", seconds() - begin);
        fflush(stdout);
    }
    zookeeper_close(handle);
    return 0;
}
