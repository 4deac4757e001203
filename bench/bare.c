/*
 * bare.c - the yardstick for locks: the three requests of an uncontended lock (create,
 * get_children, delete) with libzookeeper alone. It obeys the commands connect, start (which
 * answers when all is done), finish and quit of spec/neighbours/neighbour.lua. Kinds of locks:
 *
 *   serial      LAPS cycles by synchronous calls, one after the other, of a single task
 *   pipelined   cycles of all tasks at the same time by asynchronous calls: the delete of a cycle
 *               goes out with the create and the list of the next
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

enum { PATH_SIZE = 256, NODE_SIZE = 320 };

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
    return (struct clocks){seconds(CLOCK_BOOTTIME), seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static char figures[128]; /* the answer to "finish" */

static void note_figures(struct clocks begin, unsigned grants) {
    struct clocks end = read_clocks();
    snprintf(figures, sizeof figures, " %.6f %.6f %.6f %u 0", end.time - begin.time, end.time,
             end.cpu - begin.cpu, grants);
}

static void run_serial(zhandle_t *handle, const char *path, unsigned laps) {
    ensure(handle, path);
    struct clocks begin = read_clocks();
    for (unsigned i = 0; i < laps; i++) run_cycle(handle, path);
    note_figures(begin, laps);
}

/* The path of a task has its number in the place of "#". */
static void make_path(zhandle_t *handle, char *path, const char *pattern, unsigned number) {
    int length = (int)strcspn(pattern, "#");
    snprintf(path, PATH_SIZE, "%.*s", length - 1, pattern);
    ensure(handle, path);
    snprintf(path, PATH_SIZE, "%.*s%u", length, pattern, number);
    ensure(handle, path);
}

static void run_pipelined(zhandle_t *handle, const char *pattern, unsigned laps,
                          unsigned task_count) {
    struct task *tasks = calloc(task_count, sizeof *tasks);
    sem_t done;
    if (tasks == NULL || sem_init(&done, 0, 0) != 0) exit(1);
    for (unsigned i = 0; i < task_count; i++) {
        tasks[i] = (struct task){.handle = handle, .unlisted = laps, .done = &done};
        make_path(handle, tasks[i].path, pattern, i);
    }
    struct clocks begin = read_clocks();
    for (unsigned i = 0; i < task_count; i++) begin_cycle(&tasks[i]);
    for (unsigned i = 0; i < task_count; i++) sem_wait(&done);
    note_figures(begin, laps * task_count);
    sem_destroy(&done);
    free(tasks);
}

static zhandle_t *handles[2];

/* The sessions are named "proxy" and "server". */
static zhandle_t **handle_of(const char *name) {
    return &handles[strcmp(name, "proxy") == 0 ? 0 : 1];
}

static zhandle_t *open_handle(const char *hosts, int timeout_s) {
    zhandle_t *handle = zookeeper_init2(hosts, NULL, 1000 * timeout_s, NULL, NULL, 0, discard);
    if (handle == NULL) exit(1);
    zoo_set_servers_resolution_delay(handle, -1); /* saves libzookeeper its look-ups of hosts */
    return handle;
}

static void start(zhandle_t *handle, const char *kind, const char *path, unsigned laps,
                  unsigned tasks) {
    if (strcmp(kind, "pipelined") == 0) run_pipelined(handle, path, laps, tasks);
    else run_serial(handle, path, laps);
}

static const char *obey(const char *line) {
    char name[8], kind[16], text[128];
    unsigned first, second;
    if (strcmp(line, "finish\n") == 0) return figures;
    if (sscanf(line, "connect %7s %127s %u", name, text, &first) == 3)
        *handle_of(name) = open_handle(text, (int)first);
    if (sscanf(line, "start %7s %15s %127s %u %u", name, kind, text, &first, &second) == 5)
        start(*handle_of(name), kind, text, first, second);
    return "";
}

int main(void) {
    char line[256];
    printf("ready %d libzookeeper " ZOO_VERSION "\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0) {
        printf("ok%s\n", obey(line));
        fflush(stdout);
    }
    for (unsigned i = 0; i < 2; i++)
        if (handles[i] != NULL) zookeeper_close(handles[i]);
    puts("ok");
    return 0;
}
