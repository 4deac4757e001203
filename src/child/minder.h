/*
 * minder.h - the process between `zklock run` and the command that it runs.
 *
 * The minder is forked while its owner has one thread, and has one thread itself: so it may do
 * what a process of many threads may not between fork and exec. It starts the command in a process
 * group of its own, passes on what the owner orders, and reports how the command goes. It ends the
 * group when the owner says so, when the owner is gone, and when the owner did not move the limits
 * in time (it was stopped): with SIGTERM, and later with SIGKILL. When nothing is left of the
 * command the owner may order it to start the command again. All signals but SIGKILL and SIGSTOP
 * are blocked in it; when it is killed itself, the kernel kills the command.
 *
 * A command of another user (sudo, a setuid program) may get none of its signals, nor the kernel's.
 * The minder says so on stderr, and the command is over when it has ended by itself.
 *
 * It knows neither Lua nor ZooKeeper. Orders and reports are packets of a socket pair; the end of
 * the socket means that the owner, or the minder, is gone.
 */
#ifndef ZKL_MINDER_H
#define ZKL_MINDER_H

#include <signal.h>
#include <sys/types.h>

#include "../core/clock.h"

enum zkl_order_kind {
    ZKL_ORDER_LAUNCH, /* start the command; `kill_at` counts from the end of the owner */
    ZKL_ORDER_LIMITS, /* end the group at those times, unless they are moved before */
    ZKL_ORDER_SIGNAL, /* to the group */
    ZKL_ORDER_RESUME  /* the group gets the terminal, if it had it, and SIGCONT */
};

#define ZKL_MINDER_TEXT 24 /* bytes of a number, with the final NUL */

struct zkl_order {
    enum zkl_order_kind kind;
    int signal;                    /* SIGNAL */
    zkl_time term_at, kill_at;     /* LIMITS, by zkl_now(); LAUNCH: kill_at, a duration */
    zkl_time sure_until;           /* LIMITS: when to kill at the latest once the owner is gone */
    char token[ZKL_MINDER_TEXT];   /* LAUNCH: for the environment; "": there is none */
    char session[ZKL_MINDER_TEXT]; /* likewise */
};

enum zkl_report_kind {
    ZKL_REPORT_STARTED, /* the command's process id, which is its group's */
    ZKL_REPORT_STOPPED, /* 1: the owner, which has the terminal again, is to stop, too */
    ZKL_REPORT_LATE,    /* the owner did not move the limits in time; the command gets SIGTERM */
    ZKL_REPORT_EXITED,  /* with that status */
    ZKL_REPORT_KILLED,  /* by that signal */
    ZKL_REPORT_OVER,    /* nothing is left of the command, but what it left in the background */
    ZKL_REPORT_FAILED   /* no process could be forked: an errno value */
};

struct zkl_report {
    enum zkl_report_kind kind;
    int number;
};

struct zkl_minded {
    char *const *argv;    /* the command, and NULL at the end */
    const char *path;     /* for the environment */
    const sigset_t *mask; /* blocked in the command */
};

/* The rest of a process group, zombies included. */
enum zkl_group {
    ZKL_GROUP_GONE,
    ZKL_GROUP_OURS,
    ZKL_GROUP_FOREIGN /* no member may be signalled */
};
enum zkl_group zkl_group_state(pid_t group);

/* So long after SIGKILL all members that are left of a group of ours are zombies. */
#define ZKL_ZOMBIES ZKL_SECOND

/* Says on stderr that the signal did not reach the command, and what helps. */
void zkl_complain_of_user(int signal);

/* What the forked process does, every signal blocked; it never returns. */
_Noreturn void zkl_minder_main(int socket, const struct zkl_minded *minded);

#endif
