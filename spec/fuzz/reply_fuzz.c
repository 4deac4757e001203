/*
 * reply_fuzz.c - libFuzzer on server answers. All of src/zookeeper, src/shell, src/session and
 * src/core runs, except threads and time (thread.c, now.c, descriptors.c). The libzookeeper below
 * gives any code, path, list, data, Stat and results, even some that the real one would not pass
 * on. Meanwhile users acquire, try, cancel, ask, guard, watch, and wait in conditions; connections
 * are lost, sessions expire.
 *
 *   - Memory is safe, and nothing leaks (the sanitizers).
 *   - An answer makes a bounded number of requests.
 *   - Without an event, a heartbeat or a user the requests come to an end.
 *   - A closed session has done every request.
 *
 * The timer's thread runs one round at a time, and returns where it would wait.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/claim.h"
#include "shell/internal.h"
#include "zookeeper/internal.h"

/* This libzookeeper uses only arguments that matter to answers. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HANDLES = 2, OPS = 8, ASKED = 4096, NAMES = 24, WATCHED = 64 };
enum { REQUESTS = 12, LEASES = 12, WATCHERS = 3 };
enum { A_REPLY_ASKS = 2000, REPLIES = 20000 };

static void require(bool holds) {
    if (!holds) abort();
}

enum form { VOID, STRING, STRING_STAT, STAT, STRINGS, DATA, MULTI };

struct asked {
    zhandle_t *handle;
    enum form form;
    union {
        void_completion_t nothing;
        string_completion_t string;
        string_stat_completion_t string_stat;
        stat_completion_t stat;
        strings_completion_t strings;
        data_completion_t data;
    } tell;
    const void *about;
    char *path;
    int flags; /* for a create */
    bool watches;
    const zoo_op_t *ops;
    zoo_op_result_t *results;
    int count;
    char *created[OPS]; /* path of a create, as asked for */
};

struct _zhandle {
    watcher_fn tell;
    void *context;
    clientid_t id;
    bool connected;
};

static struct {
    const uint8_t *data;
    size_t size;
    uint64_t chance; /* random numbers after the input's end */
    uint64_t habit;  /* after the input's end, the seed of one answer for each form; 0: none */
    zkl_time now;
    int64_t zxid;
    int64_t sessions;
    struct _zhandle *handles[HANDLES];
    struct asked asked[ASKED]; /* a ring */
    unsigned first, count, made;
    char *watched[WATCHED];
    char *names[NAMES]; /* created nodes, newest first */
    watcher_fn watcher;
    void *watcher_context;
    struct zkl_client *client;
    struct zkl_session *session; /* the client's */
    struct zkl_request *requests[REQUESTS];
    struct zkl_lease *leases[LEASES];
    struct zkl_watcher *watchers[WATCHERS];
    bool ended; /* the timer's loop has ended */
} w;

/* splitmix64, as in src/session/stake_actions.c */
static uint8_t byte(void) {
    if (w.size > 0) {
        w.size--;
        return *w.data++;
    }
    uint64_t x = w.chance += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint8_t)(x >> 56);
}

/* --- threads and time --------------------------------------------------------------------- */

static void *(*timer)(void *);
static jmp_buf back;

zkl_time zkl_now(void) {
    return w.now;
}

zkl_time zkl_due(zkl_time timeout) {
    return timeout >= ZKL_NEVER - w.now ? ZKL_NEVER : w.now + timeout;
}

void zkl_lock(struct zkl_client *client) {}

void zkl_unlock(struct zkl_client *client) {
    zkl_threaded(client)->broadcast_news = false;
}

void zkl_condition_init(pthread_cond_t *condition) {
    pthread_cond_init(condition, NULL);
}

void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, zkl_time due) {
    abort();
}

void zkl_wait_until(struct threaded *self, pthread_cond_t *condition, zkl_time due) {
    longjmp(back, 1);
}

/* Runs a worker at once, and keeps the first, the timer. */
int zkl_thread_start(void *(*run)(void *), void *argument) {
    if (!timer) timer = run;
    if (timer != run) run(argument);
    return 0;
}

static void run_timer(void) {
    if (w.ended || setjmp(back)) return;
    timer(w.client);
    w.ended = true;
}

int zkl_check_thread_room(void) {
    return 0;
}

unsigned zkl_process_number(void) {
    return 1;
}

bool zkl_process_is(unsigned number) {
    return true;
}

int zkl_poll_timeout(zkl_time timeout) {
    return 0;
}

struct descriptors *zkl_descriptors_note_pipes(void) {
    return NULL;
}

void zkl_descriptors_close_new_pipes_on_exec(struct descriptors *before) {}

void zkl_descriptors_close_sockets_on_exec(const struct servers *servers) {}

/* No handle connects to its gate. */
bool zkl_descriptors_has_socket_at(const struct sockaddr_storage *address) {
    return false;
}

/* --- libzookeeper, handles ---------------------------------------------------------------- */

const int ZOO_PERSISTENT = 0, ZOO_EPHEMERAL = 1, ZOO_EPHEMERAL_SEQUENTIAL = 3, ZOO_CONTAINER = 4;
const int ZOO_EXPIRED_SESSION_STATE = -112, ZOO_AUTH_FAILED_STATE = -113;
const int ZOO_CONNECTING_STATE = 1, ZOO_CONNECTED_STATE = 3;
const int ZOO_DELETED_EVENT = 2, ZOO_CREATED_EVENT = 1, ZOO_CHILD_EVENT = 4, ZOO_SESSION_EVENT = -1;
struct ACL_vector ZOO_OPEN_ACL_UNSAFE, ZOO_CREATOR_ALL_ACL;

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
                           const clientid_t *clientid, void *context, int flags,
                           log_callback_fn log_callback) {
    struct _zhandle *handle = calloc(1, sizeof *handle);
    int i = w.handles[0] != NULL;
    require(handle && !w.handles[i]); /* the session's, and a probe */
    handle->tell = fn;
    handle->context = context;
    return w.handles[i] = handle;
}

static void drop(struct asked *asked) {
    free(asked->path);
    for (int i = 0; i < OPS; i++) free(asked->created[i]);
}

static struct asked take(void) {
    struct asked asked = w.asked[w.first];
    w.first = (w.first + 1) % ASKED;
    w.count--;
    return asked;
}

static void put_back(const struct asked *asked) {
    w.asked[(w.first + w.count++) % ASKED] = *asked;
}

/* Leaves requests unanswered, like the real one. */
int zookeeper_close(zhandle_t *handle) {
    int i = handle == w.handles[1];
    require(handle && handle == w.handles[i]);
    for (unsigned left = w.count; left > 0; left--) {
        struct asked asked = take();
        if (asked.handle == handle) drop(&asked);
        else put_back(&asked);
    }
    free(handle);
    w.handles[i] = NULL;
    return ZOK;
}

const clientid_t *zoo_client_id(zhandle_t *handle) {
    return &handle->id;
}

int zoo_recv_timeout(zhandle_t *handle) {
    return 6000;
}

int zoo_set_servers_resolution_delay(zhandle_t *handle, int delay) {
    return delay;
}

void zoo_deterministic_conn_order(int yes) {}

int zoo_set_servers(zhandle_t *handle, const char *hosts) {
    return ZOK;
}

int zoo_add_auth(zhandle_t *handle, const char *scheme, const char *cert, int length,
                 void_completion_t completion, const void *data) {
    return ZOK;
}

const char *zerror(int code) {
    return "an error";
}

/* --- libzookeeper, requests --------------------------------------------------------------- */

static int ask(zhandle_t *handle, enum form form, const char *path, struct asked asked) {
    require(w.count < ASKED && ++w.made <= A_REPLY_ASKS);
    asked.handle = handle;
    asked.form = form;
    asked.path = strdup(path);
    require(asked.path != NULL);
    put_back(&asked);
    return ZOK;
}

int zoo_acreate2(zhandle_t *handle, const char *path, const char *value, int length,
                 const struct ACL_vector *acl, int mode, string_stat_completion_t completion,
                 const void *data) {
    return ask(handle, STRING_STAT, path,
               (struct asked){.tell.string_stat = completion, .about = data, .flags = mode});
}

int zoo_adelete(zhandle_t *handle, const char *path, int version, void_completion_t completion,
                const void *data) {
    return ask(handle, VOID, path, (struct asked){.tell.nothing = completion, .about = data});
}

/* libzookeeper declares a pointer to the completion, but takes the completion (rpc.c). */
int zoo_aremove_all_watches(zhandle_t *handle, const char *path, ZooWatcherType type, int local,
                            void_completion_t *completion, const void *data) {
    const union {
        void_completion_t *declared;
        void_completion_t taken;
    } given = {.declared = completion};
    return ask(handle, VOID, path, (struct asked){.tell.nothing = given.taken, .about = data});
}

int zoo_aset(zhandle_t *handle, const char *path, const char *buffer, int length, int version,
             stat_completion_t completion, const void *data) {
    return ask(handle, STAT, path, (struct asked){.tell.stat = completion, .about = data});
}

int zoo_state(zhandle_t *handle) {
    return handle->connected ? ZOO_CONNECTED_STATE : ZOO_CONNECTING_STATE;
}

static bool note_watcher(watcher_fn watcher, void *context) {
    if (!watcher) return false;
    w.watcher = watcher;
    w.watcher_context = context;
    return true;
}

int zoo_awget(zhandle_t *handle, const char *path, watcher_fn watcher, void *context,
              data_completion_t completion, const void *data) {
    struct asked asked = {.tell.data = completion, .about = data};
    asked.watches = note_watcher(watcher, context);
    return ask(handle, DATA, path, asked);
}

int zoo_awexists(zhandle_t *handle, const char *path, watcher_fn watcher, void *context,
                 stat_completion_t completion, const void *data) {
    w.watcher = watcher; /* a NULL watcher would crash at the next event */
    w.watcher_context = context;
    return ask(handle, STAT, path,
               (struct asked){.tell.stat = completion, .about = data, .watches = true});
}

int zoo_awget_children(zhandle_t *handle, const char *path, watcher_fn watcher, void *context,
                       strings_completion_t completion, const void *data) {
    struct asked asked = {.tell.strings = completion, .about = data};
    asked.watches = note_watcher(watcher, context);
    return ask(handle, STRINGS, path, asked);
}

int zoo_async(zhandle_t *handle, const char *path, string_completion_t completion,
              const void *data) {
    return ask(handle, STRING, path, (struct asked){.tell.string = completion, .about = data});
}

int zoo_amulti(zhandle_t *handle, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *data) {
    struct asked asked = {.tell.nothing = completion, .about = data, .ops = ops};
    asked.results = results;
    asked.count = count;
    require(count <= OPS);
    for (int i = 0; i < count; i++)
        if (ops[i].type == 1) asked.created[i] = strdup(ops[i].create_op.path);
    return ask(handle, MULTI, "", asked);
}

void zoo_create_op_init(zoo_op_t *op, const char *path, const char *value, int length,
                        const struct ACL_vector *acl, int mode, char *buffer, int size) {
    op->type = 1;
    op->create_op.path = path; /* until the request is made */
    op->create_op.flags = mode;
    op->create_op.buf = buffer;
    op->create_op.buflen = size;
    if (buffer) require((int)strlen(path) < size);
}

void zoo_delete_op_init(zoo_op_t *op, const char *path, int version) {
    op->type = 2;
}

void zoo_set_op_init(zoo_op_t *op, const char *path, const char *buffer, int length, int version,
                     struct Stat *stat) {
    op->type = 5;
    op->set_op.stat = stat;
}

void zoo_check_op_init(zoo_op_t *op, const char *path, int version) {
    op->type = 13;
}

/* --- random answers ----------------------------------------------------------------------- */

static const char *const strangers[] = {
    "_c_11111111-2222-3333-4444-555555555555-lock-0000000001",
    "_c_11111111-2222-3333-4444-555555555556-__WRIT__0000000002",
    "_c_11111111-2222-3333-4444-555555555557-__READ__0000000002",
    "_c_11111111-2222-3333-4444-555555555558-lock-2147483647",
    "_c_11111111-2222-3333-4444-555555555559-permit-2-of-3-0000000001",
    "_c_00000000-0000-0001-0000-000000000001-lock-0000000009",
    "0123456789abcdef0123456789abcdef__lock__0000000003",
    "lock",
};

static int pick_code(void) {
    static const int codes[] = {ZNONODE,   ZNONODE,         ZNODEEXISTS,    ZBADVERSION, ZNOAUTH,
                                ZNOTEMPTY, ZCONNECTIONLOSS, ZUNIMPLEMENTED, -12,         -999,
                                5,         ZSESSIONEXPIRED, ZSYSTEMERROR,   INT32_MIN,   INT32_MAX};
    uint8_t from = byte();
    return from < 192 ? ZOK : codes[from % (sizeof codes / sizeof *codes)];
}

static int64_t pick_zxid(void) {
    static const int64_t odd[] = {0, -1, INT64_MIN, INT64_MAX, 1};
    uint8_t from = byte();
    return from < 200 ? ++w.zxid : odd[from % 5];
}

static struct Stat pick_stat(void) {
    struct Stat stat = {.czxid = pick_zxid(), .mzxid = w.zxid};
    uint8_t from = byte();
    stat.version = from < 200 ? from % 2 : (int32_t)((uint32_t)from << 24);
    stat.ephemeralOwner = from % 4 && w.handles[0] ? w.handles[0]->id.client_id : from;
    return stat;
}

static char *spoilt(const char *text) {
    static const char bytes[] = "/\n\1\x7f\xff-x09";
    char *copy = strdup(text);
    if (*copy) copy[byte() % strlen(copy)] = bytes[byte() % (sizeof bytes - 1)];
    return copy;
}

static char *lengthened(const char *text) {
    size_t size = strlen(text), more = (size_t)byte() * 16;
    char *copy = malloc(size + more + 1);
    require(copy != NULL);
    memset(copy, '0' + byte() % 10, more);
    memcpy(copy + more, text, size + 1);
    return copy;
}

/* Returns a changed copy in memory of exactly its size, or NULL. */
static char *odd_copy(const char *true_one) {
    switch (byte() % 6) {
    case 0: return NULL;
    case 1: return strdup("");
    case 2: return spoilt(true_one);
    case 3: return lengthened(true_one);
    case 4: return strdup(strangers[0]);
    default: return strndup(true_one, byte() % (strlen(true_one) + 1));
    }
}

static void remember(const char *path) {
    const char *slash = strrchr(path, '/');
    free(w.names[NAMES - 1]);
    memmove(w.names + 1, w.names, (NAMES - 1) * sizeof *w.names);
    w.names[0] = strdup(slash ? slash + 1 : path);
}

static char *pick_path(const char *asked, bool sequential) {
    char path[512];
    uint8_t from = byte();
    int number = from < 128 ? from : from < 136 ? INT32_MAX : from % 16;
    if (sequential) snprintf(path, sizeof path, "%s%010d", asked, number);
    else snprintf(path, sizeof path, "%s", asked);
    remember(path);
    return byte() < 200 ? strdup(path) : odd_copy(path);
}

static char *pick_name(void) {
    uint8_t from = byte();
    const char *known = w.names[from % NAMES];
    if (!known || from % 4 == 0)
        known = strangers[from / 4 % (sizeof strangers / sizeof *strangers)];
    return byte() < 230 ? strdup(known) : odd_copy(known);
}

static struct String_vector pick_names(void) {
    struct String_vector names = {0};
    uint8_t from = byte();
    if (from >= 240) {
        names.count = from % 2 ? -1 : INT32_MIN;
        return names;
    }
    names.count = from % 12;
    if (names.count == 0) return names;
    names.data = calloc((size_t)names.count, sizeof *names.data);
    require(names.data != NULL);
    for (int i = 0; i < names.count; i++) names.data[i] = pick_name();
    return names;
}

/* --- answers ------------------------------------------------------------------------------ */

static void tell_names(const struct asked *asked, int rc) {
    struct String_vector names = pick_names();
    asked->tell.strings(rc, rc != ZOK || byte() == 255 ? NULL : &names, asked->about);
    for (int i = 0; i < names.count; i++) free(names.data[i]);
    free(names.data);
}

static void tell_created(const struct asked *asked, int rc) {
    struct Stat stat = pick_stat();
    char *path = pick_path(asked->path, asked->flags & 2);
    bool none = rc != ZOK || byte() == 255;
    asked->tell.string_stat(rc, rc == ZOK ? path : NULL, none ? NULL : &stat, asked->about);
    free(path);
}

static void tell_data(const struct asked *asked, int rc) {
    static const int sizes[] = {-1, 0, 1, 10, 200, -5, INT32_MIN};
    struct Stat stat = pick_stat();
    uint8_t from = byte();
    int size = sizes[from % 7];
    char *data = size > 0 ? malloc((size_t)size) : NULL;
    if (data) memset(data, from, (size_t)size);
    if (data && size == 10) memcpy(data, ZKL_REVOKE_DATA, 10);
    if (from == 255) size = 7; /* without data */
    bool none = rc != ZOK || byte() == 255;
    if (rc == ZOK) asked->tell.data(rc, data, size, none ? NULL : &stat, asked->about);
    else asked->tell.data(rc, NULL, 0, NULL, asked->about);
    free(data);
}

static void tell_results(const struct asked *asked, int rc) {
    int told = byte() < 240 ? asked->count : byte() % (asked->count + 1);
    for (int i = 0; i < told; i++) {
        const zoo_op_t *op = &asked->ops[i];
        asked->results[i].err = byte() < 240 ? rc : pick_code();
        if (op->type == 5) *op->set_op.stat = pick_stat();
        if (op->type != 1 || !op->create_op.buf || rc != ZOK) continue;
        char *path = pick_path(asked->created[i], true);
        if (path) snprintf(op->create_op.buf, (size_t)op->create_op.buflen, "%s", path);
        free(path);
    }
    asked->tell.nothing(rc, asked->about);
}

static void remember_watch(const char *path) {
    for (int i = 0; i < WATCHED; i++) {
        if (w.watched[i] && strcmp(w.watched[i], path) != 0) continue;
        if (!w.watched[i]) w.watched[i] = strdup(path);
        return;
    }
}

static void answer_with(struct asked *asked, int rc) {
    w.made = 0;
    bool absent = rc == ZNONODE && asked->form == STAT;
    if (asked->watches && (rc == ZOK || absent)) remember_watch(asked->path);
    struct Stat stat = pick_stat();
    switch (asked->form) {
    case VOID: asked->tell.nothing(rc, asked->about); break;
    case STRING: asked->tell.string(rc, byte() % 2 ? asked->path : NULL, asked->about); break;
    case STRING_STAT: tell_created(asked, rc); break;
    case STAT: asked->tell.stat(rc, rc == ZOK && byte() < 255 ? &stat : NULL, asked->about); break;
    case STRINGS: tell_names(asked, rc); break;
    case DATA: tell_data(asked, rc); break;
    case MULTI: tell_results(asked, rc); break;
    }
    drop(asked);
}

static void answer(void) {
    if (w.count == 0) return;
    if (w.size == 0 && w.habit) w.chance = w.habit + w.asked[w.first].form;
    struct asked asked = take();
    answer_with(&asked, pick_code());
}

/* --- events ------------------------------------------------------------------------------- */

static zhandle_t *pick_handle(void) {
    return w.handles[byte() % 4 == 0 || !w.handles[0]];
}

static void say_state(zhandle_t *handle, int state) {
    w.made = 0;
    handle->tell(handle, ZOO_SESSION_EVENT, state, "", handle->context);
}

static void connect_again(bool same) {
    zhandle_t *handle = pick_handle();
    if (!handle || handle->connected) return;
    if (!same || !handle->id.client_id) handle->id.client_id = ++w.sessions;
    handle->connected = true;
    say_state(handle, ZOO_CONNECTED_STATE);
}

static void lose_connection(void) {
    zhandle_t *handle = pick_handle();
    if (!handle || !handle->connected) return;
    handle->connected = false;
    say_state(handle, ZOO_CONNECTING_STATE);
    for (unsigned left = w.count; left > 0 && w.count > 0; left--) {
        struct asked asked = take();
        if (asked.handle == handle) answer_with(&asked, ZCONNECTIONLOSS);
        else put_back(&asked);
    }
}

static void fire_watch(void) {
    static const int types[] = {1, 2, 2, 2, 3, 4, 99};
    int i = byte() % WATCHED, type = types[byte() % 7];
    char *path = w.watched[i];
    if (!path || !w.handles[0]) return;
    w.watched[i] = NULL;
    w.made = 0;
    w.watcher(w.handles[0], type, ZOO_CONNECTED_STATE, path, w.watcher_context);
    free(path);
}

static void pass_time(zkl_time time) {
    struct zkl_event event;
    bool more;
    w.now += time;
    w.made = 0;
    run_timer();
    while (zkl_client_next(w.client, &event, &more)) continue;
}

/* --- users -------------------------------------------------------------------------------- */

static const char *const paths[] = {"/a", "/b/c", "/d"};

static const char *pick_lock(void) {
    return paths[byte() % 3];
}

static struct zkl_acquire_options pick_wish(void) {
    static const char *const owners[] = {"one", "two", "three", "four"};
    uint8_t from = byte();
    struct zkl_acquire_options wish = {.path = pick_lock(),
                                       .kind = (enum zkl_kind)(from % 5),
                                       .owner = owners[byte() % 4],
                                       .timeout = from & 32 ? ZKL_NEVER : from * ZKL_SECOND / 16,
                                       .trying = from & 64,
                                       .reentrant = from & 128};
    if (wish.kind == ZKL_PERMIT) {
        wish.limit = 3;
        wish.permits = 1 + from / 8 % 3;
    }
    if (wish.kind == ZKL_MUTEX && from / 8 % 4 == 0) wish.batch = from & 32 ? 2 : ZKL_BATCH_BY_TIME;
    return wish;
}

static struct zkl_request *begin_all(void) {
    struct zkl_acquire_options wishes[3];
    size_t count = 2 + byte() % 2;
    for (size_t i = 0; i < count; i++) {
        wishes[i] = pick_wish();
        wishes[i].path = paths[i];
        wishes[i].owner = wishes[0].owner;
        wishes[i].timeout = wishes[0].timeout;
        wishes[i].trying = wishes[0].trying;
        wishes[i].kind = (enum zkl_kind)(wishes[i].kind % 3);
        wishes[i].batch = wishes[i].permits = wishes[i].limit = 0;
    }
    return zkl_acquire_all(w.session, wishes, count);
}

static struct zkl_request *begin_guard(struct zkl_lease *lease, zkl_time timeout) {
    const struct zkl_op ops[] = {
        {ZKL_OP_SET, 0, -1, "/stock", "9", 1},
        {ZKL_OP_CREATE, (enum zkl_node_mode)(byte() % 3), 0, "/order", "", 0},
        {ZKL_OP_DELETE, 0, 3, "/x", NULL, 0}};
    return zkl_guard(lease, ops, 1 + byte() % 3, timeout);
}

static struct zkl_request *begin(void) {
    struct zkl_lease *lease = w.leases[byte() % LEASES];
    zkl_time timeout = byte() * ZKL_SECOND / 16;
    struct zkl_acquire_options wish = pick_wish();
    switch (byte() % 15) {
    case 0: return begin_all();
    case 1: return zkl_queue(w.session, wish.path, wish.kind, timeout);
    case 2: return zkl_get(w.session, wish.path, timeout);
    case 3: return zkl_revoke(w.session, "/a/lock", timeout);
    case 4: return lease ? zkl_check(lease, timeout) : NULL;
    case 5: return lease ? begin_guard(lease, timeout) : NULL;
    case 6: return lease ? zkl_wait(lease, "/a-condition-c", timeout) : NULL;
    case 7: return lease ? zkl_downgrade(lease, timeout) : NULL;
    case 8: return lease ? zkl_release_and_confirm(lease, timeout) : NULL;
    case 9: return lease ? zkl_signal(lease, "/a-condition-c", wish.trying, timeout) : NULL;
    case 13: return zkl_children(w.session, wish.path, timeout);
    case 14: return zkl_break(w.session, "/a/lock", 0, timeout);
    default: return zkl_acquire(w.session, &wish);
    }
}

static void read_answer(struct zkl_request *request) {
    size_t size, count;
    int32_t version;
    if (!zkl_request_done(request)) return;
    const char *data = zkl_request_data(request, &size, &version);
    const struct zkl_queued *queue = zkl_request_queue(request, &count);
    for (size_t i = 0; data && i < size; i++) require(data[i] || !data[i]);
    for (size_t i = 0; i < count; i++) require(strlen(queue[i].name) > 0);
    require(zkl_request_refused_op(request) <= 3);
}

static void end(int i) {
    struct zkl_request *request = w.requests[i];
    if (!request) return;
    read_answer(request);
    struct zkl_lease *lease = zkl_request_lease(request);
    int at = byte() % LEASES;
    if (lease && w.leases[at]) zkl_lease_drop(w.leases[at]);
    if (lease) w.leases[at] = lease;
    zkl_request_drop(request);
    w.requests[i] = NULL;
}

static void use(void) {
    int i = byte() % REQUESTS;
    w.made = 0;
    if (w.requests[i]) end(i);
    else w.requests[i] = begin();
}

static void drop_lease(void) {
    int i = byte() % LEASES;
    struct zkl_lease *lease = w.leases[i];
    if (!lease) return;
    w.made = 0;
    if (byte() % 4 == 0) {
        zkl_lease_listen(lease);
        return;
    }
    w.leases[i] = NULL;
    zkl_lease_drop(lease);
}

/* Begins a watcher, or looks at a watcher and perhaps confirms or ends it. */
static void use_watcher(void) {
    static const char *const nodes[] = {"/a", "/config", "/a/lock"};
    int i = byte() % WATCHERS;
    struct zkl_sight sight;
    enum zkl_code why;
    w.made = 0;
    if (!w.watchers[i]) {
        w.watchers[i] = zkl_watch(w.session, nodes[byte() % 3], &why);
        return;
    }
    if (zkl_watcher_look(w.watchers[i], &sight))
        for (size_t at = 0; at < sight.size; at++) require(sight.data[at] || !sight.data[at]);
    uint8_t from = byte();
    if (from % 2) zkl_watcher_confirm(w.watchers[i]);
    if (from % 4) return;
    zkl_watcher_drop(w.watchers[i]);
    w.watchers[i] = NULL;
}

/* --- a life ------------------------------------------------------------------------------- */

static void enter(void (*act)(void)) {
    zkl_client_enter(w.client);
    act();
    zkl_client_leave(w.client);
}

static void make_move(void) {
    switch (byte() % 16) {
    case 0:
    case 1:
    case 2:
    case 3: enter(use); break;
    case 4: enter(byte() % 3 ? drop_lease : use_watcher); break;
    case 5: fire_watch(); break;
    case 6: pass_time((byte() % 16) * ZKL_SECOND / 8); break;
    case 7:
        if (byte() % 4 == 0) lose_connection();
        break;
    case 8: connect_again(byte() % 8); break;
    default: answer(); break;
    }
}

/* Answers all requests. Whatever the answers are, the requests end. */
static void answer_all(void) {
    for (int i = 0; w.count > 0; i++) {
        require(i < REPLIES);
        answer();
    }
}

static void give_up_all(void) {
    for (int i = 0; i < REQUESTS; i++) end(i);
    for (int i = 0; i < LEASES; i++)
        if (w.leases[i]) zkl_lease_drop(w.leases[i]);
}

static void drop_watchers(void) {
    for (int i = 0; i < WATCHERS; i++)
        if (w.watchers[i]) zkl_watcher_drop(w.watchers[i]);
}

static void close_all(void) {
    enter(give_up_all);
    zkl_client_close_soon(w.client, 4 * ZKL_SECOND);
    for (int i = 0; !w.ended; i++) {
        require(i < 1000);
        answer_all();
        pass_time(ZKL_SECOND / 8);
    }
    require(zkl_client_has_closed(w.client) && !w.handles[0] && !w.handles[1]);
    enter(drop_watchers);
    zkl_client_drop(w.client);
    for (int i = 0; i < NAMES; i++) free(w.names[i]);
    for (int i = 0; i < WATCHED; i++) free(w.watched[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct zkl_options options = {.hosts = "127.0.0.1:1",
                                  .chroot = "",
                                  .timeout = 6 * ZKL_SECOND,
                                  .margin = 0.5,
                                  .reopen = true,
                                  .containers = true,
                                  .identity = "fuzz"};
    memset(&w, 0, sizeof w);
    w.data = data;
    w.size = size;
    for (size_t i = 0; i < size; i++) w.chance = w.chance * 31 + data[i];
    if (size % 4) w.habit = w.chance;
    w.now = 1000 * ZKL_SECOND;
    w.zxid = 100;
    timer = NULL;
    w.client = zkl_client_new(&zkl_zookeeper, &options);
    require(w.client != NULL);
    w.session = w.client->session;
    pass_time(0);
    connect_again(true);
    while (w.size > 0) make_move();
    answer_all();
    close_all();
    return 0;
}
