/*
 * minder.h - the process between `zklock run` and its command.
 *
 * The owner forks it while having one thread, so it may do anything between fork and exec. It
 * starts the command in a process group of its own, passes signals on, and reports. It ends the
 * group, by SIGTERM and later SIGKILL, when the owner says so, is gone, or fails to move the limits
 * in time (it was stopped). After OVER the owner may launch the command again. Only SIGKILL and
 * SIGSTOP reach the minder; at its death the kernel kills the command.
 *
 * A command of another user (sudo, a setuid program) gets neither its signals nor the kernel's. The
 * minder says so on stderr, and waits for the command's own end.
 *
 * It knows neither Lua nor ZooKeeper. Packets of a socket pair carry orders and reports. The pair's
 * end means that the peer is gone.
 */
#ifndef ZKL_MINDER_H
#define ZKL_MINDER_H

#include <signal.h>
#include <sys/types.h>

#include "../core/clock.h"

enum zkl_order_kind {
    ZKL_ORDER_LAUNCH, /* `kill_at` counts from the owner's end */
    ZKL_ORDER_LIMITS, /* end the group then, unless moved before */
    ZKL_ORDER_SIGNAL, /* to the group */
    ZKL_ORDER_RESUME  /* by SIGCONT, with the terminal if it had that */
};

#define ZKL_MINDER_TEXT 24 /* for a number, final NUL included */

struct zkl_order {
    enum zkl_order_kind kind;
    int signal;                    /* SIGNAL */
    zkl_time term_at, kill_at;     /* LIMITS: by zkl_now(); LAUNCH: kill_at, a duration */
    zkl_time sure_until;           /* LIMITS: the latest kill_at after the owner's end */
    char token[ZKL_MINDER_TEXT];   /* LAUNCH: for the environment; "": none */
    char session[ZKL_MINDER_TEXT]; /* likewise */
};

enum zkl_report_kind {
    ZKL_REPORT_STARTED, /* process id, of command and group */
    ZKL_REPORT_STOPPED, /* 1: the owner, which got the terminal, must stop, too */
    ZKL_REPORT_LATE,    /* the limits passed, and SIGTERM follows */
    ZKL_REPORT_EXITED,  /* exit status */
    ZKL_REPORT_KILLED,  /* signal */
    ZKL_REPORT_OVER,    /* only background jobs are left */
    ZKL_REPORT_FAILED   /* errno value of fork() */
};

struct zkl_report {
    enum zkl_report_kind kind;
    int number;
};

struct zkl_minded {
    char *const *argv;    /* NULL at the end */
    const char *path;     /* for the environment */
    const sigset_t *mask; /* blocked in the command */
};

/* The rest of a process group, including zombies. */
enum zkl_group {
    ZKL_GROUP_GONE,
    ZKL_GROUP_OURS,
    ZKL_GROUP_FOREIGN /* no member accepts signals */
};
enum zkl_group zkl_group_state(pid_t group);

/* Time after SIGKILL when members left of our group are zombies. */
#define ZKL_ZOMBIES ZKL_SECOND

void zkl_complain_of_user(int signal);

/* Runs in the forked process, all signals blocked. */
_Noreturn void zkl_minder_main(int socket, const struct zkl_minded *minded);

#endif
