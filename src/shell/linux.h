/*
 * linux.h - calls that only Linux has, for any thread. A port begins here. (Other systems, too,
 * have pipe2(), accept4() and MSG_NOSIGNAL; now.c can do without CLOCK_BOOTTIME.)
 */
#ifndef ZKL_SHELL_LINUX_H
#define ZKL_SHELL_LINUX_H

#include <stdbool.h>
#include <sys/types.h>

pid_t zkl_linux_thread_id(void);
/* True if a thread still counts against the limit of threads. */
bool zkl_linux_thread_counts(pid_t thread);

void zkl_linux_die_with_parent(void);

/* Signals such as SIGQUIT leave no core file of this process. */
void zkl_linux_forbid_core(void);

void zkl_linux_adopt_orphans(void);

/*
 * Calls visit() with each child, zombies included. The file system /proc must be mounted, and be of
 * this process's PID namespace.
 */
void zkl_linux_visit_children(void (*visit)(pid_t child, void *context), void *context);

/* Calls visit() with each open descriptor. */
void zkl_linux_visit_descriptors(void (*visit)(int fd, void *context), void *context);

/* False with errno. */
#define ZKL_BOOT_SIZE 40
bool zkl_linux_boot_id(char boot[ZKL_BOOT_SIZE]);

/*
 * 0 if the folder's file system has reliable locks and inodes, else an errno value. Overlayfs goes
 * with its container and changes inodes on copy-up; NFS loses locks when its server restarts.
 */
int zkl_linux_check_file_system(int folder);

/* Flags of open() that create a nameless file in a folder. */
extern const int zkl_linux_nameless;
/* Names such a file. False with errno. */
bool zkl_linux_name(int file, const char *path);

/* User and process at the other end of a Unix socket. False with errno. */
bool zkl_linux_peer(int socket, uid_t *user, pid_t *process);

#endif
