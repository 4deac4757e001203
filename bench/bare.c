/*
 * bare.c - the yardstick for locks: the three requests of an uncontended lock (create,
 * get_children, delete) with libzookeeper alone.
 *
 *   bare PROXY SERVER    greets with "ready PID VERSION", and obeys commands, one a line:
 *
 *   cycles WHERE serial PATH COUNT 1
 *       COUNT cycles on the server at PROXY or at SERVER (WHERE: proxy, server), by synchronous
 *       calls, one after the other
 *   cycles WHERE pipelined PATH COUNT TASKS
 *       TASKS times COUNT cycles at the same time, each on a path of its own below PATH, by
 *       asynchronous calls: the delete of a cycle goes out with the create and the list of the next
 *
 *   The answer is "ok SECONDS CPU", the time, and the processor time of this process.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADED
#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

enum { PATH_SIZE = 256, NODE_SIZE = 320, TIMEOUT_MS = 30000 };

struct task {
    zhandle_t *handle;
    char path[PATH_SIZE];
    char node[NODE_SIZE];
    unsigned unlisted; /* cycles that have not listed yet */
    sem_t *done;
};

static void discard(const char *message) {
    (void)message;
}

static void check(int rc, const char *what) {
    if (rc == ZOK) return;
    fprintf(stderr, "bare: %s: %s\n", what, zerror(rc));
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void ensure(zhandle_t *handle, const char *path) {
    int rc = zoo_create(handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    if (rc != ZNODEEXISTS) check(rc, "create of the parent");
}

static void format_prefix(char *prefix, const char *path) {
    snprintf(prefix, NODE_SIZE, "%s/_c_00000000-0000-0000-0000-000000000000-lock-", path);
}

/* --- serial --- */

static void run_cycle(zhandle_t *handle, const char *path) {
    char prefix[NODE_SIZE], node[NODE_SIZE + 20];
    struct String_vector names;
    struct Stat stat;
    format_prefix(prefix, path);
    check(zoo_create2(handle, prefix, "bare", 4, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                      node, sizeof node, &stat),
          "create");
    check(zoo_get_children(handle, path, 0, &names), "get_children");
    deallocate_String_vector(&names);
    check(zoo_delete(handle, node, -1), "delete");
}

/* --- pipelined; libzookeeper's completion thread makes all but the first requests --- */

static void begin_cycle(struct task *task);

static void on_created(int rc, const char *node, const void *data) {
    struct task *task = (struct task *)data;
    check(rc, "create");
    snprintf(task->node, sizeof task->node, "%s", node);
}

/* The last delete ends the task. */
static void on_deleted(int rc, const void *data) {
    const struct task *task = data;
    check(rc, "delete");
    if (task->unlisted == 0) sem_post(task->done);
}

/* Comes after on_created, because the server answers in order. */
static void on_listed(int rc, const struct String_vector *names, const void *data) {
    struct task *task = (struct task *)data;
    (void)names;
    check(rc, "get_children");
    task->unlisted--;
    check(zoo_adelete(task->handle, task->node, -1, on_deleted, task), "delete");
    if (task->unlisted > 0) begin_cycle(task);
}

static void begin_cycle(struct task *task) {
    char prefix[NODE_SIZE];
    format_prefix(prefix, task->path);
    check(zoo_acreate(task->handle, prefix, "bare", 4, &ZOO_OPEN_ACL_UNSAFE,
                      ZOO_EPHEMERAL_SEQUENTIAL, on_created, task),
          "create");
    check(zoo_aget_children(task->handle, task->path, 0, on_listed, task), "get_children");
}

/* --- commands --- */

struct clocks {
    double time, cpu;
};

static struct clocks read_clocks(void) {
    return (struct clocks){seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static void answer(struct clocks begin) {
    struct clocks now = read_clocks();
    printf("ok %.6f %.6f\n", now.time - begin.time, now.cpu - begin.cpu);
}

static void run_serial(zhandle_t *handle, const char *path, unsigned count) {
    ensure(handle, path);
    struct clocks begin = read_clocks();
    for (unsigned i = 0; i < count; i++) run_cycle(handle, path);
    answer(begin);
}

static void run_pipelined(zhandle_t *handle, const char *path, unsigned count,
                          unsigned task_count) {
    struct task *tasks = calloc(task_count, sizeof *tasks);
    sem_t done;
    if (tasks == NULL || sem_init(&done, 0, 0) != 0) exit(1);
    ensure(handle, path);
    for (unsigned i = 0; i < task_count; i++) {
        tasks[i] = (struct task){.handle = handle, .unlisted = count, .done = &done};
        snprintf(tasks[i].path, sizeof tasks[i].path, "%s/%u", path, i);
        ensure(handle, tasks[i].path);
    }
    struct clocks begin = read_clocks();
    for (unsigned i = 0; i < task_count; i++) begin_cycle(&tasks[i]);
    for (unsigned i = 0; i < task_count; i++) sem_wait(&done);
    answer(begin);
    sem_destroy(&done);
    free(tasks);
}

static zhandle_t *open_handle(const char *hosts) {
    zhandle_t *handle = zookeeper_init2(hosts, NULL, TIMEOUT_MS, NULL, NULL, 0, discard);
    if (handle == NULL) exit(1);
    zoo_set_servers_resolution_delay(handle, -1); /* saves libzookeeper its look-ups of hosts */
    return handle;
}

static void obey(zhandle_t *handle, const char *kind, const char *path, unsigned count,
                 unsigned tasks) {
    if (strcmp(kind, "serial") == 0 && tasks == 1) run_serial(handle, path, count);
    else if (strcmp(kind, "pipelined") == 0) run_pipelined(handle, path, count, tasks);
    else puts("error: unknown command");
}

int main(int argc, char **argv) {
    char line[256], where[8], kind[16], path[128];
    unsigned count, tasks;
    if (argc < 3) {
        fprintf(stderr, "usage: bare PROXY SERVER\n");
        return 2;
    }
    zhandle_t *proxy = open_handle(argv[1]), *server = open_handle(argv[2]);
    printf("ready %d libzookeeper " ZOO_VERSION "\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0) {
        if (sscanf(line, "cycles %7s %15s %127s %u %u", where, kind, path, &count, &tasks) == 5)
            obey(strcmp(where, "proxy") == 0 ? proxy : server, kind, path, count, tasks);
        else puts("error: unknown command");
        fflush(stdout);
    }
    zookeeper_close(proxy);
    zookeeper_close(server);
    puts("ok");
    return 0;
}
