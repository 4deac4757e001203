/* linux.c - see linux.h. */
#include "linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t zkl_linux_thread_id(void) {
    return (pid_t)syscall(SYS_gettid);
}

bool zkl_linux_thread_counts(pid_t thread) {
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

void zkl_linux_die_with_parent(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void zkl_linux_forbid_core(void) {
    prctl(PR_SET_DUMPABLE, 0L);
}

void zkl_linux_adopt_orphans(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1L);
}

/* If /proc is another PID namespace's, its numbers are other processes here. */
static bool is_child(pid_t process) {
    siginfo_t ignored;
    return waitid(P_PID, (id_t)process, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void zkl_linux_visit_children(void (*visit)(pid_t child, void *context), void *context) {
    FILE *children = fopen("/proc/thread-self/children", "re");
    if (!children) return;
    for (pid_t child; fscanf(children, "%d", &child) == 1;) {
        if (is_child(child)) visit(child, context);
    }
    fclose(children);
}

#define NUMBERS_MAX 65536 /* limits may be a thousand times as high */

static void visit_numbers(void (*visit)(int fd, void *context), void *context) {
    struct rlimit limit;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : NUMBERS_MAX;
    for (int fd = 0; fd < NUMBERS_MAX && (rlim_t)fd < end; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) visit(fd, context);
    }
}

/* Without /proc, as in a chroot, or without a free descriptor, /dev/fd cannot be read. */
void zkl_linux_visit_descriptors(void (*visit)(int fd, void *context), void *context) {
    DIR *directory = opendir("/dev/fd");
    if (!directory) {
        visit_numbers(visit, context);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (*entry->d_name == '.') continue;
        int fd = atoi(entry->d_name);
        if (fd != dirfd(directory)) visit(fd, context);
    }
    closedir(directory);
}

bool zkl_linux_boot_id(char boot[ZKL_BOOT_SIZE]) {
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, boot, ZKL_BOOT_SIZE - 1);
    if (fd >= 0) close(fd);
    if (size <= 0) return false;
    boot[size] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    return true;
}

int zkl_linux_check_file_system(int folder) {
    struct statfs system;
    if (fstatfs(folder, &system) != 0) return errno;
    switch ((unsigned long)system.f_type) {
    case TMPFS_MAGIC:
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC: return 0;
    default: return ENOTSUP;
    }
}

const int zkl_linux_nameless = O_TMPFILE | O_RDWR;

bool zkl_linux_name(int file, const char *path) {
    char from[40];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

bool zkl_linux_peer(int socket, uid_t *user, pid_t *process) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    *user = peer.uid;
    *process = peer.pid;
    return true;
}
