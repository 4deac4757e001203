/*
 * descriptors.c - keeps libzookeeper's descriptors out of child programs.
 *
 * Debian's libzookeeper opens its socket and wake-up pipe without close-on-exec (ZOOKEEPER-2338 is
 * a build option) and shows neither. A pipe that appears while a handle is made belongs to the
 * handle; a socket is recognised by its peer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* Inodes of pipes that existed before a handle. Descriptor numbers would be reused. */
struct descriptors {
    size_t count;
    unsigned long pipes[];
};

static void visit_descriptors(void (*visit)(int fd, void *context), void *context) {
    DIR *directory = opendir("/dev/fd");
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (*entry->d_name == '.') continue;
        int fd = atoi(entry->d_name);
        if (fd != dirfd(directory)) visit(fd, context);
    }
    closedir(directory);
}

static void close_on_exec(int fd) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Inode of a pipe, else 0. Reads only the name, as another thread may close the descriptor. */
static unsigned long pipe_inode(int fd) {
    char link[32], target[40] = "";
    snprintf(link, sizeof link, "/dev/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) < 0 || strncmp(target, "pipe:[", 6) != 0)
        return 0;
    return strtoul(target + 6, NULL, 10);
}

static void note_pipe(int fd, void *context) {
    struct descriptors **list = context, *more;
    unsigned long pipe = pipe_inode(fd);
    if (!*list || !pipe) return;
    more = realloc(*list, sizeof **list + ((*list)->count + 1) * sizeof pipe);
    if (more) more->pipes[more->count++] = pipe;
    else free(*list); /* a pipe missing here would count as new */
    *list = more;
}

struct descriptors *zkl_descriptors_note_pipes(void) {
    struct descriptors *list = calloc(1, sizeof *list);
    visit_descriptors(note_pipe, &list);
    return list;
}

static bool is_new_pipe(int fd, const struct descriptors *noted) {
    unsigned long pipe = pipe_inode(fd);
    if (!pipe) return false;
    for (size_t i = 0; i < noted->count; i++) {
        if (noted->pipes[i] == pipe) return false;
    }
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) && fcntl(fd, F_GETFD) == 0;
}

static void close_new_pipe_on_exec(int fd, void *noted) {
    if (is_new_pipe(fd, noted)) close_on_exec(fd);
}

void zkl_descriptors_close_new_pipes_on_exec(struct descriptors *noted) {
    if (!noted) return;
    visit_descriptors(close_new_pipe_on_exec, noted);
    free(noted);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) return false;
    if (a->ss_family == AF_INET6) {
        struct sockaddr_in6 left, right;
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        return left.sin6_port == right.sin6_port &&
               memcmp(&left.sin6_addr, &right.sin6_addr, sizeof left.sin6_addr) == 0;
    }
    struct sockaddr_in left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return left.sin_port == right.sin_port && left.sin_addr.s_addr == right.sin_addr.s_addr;
}

static void close_socket_on_exec(int fd, void *context) {
    const struct servers *servers = context;
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return;
    for (size_t i = 0; i < servers->count; i++) {
        if (same_address(&peer, &servers->list[i])) close_on_exec(fd);
    }
}

void zkl_descriptors_close_sockets_on_exec(const struct servers *servers) {
    struct servers copy = *servers;
    if (copy.count > 0) visit_descriptors(close_socket_on_exec, &copy);
}

struct search {
    const struct sockaddr_storage *address;
    bool found;
};

static void compare_own_side(int fd, void *context) {
    struct search *search = context;
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0) return;
    if (same_address(&own, search->address)) search->found = true;
}

bool zkl_descriptors_has_socket_at(const struct sockaddr_storage *address) {
    struct search search = {.address = address};
    visit_descriptors(compare_own_side, &search);
    return search.found;
}
