/*
 * bell.c - wakes nginx by bytes on a Unix socket (client.h). The client listens until the program
 * connects.
 *
 * No other process gets the connection, because only this user can enter the socket's folder, and
 * the peer's id is checked. Socket and folder are removed before the first byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"
#include "linux.h"

#define SOCKET_NAME "/bell"

void zkl_bell_init(struct threaded *self) {
    self->bell = self->listener = -1;
}

void zkl_bell_ring(struct threaded *self) {
    if (self->bell < 0 || self->rung) return;
    self->rung = send(self->bell, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void close_listener(struct threaded *self) {
    if (self->listener < 0) return;
    close(self->listener);
    self->listener = -1;
    unlink(self->socket_path);
    self->socket_path[strlen(self->socket_path) - strlen(SOCKET_NAME)] = '\0';
    rmdir(self->socket_path);
}

void zkl_bell_destroy(struct threaded *self) {
    close_listener(self);
    if (self->bell >= 0) close(self->bell);
    self->bell = -1;
}

static int bind_and_listen(int socket, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(socket, (struct sockaddr *)&address, sizeof address) != 0) return errno;
    return listen(socket, 8) == 0 ? 0 : errno;
}

/* Listens in a new folder that only this user can enter. 0, or an errno value. */
static int open_listener(struct threaded *self, const char *folder) {
    char *path = self->socket_path;
    const size_t size = sizeof self->socket_path;
    int length = snprintf(path, size, "%s/zklock-XXXXXX" SOCKET_NAME, folder);
    if (length < 0 || (size_t)length >= size) return ENAMETOOLONG;
    size_t end = (size_t)length - strlen(SOCKET_NAME);
    path[end] = '\0';
    if (!mkdtemp(path)) return errno;
    int error = 0;
    self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->listener < 0) {
        error = errno;
        rmdir(path);
        return error;
    }
    path[end] = *SOCKET_NAME;
    error = bind_and_listen(self->listener, path);
    if (error) close_listener(self);
    return error;
}

int zkl_client_listen(zkl_client *client, char path[ZKL_SOCKET_PATH]) {
    struct threaded *self = zkl_threaded(client);
    const char *folder = getenv("TMPDIR");
    zkl_lock(client);
    close_listener(self);
    int error = folder && *folder ? open_listener(self, folder) : ENOENT;
    if (error) error = open_listener(self, "/tmp");
    if (!error) memcpy(path, self->socket_path, ZKL_SOCKET_PATH);
    zkl_unlock(client);
    return error;
}

static bool is_from_this_process(int connection) {
    uid_t user;
    pid_t process;
    return zkl_linux_peer(connection, &user, &process) && process == getpid();
}

/* Accepts the connection of this process, and closes those of other processes. -1: none. */
static int accept_own(int listener) {
    int connection;
    while ((connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (is_from_this_process(connection)) return connection;
        close(connection);
    }
    return -1;
}

bool zkl_client_accept(zkl_client *client) {
    struct threaded *self = zkl_threaded(client);
    zkl_lock(client);
    int connection = self->listener < 0 ? -1 : accept_own(self->listener);
    close_listener(self);
    if (connection >= 0) {
        if (self->bell >= 0) close(self->bell);
        self->bell = connection;
        self->rung = false;
    }
    zkl_unlock(client);
    return connection >= 0;
}

void zkl_client_heard(zkl_client *client) {
    zkl_lock(client);
    zkl_threaded(client)->rung = false;
    zkl_unlock(client);
}

void zkl_client_poke(zkl_client *client) {
    zkl_lock(client);
    zkl_bell_ring(zkl_threaded(client));
    zkl_unlock(client);
}
