/*
 * taken.c - preloaded into a ZooKeeper server, copies its log DATA/version-2/log.ZXID to DATA/taken
 * before a truncation or removal.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG "/version-2/log."

/* Zeros become holes, as a server extends its log in advance. */
static void copy(int from, int to) {
    static const char zeros[1 << 16];
    char block[sizeof zeros];
    ssize_t length;
    for (off_t at = 0; (length = pread(from, block, sizeof block, at)) > 0; at += length) {
        if (memcmp(block, zeros, (size_t)length) == 0) continue;
        if (pwrite(to, block, (size_t)length, at) != length) break;
    }
}

static void keep(const char *path) {
    static atomic_uint count;
    const char *log = strstr(path, LOG);
    if (!log) return;
    char name[PATH_MAX];
    int data = (int)(log - path);
    snprintf(name, sizeof name, "%.*s/taken", data, path);
    mkdir(name, 0777);
    snprintf(name, sizeof name, "%.*s/taken/log.%s.%d.%u", data, path, log + strlen(LOG), getpid(),
             count++);
    int from = open(path, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (from >= 0 && to >= 0) copy(from, to);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
}

static int cut_short(int fd, off_t length) {
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    keep(path);
    return (int)syscall(SYS_ftruncate, fd, length);
}

/* Java's version decides which one it calls. */
int ftruncate(int fd, off_t length) {
    return cut_short(fd, length);
}
int ftruncate64(int fd, off64_t length) {
    return cut_short(fd, length);
}

int remove(const char *path) {
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "remove");
    keep(path);
    return next(path);
}
