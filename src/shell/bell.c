/*
 * bell.c - wakes a host that can wait for sockets which it connected itself, and for no other
 * descriptor: nginx. The session listens for a moment on a unix socket, the host connects, and
 * from then on a byte on that connection says that the inbox is not empty.
 *
 * Nobody else may have that connection: the folder is the user's own, and the peer must be this
 * process. Both names are gone before the connection is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

#define SOCKET_NAME "/bell"

void zkl_bell_init(struct zkl_client *client) {
    client->bell = client->door = -1;
}

void zkl_bell_ring(struct zkl_client *client) {
    if (client->bell < 0 || client->rung) return;
    client->rung = send(client->bell, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Also makes the names go. */
static void close_door(struct zkl_client *client) {
    if (client->door < 0) return;
    close(client->door);
    client->door = -1;
    unlink(client->door_path);
    client->door_path[strlen(client->door_path) - strlen(SOCKET_NAME)] = '\0';
    rmdir(client->door_path);
}

void zkl_bell_destroy(struct zkl_client *client) {
    close_door(client);
    if (client->bell >= 0) close(client->bell);
    client->bell = -1;
}

static int bind_and_listen(int socket, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(socket, (struct sockaddr *)&address, sizeof address) != 0) return errno;
    return listen(socket, 8) == 0 ? 0 : errno;
}

/* A folder that only this user can enter, and the socket in it. 0, or an errno value. */
static int open_door(struct zkl_client *client, const char *folder) {
    char *path = client->door_path;
    const size_t size = sizeof client->door_path;
    int length = snprintf(path, size, "%s/zklock-XXXXXX" SOCKET_NAME, folder);
    if (length < 0 || (size_t)length >= size) return ENAMETOOLONG;
    size_t end = (size_t)length - strlen(SOCKET_NAME);
    path[end] = '\0';
    if (!mkdtemp(path)) return errno;
    int error = 0;
    client->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->door < 0) {
        error = errno;
        rmdir(path);
        return error;
    }
    path[end] = *SOCKET_NAME;
    error = bind_and_listen(client->door, path);
    if (error) close_door(client);
    return error;
}

int zkl_client_listen(zkl_client *client, char path[ZKL_SOCKET_PATH]) {
    const char *folder = getenv("TMPDIR");
    zkl_lock(client);
    close_door(client);
    int error = folder && *folder ? open_door(client, folder) : ENOENT;
    if (error) error = open_door(client, "/tmp");
    if (!error) memcpy(path, client->door_path, ZKL_SOCKET_PATH);
    zkl_unlock(client);
    return error;
}

static bool is_own(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.pid == getpid();
}

/* The connection of this process among those that wait; -1: there is none. */
static int accept_own(int door) {
    int connection;
    while ((connection = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (is_own(connection)) return connection;
        close(connection);
    }
    return -1;
}

bool zkl_client_accept(zkl_client *client) {
    zkl_lock(client);
    int connection = client->door < 0 ? -1 : accept_own(client->door);
    close_door(client);
    if (connection >= 0) {
        if (client->bell >= 0) close(client->bell);
        client->bell = connection;
        client->rung = false;
    }
    zkl_unlock(client);
    return connection >= 0;
}

void zkl_client_heard(zkl_client *client) {
    zkl_lock(client);
    client->rung = false;
    zkl_unlock(client);
}

void zkl_client_poke(zkl_client *client) {
    zkl_lock(client);
    zkl_bell_ring(client);
    zkl_unlock(client);
}
