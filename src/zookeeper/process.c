/*
 * process.c - all sessions of this process, so that its end releases their
 * locks: os.exit() runs no finalizer of Lua's, but it runs atexit().
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#define EXIT_BOUND ZKL_SECOND

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct zkl_session *sessions;
static pid_t registered; /* the process that `sessions` belongs to */
static pid_t process;    /* this one; a fork changes it */

/* In the child: another thread may have had the mutex. */
static void forked(void) {
    pthread_mutex_init(&mutex, NULL);
    process = getpid();
}

bool zkl_process_is(pid_t other) {
    return other == process;
}

/* The first session that is still listed, with a count of the caller's. */
static struct zkl_session *first_session(void) {
    pthread_mutex_lock(&mutex);
    struct zkl_session *session = sessions;
    if (session) zkl_session_hold(session);
    pthread_mutex_unlock(&mutex);
    return session;
}

/* Begins to close every session, then waits for all of them together. */
static void close_all(void) {
    zkl_time due = zkl_now() + EXIT_BOUND;
    if (registered != process) return; /* a forked child */
    pthread_mutex_lock(&mutex);
    for (struct zkl_session *each = sessions; each; each = each->next)
        zkl_session_begin_close(each, due);
    pthread_mutex_unlock(&mutex);
    for (struct zkl_session *session; (session = first_session());) {
        zkl_time now = zkl_now();
        bool closed = zkl_session_close(session, now < due ? due - now : 0);
        zkl_process_delist(session);
        zkl_session_drop(session);
        if (!closed && zkl_now() >= due) return;
    }
}

/*
 * lua_close() unloads the module while threads of it may run: pin it. Both
 * steps are for the process, and a forked child that opens a session of its
 * own keeps what it inherited.
 */
static int prepare(void) {
    Dl_info self;
    if (registered == 0) {
        process = getpid();
        if (pthread_atfork(NULL, NULL, forked) != 0 || atexit(close_all) != 0) return -1;
        if (dladdr((void *)&registered, &self) && self.dli_fname)
            dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
    }
    if (registered != process) sessions = NULL; /* the parent's */
    registered = process;
    return 0;
}

int zkl_process_enlist(struct zkl_session *session) {
    pthread_mutex_lock(&mutex);
    int error = prepare();
    if (error == 0) {
        session->link = &sessions;
        session->next = sessions;
        if (session->next) session->next->link = &session->next;
        sessions = session;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void zkl_process_delist(struct zkl_session *session) {
    pthread_mutex_lock(&mutex);
    if (session->link) {
        *session->link = session->next;
        if (session->next) session->next->link = session->link;
        session->link = NULL;
    }
    pthread_mutex_unlock(&mutex);
}
