/*
 * minder.h - the process between `zklock run` and its command.
 *
 * The owner is here the process of `zklock run`. It forks the minder while it has one thread, so
 * the minder may call any function. The minder starts the command in a process group of its own,
 * passes signals on, and reports. It ends the group, by SIGTERM and later SIGKILL, when the owner
 * orders so, when the owner is gone, or when the limits pass, which a stopped owner does not move.
 * After ZKL_REPORT_OVER the owner may launch the command again. Only SIGKILL and SIGSTOP reach the
 * minder. When the minder dies the kernel kills the command.
 *
 * Processes of the command in other groups, such as those of timeout(1), become the minder's
 * children when their parents end. If the command is ended, the minder ends these groups, too, but
 * no daemons, which have a Unix session of their own.
 *
 * A command of another user (sudo, a setuid program) gets neither the minder's signals nor the
 * kernel's. The minder says so on stderr, and waits for the command's own end.
 *
 * The minder knows neither Lua nor ZooKeeper. A socket pair carries orders and reports. A closed
 * socket means that the peer is gone.
 */
#ifndef ZKL_MINDER_H
#define ZKL_MINDER_H

#include <signal.h>
#include <sys/types.h>

#include "../core/clock.h"

enum zkl_order_kind {
    ZKL_ORDER_LAUNCH,
    ZKL_ORDER_LIMITS, /* SIGTERM at `term_at`, SIGKILL at `kill_at`; a later order moves both */
    ZKL_ORDER_SIGNAL, /* to the group */
    ZKL_ORDER_RESUME  /* gives the group the terminal, if it had it, then sends SIGCONT */
};

#define ZKL_MINDER_TEXT 24 /* for a number, final NUL included */

struct zkl_order {
    enum zkl_order_kind kind;
    int signal;                    /* SIGNAL */
    zkl_time orphan_for;           /* LAUNCH: how long the group may outlive the owner */
    zkl_time grace;                /* LAUNCH: for the rest of a signalled or killed command */
    zkl_time term_at, kill_at;     /* LIMITS: by zkl_now() */
    zkl_time sure_until;           /* LIMITS: the latest SIGKILL, if the owner is gone */
    char token[ZKL_MINDER_TEXT];   /* LAUNCH: for the environment; "": none */
    char session[ZKL_MINDER_TEXT]; /* likewise */
};

enum zkl_report_kind {
    ZKL_REPORT_STARTED, /* number: process id, of command and group */
    ZKL_REPORT_STOPPED, /* number: signal to stop the owner's group, too; 0: none */
    ZKL_REPORT_LATE,    /* `term_at` passed; SIGTERM follows */
    ZKL_REPORT_EXITED,  /* number: exit status */
    ZKL_REPORT_KILLED,  /* number: signal */
    ZKL_REPORT_TYPED,   /* likewise, but perhaps a key's, which spares the owner's group */
    ZKL_REPORT_EMPTY,   /* the group is gone, so its number may be another group's */
    ZKL_REPORT_OVER,    /* nothing is awaited any more; number 1: the rest's grace has passed */
    ZKL_REPORT_FAILED   /* number: errno value of fork() */
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

/* The members of a process group that are left, zombies included. The worst comes last. */
enum zkl_group {
    ZKL_GROUP_GONE,
    ZKL_GROUP_OURS,   /* a member accepts signals */
    ZKL_GROUP_FOREIGN /* no member accepts signals */
};
enum zkl_group zkl_group_state(pid_t group);

/* Members that are still there so long after SIGKILL are zombies. */
#define ZKL_ZOMBIES_AFTER ZKL_SECOND

/* Says on stderr that another user's command did not get the signal. */
void zkl_complain_of_user(int signal);

/* Ends Lua's handling of SIGINT, which ends the process again. If ignored, it stays ignored. */
void zkl_end_by_interrupt(void);

/* To be called in the forked process, with all signals blocked. */
_Noreturn void zkl_minder_main(int socket, const struct zkl_minded *minded);

#endif
