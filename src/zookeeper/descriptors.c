/*
 * descriptors.c - keeps libzookeeper's descriptors out of child programs.
 *
 * Debian's libzookeeper opens its socket and wake-up pipe without close-on-exec (ZOOKEEPER-2338 is
 * a build option) and shows neither. A pipe that appears while a handle is made belongs to the
 * handle; a socket is recognised by its peer.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shell/linux.h"
#include "internal.h"

/* Inodes of pipes that existed before a handle. Descriptor numbers would be reused. */
struct descriptors {
    size_t count;
    ino_t pipes[];
};

static void close_on_exec(int fd) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/*
 * Inode of a pipe, else 0. Another thread may close the descriptor, which ThreadSanitizer forbids
 * beside fstat().
 */
static ino_t pipe_inode(int fd) {
    struct stat status;
    bool is_pipe = fstatat(fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISFIFO(status.st_mode);
    return is_pipe ? status.st_ino : 0;
}

static void note_pipe(int fd, void *context) {
    struct descriptors **list = context, *more;
    ino_t pipe = pipe_inode(fd);
    if (!*list || !pipe) return;
    more = realloc(*list, sizeof **list + ((*list)->count + 1) * sizeof pipe);
    if (more) more->pipes[more->count++] = pipe;
    else free(*list); /* a pipe missing here would count as new */
    *list = more;
}

struct descriptors *zkl_descriptors_note_pipes(void) {
    struct descriptors *list = calloc(1, sizeof *list);
    zkl_linux_visit_descriptors(note_pipe, &list);
    return list;
}

static bool is_new_pipe(int fd, const struct descriptors *noted) {
    ino_t pipe = pipe_inode(fd);
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
    zkl_linux_visit_descriptors(close_new_pipe_on_exec, noted);
    free(noted);
}

static void close_socket_on_exec(int fd, void *context) {
    const struct servers *servers = context;
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return;
    for (size_t i = 0; i < servers->count; i++) {
        if (zkl_hosts_are_same(&peer, &servers->list[i])) close_on_exec(fd);
    }
}

void zkl_descriptors_close_sockets_on_exec(const struct servers *servers) {
    struct servers copy = *servers;
    if (copy.count > 0) zkl_linux_visit_descriptors(close_socket_on_exec, &copy);
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
    if (zkl_hosts_are_same(&own, search->address)) search->found = true;
}

bool zkl_descriptors_has_socket_at(const struct sockaddr_storage *address) {
    struct search search = {.address = address};
    zkl_linux_visit_descriptors(compare_own_side, &search);
    return search.found;
}
