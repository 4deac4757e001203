/* minder.c - see minder.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shell/linux.h"
#include "../shell/now.h"
#include "minder.h"

#define NOT_FOUND 127 /* as in a shell */
#define NOT_EXECUTABLE 126

/* Pauses between checks for the end of the group, and of a group of another user. */
#define CHECK_PAUSE (ZKL_SECOND / 50)
#define FOREIGN_CHECK_PAUSE ZKL_SECOND

struct minder {
    const struct zkl_minded *minded;
    int socket;         /* -1: the owner is gone */
    int terminal;       /* -1: none */
    pid_t owner_group;  /* 0: of another PID namespace, where no group of ours gets a terminal */
    pid_t command;      /* 0: not started, or over */
    bool command_ended; /* but perhaps not its group */
    bool group_gone;    /* but perhaps not the adopted groups */
    bool stopped;       /* the command, as last seen */
    bool has_terminal;  /* the group has the terminal, or gets it when continued */
    bool terminated;    /* SIGTERM was sent for a limit */
    int end_signal;     /* last signal to end the command; 0: none */
    zkl_time grace;
    zkl_time rest_until; /* end of the grace of a signalled or killed command; 0: none */
    int rest_signal;     /* for adopted groups; 0: none */
    pid_t *told;         /* adopted groups that got it */
    size_t told_count;
    sigset_t refused; /* signals that another user's command did not get */
    zkl_time orphan_for;
    zkl_time term_at, kill_at;
    zkl_time sure_until; /* latest kill_at without an owner */
};

static void report(const struct minder *self, enum zkl_report_kind kind, int number) {
    struct zkl_report sent = {.kind = kind, .number = number};
    if (self->socket >= 0) send(self->socket, &sent, sizeof sent, MSG_NOSIGNAL);
}

/* --- process groups --------------------------------------------------------------------------- */

enum zkl_group zkl_group_state(pid_t group) {
    if (kill(-group, 0) == 0) return ZKL_GROUP_OURS;
    return errno == EPERM ? ZKL_GROUP_FOREIGN : ZKL_GROUP_GONE;
}

void zkl_complain_of_user(int signal) {
    dprintf(STDERR_FILENO,
            "zklock: signal %d did not reach the command, or a part of it, that runs as another "
            "user: it goes on. Run zklock as that user: sudo zklock ... COMMAND, not "
            "zklock ... sudo COMMAND\n",
            signal);
}

/* --- the terminal ----------------------------------------------------------------------------- */

/* False if `from` lacks it. Works from a background job, too, as SIGTTOU is blocked. */
static bool give_terminal(const struct minder *self, pid_t from, pid_t to) {
    if (self->terminal < 0 || tcgetpgrp(self->terminal) != from) return false;
    tcsetpgrp(self->terminal, to);
    return true;
}

static bool owner_has_terminal(const struct minder *self) {
    return self->terminal >= 0 && tcgetpgrp(self->terminal) == self->owner_group;
}

/* In $(...) of an interactive shell the background cannot read, and is not stopped by a read. */
static bool background_read_fails(void) {
    struct sigaction action;
    sigaction(SIGTTIN, NULL, &action);
    return action.sa_handler == SIG_IGN;
}

/*
 * At first only a command that reads and writes the terminal gets it, because another part of the
 * owner's pipeline may read it. Another command gets the terminal when a read stops the command
 * (on_stop()), or at once if a read would not stop it.
 */
static bool wants_terminal(const struct minder *self) {
    if (!owner_has_terminal(self) || !isatty(STDIN_FILENO)) return false;
    return isatty(STDOUT_FILENO) || background_read_fails();
}

/* --- the command ------------------------------------------------------------------------------ */

static void set_environment(const struct minder *self, const struct zkl_order *order) {
    if (order->token[0]) setenv("ZKLOCK_TOKEN", order->token, 1);
    else unsetenv("ZKLOCK_TOKEN"); /* perhaps another lock's */
    setenv("ZKLOCK_SESSION", order->session, 1);
    setenv("ZKLOCK_PATH", self->minded->path, 1);
}

_Noreturn static void become_command(const struct minder *self, const struct zkl_order *order,
                                     pid_t minder) {
    char *const *argv = self->minded->argv;
    setpgid(0, 0);
    if (self->has_terminal) tcsetpgrp(self->terminal, getpid());
    set_environment(self, order);
    zkl_linux_die_with_parent();
    if (getppid() != minder) _exit(NOT_EXECUTABLE);
    sigprocmask(SIG_SETMASK, self->minded->mask, NULL);
    execvp(argv[0], argv);
    int error = errno;
    dprintf(STDERR_FILENO, "zklock: %s: %s\n", argv[0], strerror(error));
    _exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

static void launch(struct minder *self, const struct zkl_order *order) {
    pid_t minder = getpid();
    self->has_terminal = wants_terminal(self);
    self->orphan_for = order->orphan_for;
    self->grace = order->grace;
    pid_t command = fork();
    if (command == 0) become_command(self, order, minder);
    if (command < 0) {
        report(self, ZKL_REPORT_FAILED, errno);
        _exit(1);
    }
    setpgid(command, command);
    self->command = command;
    report(self, ZKL_REPORT_STARTED, (int)command);
}

static bool ends_commands(int signal) {
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

static void send_signal(struct minder *self, pid_t group, int signal) {
    if (kill(-group, signal) == 0 || errno != EPERM) return;
    if (!sigismember(&self->refused, signal)) zkl_complain_of_user(signal);
    sigaddset(&self->refused, signal);
}

/* Gives the grace to the rest of a command that a signal ended, or may have ended. */
static void expect_end(struct minder *self, int signal) {
    self->rest_until = zkl_due(self->grace);
    if (!ends_commands(signal)) return;
    self->rest_signal = signal;
    self->told_count = 0;
}

static void signal_group(struct minder *self, int signal) {
    if (!self->command) return;
    if (ends_commands(signal)) {
        self->end_signal = signal;
        expect_end(self, signal);
    }
    if (signal == SIGCONT) self->stopped = false;
    if (!self->group_gone) send_signal(self, self->command, signal);
}

static void resume(struct minder *self) {
    if (self->has_terminal) give_terminal(self, self->owner_group, self->command);
    signal_group(self, SIGCONT);
}

/*
 * A command that stopped for the terminal gets it from the owner. Else the owner's group stops by
 * the same signal, because timeout(1) ignores SIGTTIN and SIGTTOU, and so can still end zklock.
 */
static void on_stop(struct minder *self, int signal) {
    self->stopped = true;
    bool wanted = self->terminal >= 0 && (signal == SIGTTIN || signal == SIGTTOU);
    if (wanted) self->has_terminal = true;
    if (wanted && owner_has_terminal(self)) {
        resume(self);
        return;
    }
    give_terminal(self, self->command, self->owner_group);
    if (!wanted) signal = self->has_terminal ? SIGTSTP : 0;
    report(self, ZKL_REPORT_STOPPED, signal);
}

static void on_end(struct minder *self, int status) {
    self->command_ended = true;
    self->stopped = false;
    if (WIFSIGNALED(status) && !self->terminated) /* Ctrl-C, a kill, a crash */
        expect_end(self, WTERMSIG(status));
    bool had_terminal = give_terminal(self, self->command, self->owner_group);
    if (WIFEXITED(status)) {
        report(self, ZKL_REPORT_EXITED, WEXITSTATUS(status));
        return;
    }
    int signal = WTERMSIG(status);
    bool may_be_typed = had_terminal && (signal == SIGINT || signal == SIGQUIT);
    report(self, may_be_typed ? ZKL_REPORT_TYPED : ZKL_REPORT_KILLED, signal);
}

/* Collects the command and its orphans, as a container may have no other collector. */
static void collect_children(struct minder *self) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
        if (pid != self->command || self->command_ended) continue;
        if (WIFSTOPPED(status)) on_stop(self, WSTOPSIG(status));
        else if (WIFCONTINUED(status)) self->stopped = false;
        else on_end(self, status);
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

/* After SIGTERM limits only move to earlier times. */
static void set_limits(struct minder *self, zkl_time term_at, zkl_time kill_at) {
    if (self->terminated && kill_at > self->kill_at) return;
    self->term_at = term_at;
    self->kill_at = kill_at;
}

static void on_owner_gone(struct minder *self) {
    zkl_time kill_at = zkl_earlier(zkl_due(self->orphan_for), self->sure_until);
    close(self->socket);
    self->socket = -1;
    set_limits(self, zkl_now(), zkl_earlier(kill_at, self->kill_at));
}

static bool is_time_to_kill(const struct minder *self) {
    return self->terminated && zkl_now() >= self->kill_at;
}

static void impose_limits(struct minder *self) {
    if (!self->command) return;
    if (!self->terminated && zkl_now() >= self->term_at) {
        self->terminated = true;
        report(self, ZKL_REPORT_LATE, 0);
        signal_group(self, SIGTERM);
        signal_group(self, SIGCONT); /* a stopped command could not end */
    }
    if (is_time_to_kill(self)) signal_group(self, SIGKILL);
}

/* --- adopted groups --------------------------------------------------------------------------- */

struct look {
    struct minder *minder;
    enum zkl_group worst;
};

/* False for a group that got the signal already. */
static bool note_told(struct minder *self, pid_t group) {
    for (size_t i = 0; i < self->told_count; i++) {
        if (self->told[i] == group) return false;
    }
    pid_t *told = realloc(self->told, (self->told_count + 1) * sizeof *told);
    if (!told) return false;
    self->told = told;
    told[self->told_count++] = group;
    return true;
}

/* Until now only other members of a foreign group may have got the signal. */
static void end_group(struct minder *self, pid_t group, enum zkl_group state) {
    bool kills = is_time_to_kill(self);
    if (kills) send_signal(self, group, SIGKILL);
    if (kills || !self->rest_signal) return;
    if (!self->terminated && zkl_now() >= self->rest_until) return;
    if (!note_told(self, group) && state != ZKL_GROUP_FOREIGN) return;
    send_signal(self, group, self->rest_signal);
    send_signal(self, group, SIGCONT); /* a stopped group could not end */
}

static void look_at_child(pid_t child, void *context) {
    struct look *look = context;
    struct minder *self = look->minder;
    pid_t group = getpgid(child);
    if (getsid(child) != getsid(0)) return; /* a daemon */
    if (group == self->command || group == self->owner_group || group == getpgrp()) return;
    enum zkl_group state = zkl_group_state(group);
    if (state > look->worst) look->worst = state;
    end_group(self, group, state);
}

/* Ends the adopted groups if the command is ended. Returns the worst of their states. */
static enum zkl_group end_adopted(struct minder *self) {
    struct look look = {.minder = self, .worst = ZKL_GROUP_GONE};
    bool is_ended = self->terminated || (self->command_ended && self->rest_until);
    if (is_ended) zkl_linux_visit_children(look_at_child, &look);
    return look.worst;
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum zkl_group look_at_group(struct minder *self) {
    if (self->group_gone) return ZKL_GROUP_GONE;
    enum zkl_group group = zkl_group_state(self->command);
    if (group == ZKL_GROUP_FOREIGN && self->end_signal)
        send_signal(self, self->command, self->end_signal); /* as in end_group() */
    self->group_gone = group == ZKL_GROUP_GONE;
    if (self->group_gone) report(self, ZKL_REPORT_EMPTY, 0);
    return group;
}

/*
 * A command that ended by itself is over, and its background jobs run on. The rest of one that a
 * signal may have ended, such as a shell's child, has the grace to end. A terminated command is
 * over when only zombies are left of its group.
 */
static bool is_over(const struct minder *self, enum zkl_group group, enum zkl_group adopted) {
    enum zkl_group worst = group > adopted ? group : adopted;
    if (worst == ZKL_GROUP_GONE) return true;
    if (worst == ZKL_GROUP_FOREIGN && self->end_signal) return false;
    if (!self->terminated) return zkl_now() >= self->rest_until;
    return adopted == ZKL_GROUP_GONE && self->kill_at < ZKL_NEVER - ZKL_ZOMBIES_AFTER &&
           zkl_now() >= self->kill_at + ZKL_ZOMBIES_AFTER;
}

/*
 * Reports the end, and resets all for the next launch. Limits that came late do no harm, because
 * the next command's limits precede its launch.
 */
static void finish_if_over(struct minder *self) {
    enum zkl_group group = self->command_ended ? look_at_group(self) : ZKL_GROUP_OURS;
    enum zkl_group adopted = end_adopted(self); /* also children of members that have just ended */
    if (!self->command_ended || !is_over(self, group, adopted)) return;
    bool is_left = group != ZKL_GROUP_GONE || adopted != ZKL_GROUP_GONE;
    report(self, ZKL_REPORT_OVER, is_left && !self->terminated && self->rest_until);
    self->command = 0;
    self->command_ended = self->terminated = self->has_terminal = self->group_gone = false;
    self->end_signal = self->rest_signal = 0;
    self->rest_until = 0;
    sigemptyset(&self->refused);
    self->term_at = self->kill_at = self->sure_until = ZKL_NEVER;
}

static zkl_time due(const struct minder *self) {
    zkl_time now = zkl_now();
    if (!self->command) return ZKL_NEVER;
    if (self->command_ended || is_time_to_kill(self))
        return now + (sigisemptyset(&self->refused) ? CHECK_PAUSE : FOREIGN_CHECK_PAUSE);
    return self->terminated ? self->kill_at : self->term_at;
}

/* --- orders ----------------------------------------------------------------------------------- */

static void obey(struct minder *self, const struct zkl_order *order) {
    switch (order->kind) {
    case ZKL_ORDER_LAUNCH: launch(self, order); break;
    case ZKL_ORDER_LIMITS:
        set_limits(self, order->term_at, order->kill_at);
        self->sure_until = order->sure_until;
        break;
    case ZKL_ORDER_SIGNAL:
        if (!self->command_ended || ends_commands(order->signal)) signal_group(self, order->signal);
        /* A stopped command stops no more. */
        if (order->signal == SIGTSTP && self->stopped) report(self, ZKL_REPORT_STOPPED, 0);
        break;
    case ZKL_ORDER_RESUME:
        if (self->command && !self->command_ended) resume(self);
        break;
    }
}

static void listen_to_owner(struct minder *self) {
    struct zkl_order order;
    ssize_t size = recv(self->socket, &order, sizeof order, MSG_DONTWAIT);
    if (size == (ssize_t)sizeof order) obey(self, &order);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR)) on_owner_gone(self);
}

static void wait_for_news(struct minder *self) {
    struct pollfd polled = {.fd = self->socket, .events = POLLIN};
    sigset_t but_children;
    zkl_time until = due(self), now = zkl_now(), rest = until > now ? until - now : 0;
    struct timespec time = {.tv_sec = (time_t)(rest / ZKL_SECOND), .tv_nsec = rest % ZKL_SECOND};
    sigfillset(&but_children);
    sigdelset(&but_children, SIGCHLD);
    int ready = ppoll(&polled, 1, until == ZKL_NEVER ? NULL : &time, &but_children);
    if (ready > 0) listen_to_owner(self);
}

void zkl_end_by_interrupt(void) {
    struct sigaction before;
    sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) signal(SIGINT, SIG_DFL);
}

static void on_child(int signal) {
    (void)signal; /* ends ppoll() */
}

void zkl_minder_main(int socket, const struct zkl_minded *minded) {
    const struct sigaction action = {.sa_handler = on_child};
    struct minder self = {.minded = minded,
                          .socket = socket,
                          .terminal = getpgrp() ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1,
                          .owner_group = getpgrp(),
                          .term_at = ZKL_NEVER,
                          .kill_at = ZKL_NEVER,
                          .sure_until = ZKL_NEVER};
    setpgid(0, 0);
    sigemptyset(&self.refused);
    zkl_linux_adopt_orphans();
    sigaction(SIGCHLD, &action, NULL);
    zkl_end_by_interrupt(); /* also the command, before it is executed */
    while (self.command || self.socket >= 0) {
        wait_for_news(&self);
        collect_children(&self);
        impose_limits(&self);
        finish_if_over(&self);
    }
    _exit(0);
}
