/*
 * process.c - closes all clients of this process at exit, and sums up their counts.
 *
 * os.exit() runs atexit() handlers but no Lua finalizer, so such a handler releases all locks. A
 * signal that ends the process runs neither, so zkl_process_close_on() installs a signal handler.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "linux.h"
#include "pin.h"

#define EXIT_BOUND ZKL_SECOND

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct threaded *clients;
static struct zkl_totals ended_totals; /* counts of delisted clients */
static unsigned list_owner;            /* a forked child begins its own list */
static atomic_int signals_to_resend;   /* a count */
static atomic_int reader_process;      /* id of this process if a thread reads signals; 0: none */
static int pipe_ends[2];               /* a byte for each caught signal */

/* A parent's thread may have held the mutex, and no thread of the child reads signals. */
static void reset_after_fork(void) {
    pthread_mutex_init(&mutex, NULL);
    signals_to_resend = 0;
    if (!reader_process) return;
    reader_process = 0;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static struct threaded *ref_first_client(void) {
    pthread_mutex_lock(&mutex);
    struct threaded *first = clients;
    if (first) zkl_client_ref(&first->client);
    pthread_mutex_unlock(&mutex);
    return first;
}

/* Begins to close every client before it waits for any. */
static void close_all(void) {
    zkl_time due = zkl_now() + EXIT_BOUND;
    if (!zkl_process_is(list_owner)) return;
    pthread_mutex_lock(&mutex);
    for (struct threaded *each = clients; each; each = each->next)
        zkl_client_begin_close(&each->client, due);
    pthread_mutex_unlock(&mutex);
    for (struct threaded *first; (first = ref_first_client());) {
        zkl_time now = zkl_now();
        bool closed = zkl_client_close(&first->client, now < due ? due - now : 0);
        zkl_process_delist(first);
        zkl_client_drop(&first->client);
        if (!closed && zkl_now() >= due) return;
    }
}

/*
 * A signal's closing may end a wait and so make the program exit. Exit waits until the signal was
 * resent, so that the parent sees the signal as the cause.
 */
static void at_exit(void) {
    const struct timespec pause = {.tv_nsec = ZKL_SECOND / 100};
    zkl_time due = zkl_now() + 2 * EXIT_BOUND;
    close_all();
    while (signals_to_resend && zkl_now() < due) nanosleep(&pause, NULL);
}

void zkl_process_open_standard(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
    }
}

/*
 * Once per process, installs the handlers of fork and exit, and pins the module under its threads.
 * A forked child inherits handlers and pin, and empties the list.
 */
static int prepare(void) {
    zkl_process_open_standard();
    if (list_owner == 0) {
        if (!zkl_process_number() || pthread_atfork(NULL, NULL, reset_after_fork) != 0 ||
            atexit(at_exit) != 0)
            return -1;
        zkl_pin_module();
    }
    if (!zkl_process_is(list_owner)) {
        clients = NULL;
        zkl_totals_clear(&ended_totals);
        ended_totals = (struct zkl_totals){0};
    }
    list_owner = zkl_process_number();
    return 0;
}

int zkl_process_enlist(struct threaded *self) {
    pthread_mutex_lock(&mutex);
    int error = prepare();
    if (error == 0) {
        self->slot = &clients;
        self->next = clients;
        if (self->next) self->next->slot = &self->next;
        clients = self;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void zkl_process_delist(struct threaded *self) {
    pthread_mutex_lock(&mutex);
    if (self->slot) {
        *self->slot = self->next;
        if (self->next) self->next->slot = self->slot;
        self->slot = NULL;
        zkl_totals_add_ended(&ended_totals, zkl_client_enter(&self->client));
        zkl_client_leave(&self->client);
    }
    pthread_mutex_unlock(&mutex);
}

void zkl_process_totals(struct zkl_totals *totals) {
    pthread_mutex_lock(&mutex);
    if (zkl_process_is(list_owner)) {
        zkl_totals_merge(totals, &ended_totals);
        for (struct threaded *each = clients; each; each = each->next) {
            zkl_totals_add(totals, zkl_client_enter(&each->client));
            zkl_client_leave(&each->client);
        }
    }
    pthread_mutex_unlock(&mutex);
}

/* --- the end by a signal ---------------------------------------------------------------------- */

static struct sigaction program_actions[NSIG]; /* by signal */

static void on_signal(int signal);
static void call_program_handler(int signal, siginfo_t *info, void *context);

/* Notes the program's action. Leaves an ignored signal ignored, as nohup wants. */
static void install_handler(int signal) {
    const struct sigaction ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction current;
    sigaction(signal, NULL, &current);
    if (current.sa_handler == SIG_IGN || current.sa_handler == on_signal) return;
    if (current.sa_sigaction != call_program_handler) program_actions[signal] = current;
    sigaction(signal, &ours, NULL);
}

/*
 * Calls the program's handler for the resent signal. on_signal() is installed before the call,
 * because the handler may not return, and after the call, because the handler may change the
 * action, like Lua's, which makes the next Ctrl-C end the process.
 */
static void call_program_handler(int signal, siginfo_t *info, void *context) {
    const struct sigaction usual = program_actions[signal];
    install_handler(signal);
    if (usual.sa_flags & SA_RESETHAND) program_actions[signal].sa_handler = SIG_DFL;
    if (usual.sa_flags & SA_SIGINFO) usual.sa_sigaction(signal, info, context);
    else usual.sa_handler(signal);
    install_handler(signal);
}

/* Resends the signal, for the program's handler or the default action. */
static void resend(int signal) {
    struct sigaction usual = program_actions[signal], current;
    if (usual.sa_handler != SIG_DFL) {
        usual.sa_sigaction = call_program_handler;
        usual.sa_flags = (usual.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
    }
    sigaction(signal, NULL, &current);
    if (current.sa_handler == on_signal) sigaction(signal, &usual, NULL); /* unless replaced */
    kill(getpid(), signal);
}

/*
 * A forked child has neither reader thread nor sessions, so the signal takes effect at once, also
 * before reset_after_fork().
 */
static void on_signal(int signal) {
    int error = errno;
    unsigned char byte = (unsigned char)signal;
    signals_to_resend++;
    if (getpid() != reader_process || write(pipe_ends[1], &byte, 1) != 1) {
        resend(signal);
        signals_to_resend--;
    }
    errno = error;
}

/* Process 1 of a container has no default actions, so _exit() ends it. */
static void *read_signals(void *argument) {
    unsigned char signal;
    (void)argument;
    while (read(pipe_ends[0], &signal, 1) == 1) {
        close_all();
        bool fatal = program_actions[signal].sa_handler == SIG_DFL;
        resend(signal);
        if (getpid() == 1 && fatal) _exit(128 + signal);
        signals_to_resend--;
    }
    return NULL;
}

/* 0, or an errno value. */
static int start_reader(void) {
    int ends[2];
    if (reader_process == getpid()) return 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    pipe_ends[0] = ends[0];
    pipe_ends[1] = ends[1];
    reader_process = getpid();
    int error = zkl_thread_start(read_signals, NULL);
    if (!error) return 0;
    reader_process = 0;
    close(ends[0]);
    close(ends[1]);
    return error;
}

int zkl_process_close_on(int signal) {
    pthread_mutex_lock(&mutex);
    int error = prepare() == 0 ? start_reader() : ENOMEM;
    if (!error) install_handler(signal);
    pthread_mutex_unlock(&mutex);
    return error;
}

/* --- the end of a program by a signal of its own ---------------------------------------------- */

static struct {
    int signal;
    bool of_group;
} last;

/* Returns in process 1 of a container, which no signal of its own ends. */
static void die(void) {
    fflush(NULL);
    zkl_linux_forbid_core();
    signal(last.signal, SIG_DFL);
    if (last.of_group) kill(0, last.signal);
    raise(last.signal);
}

void zkl_process_die_at_exit(int signal, bool of_group) {
    last.signal = signal;
    last.of_group = of_group;
    zkl_pin_module();
    atexit(die);
}
