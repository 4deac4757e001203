/*
 * linux.h - what zklock takes from Linux alone. A port to another system begins here. (Beside it
 * there is only what other systems have, too, though POSIX does not: pipe2(), accept4(),
 * MSG_NOSIGNAL; and CLOCK_BOOTTIME, which now.c does without.)
 */
#ifndef ZKL_SHELL_LINUX_H
#define ZKL_SHELL_LINUX_H

#include <stdbool.h>
#include <sys/types.h>

/* The running thread, and whether it still counts against a limit of threads. */
pid_t zkl_linux_thread(void);
bool zkl_linux_thread_counts(pid_t thread);

/* The signal that kills this process comes when its parent ends. */
void zkl_linux_die_with_parent(void);

/* Descendants of this process become its children when their parents end. */
void zkl_linux_adopt_orphans(void);

/* Which start of the machine this is: a text. False with errno. */
#define ZKL_BOOT_SIZE 40
bool zkl_linux_boot(char boot[ZKL_BOOT_SIZE]);

/*
 * A file system whose locks and inodes can be relied on. Not overlayfs: a container's own layer
 * goes with the container, and inodes change there when a file is copied up. Not NFS: its locks
 * are lost when its server starts anew. 0, or an errno value.
 */
int zkl_linux_file_system(int folder);

/* For open() of a folder: a file without a name; and gives it one. False with errno. */
extern const int zkl_linux_nameless;
bool zkl_linux_name(int file, const char *path);

/* The user and the process that listen at the other end of a Unix socket. False with errno. */
bool zkl_linux_peer(int socket, uid_t *user, pid_t *process);

#endif
