/*
 * without.c - preloaded, takes what $WITHOUT names from a process: "descriptors" (a list of them in
 * /dev/fd, as in a chroot), "gate" (the address 127.122.107.108, as in a network without loopback),
 * "ipv4" (outside loopback, as in a network of IPv6 alone), "resolver" (for a child, as if another
 * thread held glibc's lock at the fork), or "ids" (of its own for a child, as in a process
 * namespace, where each first process is 1). While the file $HANGS exists, /dev/fd does not open,
 * as if it had too many entries.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool without(const char *what) {
    const char *named = getenv("WITHOUT");
    return named && strcmp(named, what) == 0;
}

static pid_t first;

static pid_t own_id(void) {
    return (pid_t)syscall(SYS_getpid);
}

__attribute__((constructor)) static void note_first(void) {
    first = own_id();
}

DIR *opendir(const char *path) {
    DIR *(*next)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    const char *hangs = getenv("HANGS");
    if (strcmp(path, "/dev/fd") != 0) return next(path);
    while (hangs && access(hangs, F_OK) == 0) usleep(10000);
    if (!without("descriptors")) return next(path);
    errno = ENOENT;
    return NULL;
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
    struct sockaddr_in gate = {0};
    if (size == sizeof gate) memcpy(&gate, address, sizeof gate);
    if (!without("gate") || gate.sin_addr.s_addr != inet_addr("127.122.107.108"))
        return (int)syscall(SYS_bind, fd, address, size);
    errno = EADDRNOTAVAIL;
    return -1;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    __typeof__(getaddrinfo) *next = (__typeof__(getaddrinfo) *)dlsym(RTLD_NEXT, "getaddrinfo");
    bool wants_configured = hints && hints->ai_flags & AI_ADDRCONFIG;
    struct in_addr address;
    while (without("resolver") && wants_configured && own_id() != first) pause();
    if (without("ipv4") && wants_configured && inet_pton(AF_INET, node, &address) == 1)
        return EAI_ADDRFAMILY;
    return next(node, service, hints, found);
}

pid_t getpid(void) {
    return without("ids") ? first : own_id();
}
