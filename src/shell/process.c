/*
 * process.c - lists all clients of this process, closes them at its end, and adds up what they
 * have counted.
 *
 * os.exit() runs no finalizer of Lua's, but it runs atexit() handlers, and one of these releases
 * all locks. A signal that ends the process runs neither: on request it closes the clients first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define EXIT_BOUND ZKL_SECOND

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct threaded *clients;
static struct zkl_totals ended; /* what delisted clients had counted */
static pid_t registered;        /* the process that `clients` belongs to */
static atomic_int ending;       /* caught signals that were not yet sent again */

/* In a forked child: a thread of the parent may have had the mutex; no thread reads signals. */
static void forked(void) {
    pthread_mutex_init(&mutex, NULL);
    ending = 0;
}

/* The first client that is still listed, with a reference for the caller; NULL: none. */
static struct threaded *first_client(void) {
    pthread_mutex_lock(&mutex);
    struct threaded *first = clients;
    if (first) zkl_client_ref(&first->client);
    pthread_mutex_unlock(&mutex);
    return first;
}

/* Begins to close every client, then waits for all of them together. */
static void close_all(void) {
    zkl_time due = zkl_now() + EXIT_BOUND;
    if (!zkl_process_is(registered)) return; /* a forked child */
    pthread_mutex_lock(&mutex);
    for (struct threaded *each = clients; each; each = each->next)
        zkl_client_begin_close(&each->client, due);
    pthread_mutex_unlock(&mutex);
    for (struct threaded *first; (first = first_client());) {
        zkl_time now = zkl_now();
        bool closed = zkl_client_close(&first->client, now < due ? due - now : 0);
        zkl_process_delist(first);
        zkl_client_drop(&first->client);
        if (!closed && zkl_now() >= due) return;
    }
}

/*
 * When a signal closes the sessions, a wait that ends with them may make the program exit. The
 * exit waits until the signal was sent again: whoever started the program shall see the signal.
 */
static void at_exit(void) {
    const struct timespec moment = {.tv_nsec = ZKL_SECOND / 100};
    zkl_time due = zkl_now() + 2 * EXIT_BOUND;
    close_all();
    while (ending && zkl_now() < due) nanosleep(&moment, NULL);
}

/*
 * Once a process: sets the handlers of fork and exit, and has the module stay loaded, for
 * lua_close() would unload it while its threads run. A forked child inherits both; its list is
 * empty.
 */
static int prepare(void) {
    Dl_info self;
    if (registered == 0) {
        if (zkl_process_learn(forked) != 0 || atexit(at_exit) != 0) return -1;
        if (dladdr((void *)&registered, &self) && self.dli_fname)
            dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
    }
    if (!zkl_process_is(registered)) { /* the list is the parent's */
        clients = NULL;
        zkl_totals_clear(&ended);
        ended = (struct zkl_totals){0};
    }
    registered = getpid();
    return 0;
}

int zkl_process_enlist(struct threaded *self) {
    pthread_mutex_lock(&mutex);
    int error = prepare();
    if (error == 0) {
        self->link = &clients;
        self->next = clients;
        if (self->next) self->next->link = &self->next;
        clients = self;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

static void add(struct zkl_totals *totals, zkl_client *client) {
    zkl_totals_add(totals, zkl_client_enter(client));
    zkl_client_leave(client);
}

void zkl_process_delist(struct threaded *self) {
    pthread_mutex_lock(&mutex);
    if (self->link) {
        *self->link = self->next;
        if (self->next) self->next->link = self->link;
        self->link = NULL;
        add(&ended, &self->client);
    }
    pthread_mutex_unlock(&mutex);
}

void zkl_process_totals(struct zkl_totals *totals) {
    pthread_mutex_lock(&mutex);
    if (zkl_process_is(registered)) {
        zkl_totals_merge(totals, &ended);
        for (struct threaded *each = clients; each; each = each->next) add(totals, &each->client);
    }
    pthread_mutex_unlock(&mutex);
}

/* --- the end by a signal ---------------------------------------------------------------------- */

static atomic_int reader;             /* the process whose thread reads the pipe; 0: none */
static int pipe_ends[2];              /* a byte for each caught signal */
static struct sigaction before[NSIG]; /* the program's action for each */

static void on_signal(int signal);
static void relay(int signal, siginfo_t *info, void *context);

/* An ignored signal stays ignored: nohup. */
static void install(int signal) {
    const struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction now;
    sigaction(signal, NULL, &now);
    if (now.sa_handler == SIG_IGN || now.sa_handler == on_signal) return;
    if (now.sa_sigaction != relay) before[signal] = now;
    sigaction(signal, &ours, NULL);
}

/*
 * Takes the signal that was sent again: the program's handler runs, with its flags, and the
 * next signal comes to on_signal(). That is installed before the call, for the program's handler
 * may not return, and again after it, for the handler may install another action, as Lua's does so
 * that the next Ctrl-C ends the process.
 */
static void relay(int signal, siginfo_t *info, void *context) {
    const struct sigaction usual = before[signal];
    install(signal);
    if (usual.sa_flags & SA_RESETHAND) before[signal].sa_handler = SIG_DFL;
    if (usual.sa_flags & SA_SIGINFO) usual.sa_sigaction(signal, info, context);
    else usual.sa_handler(signal);
    install(signal);
}

/* Sends the signal again, with its usual effect: the program's handler runs, or the process ends.
 */
static void send_on(int signal) {
    struct sigaction usual = before[signal], now;
    if (usual.sa_handler != SIG_DFL) {
        usual.sa_sigaction = relay;
        usual.sa_flags = (usual.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
    }
    sigaction(signal, NULL, &now);
    if (now.sa_handler == on_signal) sigaction(signal, &usual, NULL); /* else it was replaced */
    kill(getpid(), signal);
}

/* A forked child has no reader, and no sessions to close: the signal takes effect at once. */
static void on_signal(int signal) {
    int error = errno;
    unsigned char byte = (unsigned char)signal;
    ending++;
    if (getpid() != reader || write(pipe_ends[1], &byte, 1) != 1) {
        send_on(signal);
        ending--;
    }
    errno = error;
}

/* Process 1 of a container has no default action for signals: it is ended by _exit(). */
static void *read_signals(void *argument) {
    unsigned char signal;
    (void)argument;
    while (read(pipe_ends[0], &signal, 1) == 1) {
        close_all();
        bool ends = before[signal].sa_handler == SIG_DFL;
        send_on(signal);
        if (getpid() == 1 && ends) _exit(128 + signal);
        ending--; /* the signal was sent again */
    }
    return NULL;
}

/* 0, or an errno value. */
static int start_reader(void) {
    int ends[2];
    if (reader == getpid()) return 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    if (reader) { /* the parent's pipe, whose ends this process inherited */
        close(pipe_ends[0]);
        close(pipe_ends[1]);
    }
    pipe_ends[0] = ends[0];
    pipe_ends[1] = ends[1];
    reader = getpid();
    int error = zkl_thread_start(read_signals, NULL);
    if (!error) return 0;
    reader = 0;
    close(ends[0]);
    close(ends[1]);
    return error;
}

int zkl_process_close_on(int signal) {
    pthread_mutex_lock(&mutex);
    int error = prepare() == 0 ? start_reader() : ENOMEM;
    if (!error) install(signal);
    pthread_mutex_unlock(&mutex);
    return error;
}
